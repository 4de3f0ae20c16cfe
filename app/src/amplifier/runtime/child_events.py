"""Events of child sessions, which reach their parent inside an event of its own."""

from __future__ import annotations

from typing import Any, cast

_CHILD_EVENT = "session:child_event"


def unwrapped(event: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An event as the session that it is about has told it; events of children are taken out of their parent's."""
    inner: Any = data.get("data")
    if event != _CHILD_EVENT or not isinstance(inner, dict):
        return event, data
    return str(data.get("event")), {"session_id": data.get("child_session_id"), **cast("dict[str, Any]", inner)}

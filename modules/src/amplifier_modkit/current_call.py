"""Which tool call is being carried out: for tools that tell of their work while they are at it.

A tool gets its input and nothing else. Calls of one tool run side by side, so what a tool tells meanwhile can be
ascribed to the right call only by the call's id. The loop says it here, for the task in which the tool runs.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_CALL_ID: ContextVar[str | None] = ContextVar("amplifier_tool_call_id", default=None)


def current_call_id() -> str | None:
    """The id of the call for which this runs; ``None`` outside a call, and under a loop that does not tell."""
    return _CALL_ID.get()


@contextmanager
def carrying_out(call_id: str) -> Generator[None]:
    """Within it, and in tasks that begin within it, that call is the current one."""
    before = _CALL_ID.set(call_id)
    try:
        yield
    finally:
        _CALL_ID.reset(before)

"""Names of tools and ids of calls that every vendor takes, and the tool that a request insists on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_KEPT_CHARS = 50

ChoiceMode = Literal["auto", "none", "required", "tool"]
_MODES: Mapping[str, ChoiceMode] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}


class ToolChoice(NamedTuple):
    """Whether the model may, must or must not call a tool; ``name`` is the one it must call."""

    mode: ChoiceMode
    name: str | None = None


def safe_name(name: str) -> str:
    """``name`` where every vendor takes it, else one that is, and is always the same for it."""
    if _SAFE.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_UNSAFE.sub('_', name)[:_KEPT_CHARS]}_{digest}"


def read_tool_choice(choice: Any) -> ToolChoice | None:
    """The choice in any of the forms that vendors have made common; ``None`` where there is none."""
    if isinstance(choice, str) and choice:
        return ToolChoice(_MODES[choice]) if choice in _MODES else ToolChoice("tool", safe_name(choice))
    if not isinstance(choice, Mapping):
        return None
    given = cast("Mapping[str, Any]", choice)
    function: Any = given.get("function")
    nested = cast("Mapping[str, Any]", function).get("name") if isinstance(function, Mapping) else None
    name = given.get("name") or nested
    if isinstance(name, str) and name:
        return ToolChoice("tool", safe_name(name))
    mode = given.get("type") or given.get("mode")
    return ToolChoice(_MODES[mode]) if isinstance(mode, str) and mode in _MODES else None

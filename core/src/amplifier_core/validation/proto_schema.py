"""Results of tools and hooks as plain dicts, the form in which they cross a process border: what is wrong with one?"""

from __future__ import annotations

from typing import Any, cast, get_args

from amplifier_core.models import HookResult


def _allowed(field: str) -> frozenset[str]:
    return frozenset(get_args(HookResult.model_fields[field].annotation))


VALID_HOOK_ACTIONS = _allowed("action")
VALID_CONTEXT_INJECTION_ROLES = _allowed("context_injection_role")
VALID_APPROVAL_DEFAULTS = _allowed("approval_default")
VALID_USER_MESSAGE_LEVELS = _allowed("user_message_level")

_ALLOWED_VALUES = {
    "action": VALID_HOOK_ACTIONS,
    "context_injection_role": VALID_CONTEXT_INJECTION_ROLES,
    "user_message_level": VALID_USER_MESSAGE_LEVELS,
    "approval_default": VALID_APPROVAL_DEFAULTS,
}


def validate_tool_result(result: Any) -> list[str]:
    """What keeps ``result`` from being a tool result; empty when nothing does."""
    if not isinstance(result, dict):
        return [f"A tool result must be a dict with a bool 'success', got {type(result).__name__}"]
    success: Any = cast(dict[Any, Any], result).get("success")
    if isinstance(success, bool):
        return []
    return [f"Field 'success' is required and must be a bool, got {type(success).__name__}"]


def validate_hook_result(result: Any) -> list[str]:
    """What keeps ``result`` from being a hook result; a field that is missing has its default."""
    if not isinstance(result, dict):
        return [f"A hook result must be a dict, got {type(result).__name__}"]
    fields = cast(dict[Any, Any], result)
    return [
        f"Field '{name}' must be one of {', '.join(sorted(allowed))}; got {fields[name]!r:.100}"
        for name, allowed in _ALLOWED_VALUES.items()
        if name in fields and not (isinstance(fields[name], str) and fields[name] in allowed)
    ]

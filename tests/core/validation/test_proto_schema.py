"""Results as plain dicts."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.models import HookResult, ToolResult
from amplifier_core.validation import proto_schema
from amplifier_core.validation.proto_schema import validate_hook_result, validate_tool_result


def test_the_allowed_values() -> None:
    """They are those of the models."""
    assert {"continue", "deny", "modify", "inject_context", "ask_user"} == proto_schema.VALID_HOOK_ACTIONS
    assert {"system", "user", "assistant"} == proto_schema.VALID_CONTEXT_INJECTION_ROLES
    assert {"allow", "deny"} == proto_schema.VALID_APPROVAL_DEFAULTS
    assert {"info", "warning", "error"} == proto_schema.VALID_USER_MESSAGE_LEVELS


def test_what_the_models_give_is_valid() -> None:
    """Dumped, they pass."""
    assert validate_tool_result(ToolResult(success=True, output=1).model_dump()) == []
    assert validate_hook_result(HookResult(action="deny", reason="no").model_dump()) == []


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, "Field 'success' is required and must be a bool, got NoneType"),
        ({"success": "yes"}, "Field 'success' is required and must be a bool, got str"),
        ([], "A tool result must be a dict with a bool 'success', got list"),
    ],
)
def test_a_tool_result_needs_a_bool_success(result: Any, expected: str) -> None:
    """The message names the field."""
    assert validate_tool_result(result) == [expected]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, []),
        ({"action": "continue"}, []),
        (
            {"action": "stop"},
            ["Field 'action' must be one of ask_user, continue, deny, inject_context, modify; got 'stop'"],
        ),
        (
            {"action": ["deny"]},
            ["Field 'action' must be one of ask_user, continue, deny, inject_context, modify; got ['deny']"],
        ),
        (
            {"context_injection_role": "tool", "user_message_level": "loud", "approval_default": None},
            [
                "Field 'context_injection_role' must be one of assistant, system, user; got 'tool'",
                "Field 'user_message_level' must be one of error, info, warning; got 'loud'",
                "Field 'approval_default' must be one of allow, deny; got None",
            ],
        ),
        ("text", ["A hook result must be a dict, got str"]),
    ],
)
def test_the_choices_of_a_hook_result_are_checked(result: Any, expected: list[str]) -> None:
    """Each that is there; what is missing has its default."""
    assert validate_hook_result(result) == expected

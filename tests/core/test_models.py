"""Results of tools and hooks, descriptions of models and modules, session status."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from amplifier_core import models
from amplifier_core.models import (
    ConfigField,
    ContextInjection,
    HookResult,
    ModelInfo,
    ModuleInfo,
    Pricing,
    ProviderInfo,
    SessionStatus,
    ToolResult,
    sanitize_for_llm,
)

DEFAULTS: list[tuple[type[BaseModel], dict[str, Any], dict[str, Any]]] = [
    (ToolResult, {}, {"success": True, "output": None, "error": None}),
    (
        HookResult,
        {},
        {
            "action": "continue",
            "data": None,
            "reason": None,
            "context_injection": None,
            "context_injection_role": "system",
            "ephemeral": False,
            "approval_prompt": None,
            "approval_options": None,
            "approval_timeout": 300.0,
            "approval_default": "deny",
            "suppress_output": False,
            "user_message": None,
            "user_message_level": "info",
            "user_message_source": None,
            "append_to_last_tool_result": False,
            "context_injections": [],
        },
    ),
    (
        ContextInjection,
        {"content": "hi"},
        {
            "content": "hi",
            "role": "system",
            "ephemeral": False,
            "append_to_last_tool_result": False,
            "hook_name": "unknown",
            "event": "",
        },
    ),
    (
        ModelInfo,
        {"id": "m", "display_name": "M", "context_window": 8, "max_output_tokens": 4},
        {
            "id": "m",
            "display_name": "M",
            "context_window": 8,
            "max_output_tokens": 4,
            "capabilities": [],
            "defaults": {},
            "pricing": None,
        },
    ),
    (
        Pricing,
        {"input_per_million": 1.0, "output_per_million": 2.0},
        {
            "input_per_million": 1.0,
            "output_per_million": 2.0,
            "cache_read_per_million": None,
            "cache_write_per_million": None,
            "currency": "USD",
        },
    ),
    (
        ConfigField,
        {"id": "k", "display_name": "K", "prompt": "K?"},
        {
            "id": "k",
            "display_name": "K",
            "prompt": "K?",
            "field_type": "text",
            "env_var": None,
            "choices": None,
            "required": True,
            "default": None,
            "show_when": None,
            "requires_model": False,
        },
    ),
    (
        ProviderInfo,
        {"id": "p", "display_name": "P"},
        {
            "id": "p",
            "display_name": "P",
            "credential_env_vars": [],
            "capabilities": [],
            "defaults": {},
            "config_fields": [],
        },
    ),
    (
        ModuleInfo,
        {"id": "i", "name": "n", "version": "1", "type": "tool", "mount_point": "tools", "description": "d"},
        {
            "id": "i",
            "name": "n",
            "version": "1",
            "type": "tool",
            "mount_point": "tools",
            "description": "d",
            "config_schema": None,
        },
    ),
    (
        SessionStatus,
        {"session_id": "s", "started_at": datetime(2024, 1, 2)},
        {
            "session_id": "s",
            "started_at": datetime(2024, 1, 2),
            "ended_at": None,
            "status": "running",
            "total_messages": 0,
            "tool_invocations": 0,
            "tool_successes": 0,
            "tool_failures": 0,
            "total_input_tokens": 0,
            "total_output_tokens": 0,
            "cost_usd": None,
            "last_activity": None,
            "last_error": None,
        },
    ),
]

CHOICES: list[tuple[type[BaseModel], str, list[str]]] = [
    (HookResult, "action", ["continue", "deny", "modify", "inject_context", "ask_user"]),
    (HookResult, "context_injection_role", ["system", "user", "assistant"]),
    (HookResult, "approval_default", ["allow", "deny"]),
    (HookResult, "user_message_level", ["info", "warning", "error"]),
    (ContextInjection, "role", ["system", "user", "assistant"]),
    (ConfigField, "field_type", ["text", "secret", "choice", "boolean"]),
    (ModuleInfo, "type", ["orchestrator", "provider", "tool", "context", "hook", "resolver"]),
    (SessionStatus, "status", ["running", "completed", "failed", "cancelled"]),
]

REQUIRED = {cls: given for cls, given, _ in DEFAULTS}


@pytest.mark.parametrize(("model_class", "given", "dumped"), DEFAULTS)
def test_defaults_and_field_order(model_class: type[BaseModel], given: dict[str, Any], dumped: dict[str, Any]) -> None:
    """A model made from its required fields dumps every field in its published order."""
    found = model_class(**given).model_dump()
    assert found == dumped
    assert list(found) == list(dumped)


@pytest.mark.parametrize("model_class", REQUIRED)
def test_required_fields(model_class: type[BaseModel]) -> None:
    """Nothing but the required fields is required."""
    required = set(REQUIRED[model_class]) - {"started_at"}
    assert {name for name, field in model_class.model_fields.items() if field.is_required()} == required


@pytest.mark.parametrize("model_class", REQUIRED)
def test_unknown_keys_are_ignored(model_class: type[BaseModel]) -> None:
    """A key that a model does not know is dropped without complaint."""
    model = model_class(**REQUIRED[model_class], no_such_key=1)
    assert not hasattr(model, "no_such_key")


@pytest.mark.parametrize(("model_class", "field", "values"), CHOICES)
def test_closed_sets(model_class: type[BaseModel], field: str, values: list[str]) -> None:
    """A field with a closed set of values takes these and no other."""
    for value in values:
        assert model_class(**{**REQUIRED[model_class], field: value}).model_dump()[field] == value
    for wrong in ("no-such-value", values[0].upper(), None):
        with pytest.raises(ValidationError):
            model_class(**{**REQUIRED[model_class], field: wrong})


def test_mutable_defaults_are_not_shared() -> None:
    """Two models never share a default list or dict."""
    first, second = HookResult(), HookResult()
    first.context_injections.append(ContextInjection(content="x"))
    info = ProviderInfo(id="p", display_name="P")
    info.defaults["x"] = 1
    assert second.context_injections == []
    assert ProviderInfo(id="p", display_name="P").defaults == {}


def test_hook_result_is_a_plain_model() -> None:
    """HookResult has no validator, private attribute or post-init hook: one is made per handler and event."""
    decorators = HookResult.__pydantic_decorators__
    assert not any([decorators.validators, decorators.field_validators, decorators.model_validators])
    assert not any([decorators.model_serializers, decorators.field_serializers, HookResult.__private_attributes__])
    assert HookResult.__pydantic_post_init__ is None


def test_hook_result_with_injections() -> None:
    """Injections are read from plain data."""
    result = HookResult.model_validate({"context_injections": [{"content": "a", "role": "user", "event": "tool:pre"}]})
    assert result.context_injections == [ContextInjection(content="a", role="user", event="tool:pre")]


# ToolResult


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ({"success": False, "error": {"message": "boom"}}, "boom"),
        ({"success": False, "error": {"message": "boom"}, "output": "kept"}, "kept"),
        ({"success": False, "error": {"message": "boom"}, "output": ""}, ""),
        ({"success": False, "error": {"message": ""}}, None),
        ({"success": False, "error": {"code": 1}}, None),
        ({"success": False, "error": {}}, None),
        ({"success": False}, None),
        ({"success": True, "error": {"message": "boom"}}, None),
    ],
)
def test_failure_without_output_takes_the_error_message(given: dict[str, Any], output: Any) -> None:
    """Only a failure without output whose error has a message gets that message as output."""
    assert ToolResult(**given).output == output


@pytest.mark.parametrize(
    ("given", "success"),
    [
        ({"is_error": True, "output": "User denied"}, False),
        ({"is_error": True}, False),
        ({"is_error": True, "success": True}, False),
        ({"is_error": False}, True),
        ({"is_error": False, "success": False}, False),
    ],
)
def test_is_error_means_failure(given: dict[str, Any], success: bool) -> None:
    """``is_error=True`` fails the result whatever else is said, and is no field of it."""
    for result in (ToolResult(**given), ToolResult.model_validate_json(json.dumps(given))):
        assert result.success is success
        assert result.output == given.get("output")
        assert "is_error" not in result.model_dump()


def test_is_error_with_an_error_message() -> None:
    """A result marked as error takes the error's message for output like any failure."""
    assert ToolResult(is_error=True, error={"message": "boom"}).output == "boom"


def test_tool_result_refuses_what_is_no_object() -> None:
    """Something that is no mapping is refused with pydantic's own error; a result is taken as it is."""
    with pytest.raises(ValidationError):
        ToolResult.model_validate(["success"])
    result = ToolResult(output=1)
    assert ToolResult.model_validate(result) is result


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(output="done"), "done"),
        (ToolResult(output={"a": 1}), "{'a': 1}"),
        (ToolResult(), "Success"),
        (ToolResult(output=""), "Success"),
        (ToolResult(output=0), "Success"),
        (ToolResult(success=False), "Failed"),
        (ToolResult(success=False, output="ignored"), "Failed"),
        (ToolResult(success=False, error={}), "Failed"),
        (ToolResult(success=False, error={"message": "boom"}), "Error: boom"),
        (ToolResult(success=False, error={"message": ""}), "Error: Unknown error"),
        (ToolResult(success=False, error={"code": 1}), "Error: Unknown error"),
        (ToolResult(output="x", content=[{"type": "text", "text": "y"}]), "x"),
    ],
)
def test_str(result: ToolResult, text: str) -> None:
    """A success reads as its output, a failure as its error."""
    assert str(result) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(), "Success"),
        (ToolResult(output=""), ""),
        (ToolResult(output="plain"), "plain"),
        (ToolResult(output=3.5), "3.5"),
        (ToolResult(output=(1, 2)), "(1, 2)"),
        (ToolResult(output={"a": [1, None]}), '{"a": [1, null]}'),
        (ToolResult(output=["é"]), '["\\u00e9"]'),
        (ToolResult(output={"cost": Decimal("0.10")}), '{"cost": "0.10"}'),
        (ToolResult(output=[]), "[]"),
        (ToolResult(output={}), "{}"),
        (ToolResult(success=False, output={"a": 1}), '{"a": 1}'),
        (ToolResult(success=False), "Error: Failed"),
        (ToolResult(success=False, error={}), "Error: Failed"),
        (ToolResult(success=False, error={"code": 1}), "Error: Unknown error"),
        (ToolResult(success=False, error={"message": "boom"}), "boom"),
        (ToolResult(output="a\x00b\x1b[0m\ud800c\td\r\n"), "ab[0mc\td\r\n"),
        (ToolResult(content=[{"type": "text", "text": "y"}]), "Success"),
    ],
)
def test_serialized_output(result: ToolResult, text: str) -> None:
    """The text for the model is the output, as JSON for data, whatever the success flag says."""
    assert result.get_serialized_output() == text


def test_serialized_output_of_a_cleared_failure() -> None:
    """When the output is taken away again, the error's message is told."""
    result = ToolResult(success=False, error={"message": "bo\x00om"})
    result.output = None
    assert result.get_serialized_output() == "Error: boom"


def test_serialized_output_refuses_what_is_not_json() -> None:
    """An object inside a dict that JSON cannot hold is a TypeError that names its type."""
    with pytest.raises(TypeError, match=r"^Object of type set is not JSON serializable$"):
        ToolResult(output={"a": {1}}).get_serialized_output()


def test_tool_result_assignment_is_validated() -> None:
    """A wrong value cannot be assigned; the result keeps what it had."""
    result = ToolResult(output="x")
    with pytest.raises(ValidationError):
        result.success = "perhaps"  # type: ignore[assignment]
    with pytest.raises(ValidationError):
        result.content = [{"type": "video"}]  # type: ignore[list-item]
    result.success = False
    assert result.model_dump() == {"success": False, "output": "x", "error": None}


def test_tool_result_copy_is_validated() -> None:
    """A copy with changes obeys the rules of construction."""
    result = ToolResult(output="x", content=[{"type": "text", "text": "y"}])
    assert result.model_copy() == result
    assert result.model_copy(update={"content": []}).content is None
    assert result.model_copy(update={"is_error": True}).success is False
    assert result.model_copy(update={"success": False, "output": None, "error": {"message": "no"}}).output == "no"
    with pytest.raises(ValidationError, match="invalid tool result content"):
        result.model_copy(update={"content": "y"})
    assert result == ToolResult(output="x", content=[{"type": "text", "text": "y"}])


def test_tool_result_copy_is_shallow_unless_deep() -> None:
    """A plain copy shares the output, a deep one does not."""
    result = ToolResult(output={"a": [1]})
    assert result.model_copy().output is result.output
    deep = result.model_copy(deep=True)
    assert deep == result
    assert deep.output is not result.output
    assert deep.output["a"] is not result.output["a"]  # type: ignore[index]


def test_tool_result_subclass_keeps_its_own_fields_in_copies() -> None:
    """A subclass with further fields and open keys is copied whole."""

    class Timed(ToolResult):
        model_config = ConfigDict(extra="allow")
        seconds: float = 0.0

    copied = Timed.model_validate({"seconds": 1.5, "note": "x"}).model_copy(update={"output": 1})
    assert type(copied) is Timed
    assert copied.model_dump() == {"success": True, "output": 1, "error": None, "seconds": 1.5, "note": "x"}


def test_tool_result_schema_names_the_fields() -> None:
    """The JSON Schema describes the four fields, for reading and for writing."""
    for mode in ("validation", "serialization"):
        schema = ToolResult.model_json_schema(mode=mode)  # type: ignore[arg-type]
        assert list(schema["properties"]) == ["success", "output", "error", "content"]


def test_tool_result_inside_another_model() -> None:
    """The rules for content hold for a result that is part of something else."""

    class Turn(BaseModel):
        result: ToolResult

    assert Turn(result=ToolResult(output=1)).model_dump() == {"result": {"success": True, "output": 1, "error": None}}


# text for models


def test_sanitizer_removes_what_providers_refuse() -> None:
    """Control characters and lone surrogates go; tab, line ends and everything printable stay."""
    removed = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)]
    kept = set(range(0x11000)) - set(removed)
    assert sanitize_for_llm("".join(map(chr, removed))) == ""
    assert sanitize_for_llm("".join(map(chr, sorted(kept)))) == "".join(map(chr, sorted(kept)))


def test_helpers_keep_their_old_names() -> None:
    """Modules that import the helpers by their private names still find them."""
    assert models._sanitize_for_llm is sanitize_for_llm
    assert models._json_default(Decimal("1.50")) == "1.50"
    with pytest.raises(TypeError, match=r"^Object of type object is not JSON serializable$"):
        models._json_default(object())


@given(st.text())
def test_sanitizing_twice_is_sanitizing_once(text: str) -> None:
    """Clean text stays as it is, and is encodable."""
    once = sanitize_for_llm(text)
    assert sanitize_for_llm(once) == once
    once.encode()


# descriptions


@pytest.mark.parametrize("currency", ["EUR", "JPY"])
def test_pricing_takes_currency_codes(currency: str) -> None:
    """A currency is a code of three capital letters."""
    assert Pricing(input_per_million=1, output_per_million=2, currency=currency).currency == currency


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", "", "U1D", "EUR\n", "ÄÖÜ"])
def test_pricing_refuses_other_currencies(currency: str) -> None:
    """Anything else is refused and quoted."""
    with pytest.raises(ValidationError) as caught:
        Pricing(input_per_million=1, output_per_million=2, currency=currency)
    assert f"currency must be a 3-letter ISO 4217 code, got {currency!r}" in str(caught.value)


def test_model_info_with_pricing() -> None:
    """Pricing is read from plain data."""
    info = ModelInfo.model_validate(
        {**REQUIRED[ModelInfo], "pricing": {"input_per_million": 3, "output_per_million": 15, "currency": "EUR"}}
    )
    assert info.pricing == Pricing(input_per_million=3.0, output_per_million=15.0, currency="EUR")


# SessionStatus


def test_status_starts_now_and_naive() -> None:
    """A status without a start time starts at the local time of its creation."""
    before = datetime.now()
    started = SessionStatus(session_id="s").started_at
    assert started.tzinfo is None
    assert before <= started <= datetime.now()


@pytest.mark.parametrize("given", [Decimal("1.20"), "1.20"])
def test_status_cost_is_exact(given: Any) -> None:
    """A cost stays a Decimal and is text in every dump."""
    status = SessionStatus(session_id="s", cost_usd=given)
    assert isinstance(status.cost_usd, Decimal)
    assert status.model_dump()["cost_usd"] == "1.20"
    assert status.model_dump(mode="json")["cost_usd"] == "1.20"
    assert status.to_dict()["cost_usd"] == "1.20"


def test_status_cost_refuses_float() -> None:
    """A float cost is refused; an int is exact and taken."""
    with pytest.raises(ValidationError, match="cost_usd must be Decimal, not float"):
        SessionStatus(session_id="s", cost_usd=1.2)  # type: ignore[arg-type]
    assert SessionStatus(session_id="s", cost_usd=2).cost_usd == Decimal(2)  # type: ignore[arg-type]


def test_status_cost_schema_says_string() -> None:
    """The schema of the cost allows text."""
    options = SessionStatus.model_json_schema()["properties"]["cost_usd"]["anyOf"]
    assert "string" in [option["type"] for option in options]


def test_status_to_dict_is_json_without_none() -> None:
    """The dict form is JSON data and leaves out what is unknown."""
    status = SessionStatus(session_id="s", started_at=datetime(2024, 1, 2, 3, 4, 5), last_error={"a": 1})
    assert status.to_dict() == {
        "session_id": "s",
        "started_at": "2024-01-02T03:04:05",
        "status": "running",
        "total_messages": 0,
        "tool_invocations": 0,
        "tool_successes": 0,
        "tool_failures": 0,
        "total_input_tokens": 0,
        "total_output_tokens": 0,
        "last_error": {"a": 1},
    }
    assert not hasattr(status, "estimated_cost")

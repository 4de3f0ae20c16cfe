"""Results of tools and hooks, descriptions of models and modules, session status."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

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

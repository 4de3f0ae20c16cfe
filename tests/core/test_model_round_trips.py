"""Every model of the kernel survives a round trip through JSON."""

from __future__ import annotations

import functools
import types
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from amplifier_core import interfaces, message_models, models
from amplifier_core.interfaces import ApprovalRequest
from amplifier_core.models import Pricing, SessionStatus, ToolResult

MODELS = sorted(
    {
        cls
        for module in (models, message_models, interfaces)
        for cls in vars(module).values()
        if isinstance(cls, type)
        and issubclass(cls, BaseModel)
        and cls.__module__ == module.__name__
        and cls.model_fields
    },
    key=lambda cls: cls.__name__,
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
images = st.builds(
    lambda data: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    st.sampled_from(["QUJD", "QQ==", "+/8="]),
)
texts = st.builds(lambda text: {"type": "text", "text": text}, st.text())

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_data,
    str: st.text(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: numbers,
    bool: st.booleans(),
    type(None): st.none(),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    datetime: st.datetimes(),
}

OWN_RULES: dict[tuple[type[BaseModel], str], st.SearchStrategy[Any]] = {
    (ToolResult, "content"): st.none() | st.lists(texts | images, max_size=3),
    (Pricing, "currency"): st.from_regex(r"[A-Z]{3}", fullmatch=True),
    (ApprovalRequest, "timeout"): st.none() | st.floats(min_value=0, exclude_min=True, allow_infinity=False),
}

SET_BY_CLOCK = {(SessionStatus, "started_at")}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type, as the models of the kernel use types."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.deferred(lambda: instances_of(annotation))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return values_of(arguments[0])
    if origin in (Union, types.UnionType):
        return st.one_of([values_of(argument) for argument in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is list:
        return st.lists(values_of(arguments[0]), max_size=3)
    assert origin is dict, annotation
    return st.dictionaries(st.text(), values_of(arguments[1]), max_size=3)


@functools.cache
def instances_of(model_class: type[BaseModel]) -> st.SearchStrategy[BaseModel]:
    """Instances with every required field and any of the optional ones; open models also get keys of their own."""
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in model_class.model_fields.items():
        own = (model_class, name)
        is_required = field.is_required() or own in SET_BY_CLOCK
        (required if is_required else optional)[name] = (
            OWN_RULES[own] if own in OWN_RULES else values_of(field.annotation)
        )
    if model_class.model_config.get("extra") == "allow":
        optional["vendor_key"] = json_data
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: model_class(**given))


def test_all_models_are_found() -> None:
    """The property below runs over every model class with fields that the kernel defines."""
    assert [cls.__name__ for cls in MODELS] == [
        "ApprovalRequest",
        "ApprovalResponse",
        "ChatRequest",
        "ChatResponse",
        "ConfigField",
        "ContextInjection",
        "Degradation",
        "HookResult",
        "ImageBlock",
        "Message",
        "ModelInfo",
        "ModuleInfo",
        "Pricing",
        "ProviderInfo",
        "ReasoningBlock",
        "RedactedThinkingBlock",
        "ResponseFormatJson",
        "ResponseFormatJsonSchema",
        "ResponseFormatText",
        "SessionStatus",
        "TextBlock",
        "ThinkingBlock",
        "ToolCall",
        "ToolCallBlock",
        "ToolResult",
        "ToolResultBlock",
        "ToolSpec",
        "Usage",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("model_class", MODELS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_json_round_trip(model_class: type[BaseModel], data: st.DataObject) -> None:
    """A model written as JSON or dumped, by name or by alias, reads back equal."""
    model = data.draw(instances_of(model_class))
    for by_alias in (False, True):
        assert model_class.model_validate_json(model.model_dump_json(by_alias=by_alias)) == model
        assert model_class.model_validate(model.model_dump(mode="json", by_alias=by_alias)) == model
        assert model_class.model_validate(model.model_dump(by_alias=by_alias)) == model

"""The request and response envelope."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from amplifier_core import message_models
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    Message,
    ReasoningBlock,
    RedactedThinkingBlock,
    ResponseFormat,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ResponseFormatText,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    Usage,
)

BLOCKS: list[tuple[type[BaseModel], dict[str, Any], dict[str, Any]]] = [
    (TextBlock, {"text": "hi"}, {"type": "text", "text": "hi", "visibility": None}),
    (
        ThinkingBlock,
        {"thinking": "hm"},
        {"type": "thinking", "thinking": "hm", "signature": None, "visibility": None, "content": None},
    ),
    (RedactedThinkingBlock, {"data": "x"}, {"type": "redacted_thinking", "data": "x", "visibility": None}),
    (
        ToolCallBlock,
        {"id": "c", "name": "bash", "input": {"a": 1}},
        {"type": "tool_call", "id": "c", "name": "bash", "input": {"a": 1}, "visibility": None},
    ),
    (
        ToolResultBlock,
        {"tool_call_id": "c", "output": None},
        {"type": "tool_result", "tool_call_id": "c", "output": None, "visibility": None},
    ),
    (ImageBlock, {"source": {"type": "url"}}, {"type": "image", "source": {"type": "url"}, "visibility": None}),
    (
        ReasoningBlock,
        {"content": [1], "summary": ["s"]},
        {"type": "reasoning", "content": [1], "summary": ["s"], "visibility": None},
    ),
]

REQUIRED: dict[type[BaseModel], dict[str, Any]] = {
    **{cls: given for cls, given, _ in BLOCKS},
    Message: {"role": "user", "content": "hi"},
    ToolSpec: {"name": "bash", "parameters": {"type": "object"}},
    ChatRequest: {"messages": [{"role": "user", "content": "hi"}]},
    ToolCall: {"id": "c", "name": "bash", "arguments": {"a": 1}},
    Usage: {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    Degradation: {"requested": "a", "actual": "b", "reason": "c"},
    ChatResponse: {"content": []},
}


@pytest.mark.parametrize(("block_class", "given", "dumped"), BLOCKS)
def test_block_dump(block_class: type[BaseModel], given: dict[str, Any], dumped: dict[str, Any]) -> None:
    """A block needs only its own fields; its type and visibility have defaults."""
    assert block_class(**given).model_dump() == dumped


@pytest.mark.parametrize("block_class", [cls for cls, _, _ in BLOCKS])
def test_block_visibility_and_type_are_closed_sets(block_class: type[BaseModel]) -> None:
    """Visibility is internal, developer, user or nothing, and a block cannot claim another type."""
    given = REQUIRED[block_class]
    for visibility in ("internal", "developer", "user", None):
        assert block_class(**given, visibility=visibility).model_dump()["visibility"] == visibility
    with pytest.raises(ValidationError):
        block_class(**given, visibility="public")
    with pytest.raises(ValidationError):
        block_class(**given, type="other")


@pytest.mark.parametrize("model_class", REQUIRED)
def test_required_fields(model_class: type[BaseModel]) -> None:
    """A model without any one of its required fields is refused."""
    given = REQUIRED[model_class]
    assert {name for name, field in model_class.model_fields.items() if field.is_required()} == set(given)
    for name in given:
        with pytest.raises(ValidationError):
            model_class(**{key: value for key, value in given.items() if key != name})


@pytest.mark.parametrize("model_class", REQUIRED)
def test_unknown_keys_survive(model_class: type[BaseModel]) -> None:
    """A key that the kernel does not know is an attribute and is in the dump."""
    model = model_class.model_validate({**REQUIRED[model_class], "vendor_key": {"x": [1]}})
    assert model.vendor_key == {"x": [1]}  # type: ignore[attr-defined]
    assert model.model_dump()["vendor_key"] == {"x": [1]}


def test_union_reads_each_block_by_its_type() -> None:
    """A dict becomes the block that its type names; an unknown or missing type is refused."""
    adapter: TypeAdapter[Any] = TypeAdapter(ContentBlockUnion)
    for block_class, given, dumped in BLOCKS:
        assert adapter.validate_python(dumped) == block_class(**given)
    for wrong in ({"type": "video"}, {"text": "hi"}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
    assert [get_args(cls.model_fields["type"].annotation)[0] for cls, _, _ in BLOCKS] == [
        "text",
        "thinking",
        "redacted_thinking",
        "tool_call",
        "tool_result",
        "image",
        "reasoning",
    ]


def test_message_content_is_text_or_blocks() -> None:
    """Content stays a string or becomes blocks; optional fields are None."""
    text = Message(role="user", content="hi")
    blocks = Message.model_validate({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
    assert text.model_dump() == {
        "role": "user",
        "content": "hi",
        "name": None,
        "tool_call_id": None,
        "metadata": None,
    }
    assert blocks.content == [TextBlock(text="hi")]


def test_message_roles() -> None:
    """The six roles are accepted and no other."""
    for role in ("system", "developer", "user", "assistant", "function", "tool"):
        assert Message.model_validate({"role": role, "content": ""}).role == role
    with pytest.raises(ValidationError):
        Message.model_validate({"role": "robot", "content": ""})


def test_chat_request_defaults() -> None:
    """All but the messages is optional, and only streaming has a default that is not None."""
    request = ChatRequest(messages=[])
    assert request.model_dump() == {
        "messages": [],
        "tools": None,
        "response_format": None,
        "temperature": None,
        "top_p": None,
        "max_output_tokens": None,
        "conversation_id": None,
        "stream": False,
        "metadata": None,
        "model": None,
        "tool_choice": None,
        "stop": None,
        "reasoning_effort": None,
        "timeout": None,
    }
    assert list(request.model_dump()) == list(ChatRequest.model_fields)


def test_chat_request_tool_choice_is_text_or_object() -> None:
    """A tool choice is a word or the vendor's object; streaming may be left open."""
    assert ChatRequest(messages=[], tool_choice="auto").tool_choice == "auto"
    assert ChatRequest(messages=[], tool_choice={"name": "x"}).tool_choice == {"name": "x"}
    assert ChatRequest(messages=[], stream=None).stream is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "text"}, ResponseFormatText()),
        ({"type": "json"}, ResponseFormatJson()),
        ({"type": "json_schema", "schema": {"a": 1}}, ResponseFormatJsonSchema(json_schema={"a": 1})),
        (
            {"type": "json_schema", "json_schema": {}, "strict": True},
            ResponseFormatJsonSchema(json_schema={}, strict=True),
        ),
    ],
)
def test_response_format_union(given: dict[str, Any], expected: ResponseFormat) -> None:
    """Each response format is read by its type."""
    request = ChatRequest.model_validate({"messages": [], "response_format": given})
    assert request.response_format == expected
    assert type(request.response_format) is type(expected)


def test_json_schema_format_has_an_alias() -> None:
    """The schema is called by its field name in Python and by ``schema`` in dumps by alias."""
    response_format = ResponseFormatJsonSchema(json_schema={"type": "object"})
    assert response_format.model_dump() == {
        "type": "json_schema",
        "json_schema": {"type": "object"},
        "strict": None,
    }
    assert response_format.model_dump(by_alias=True) == {
        "type": "json_schema",
        "schema": {"type": "object"},
        "strict": None,
    }
    with pytest.raises(ValidationError):
        ResponseFormatJsonSchema()  # type: ignore[call-arg]


@pytest.mark.parametrize("format_class", [ResponseFormatText, ResponseFormatJson])
def test_response_formats_drop_unknown_keys(format_class: type[BaseModel]) -> None:
    """Response formats are closed: what they do not know is left out."""
    assert set(format_class(more=1).model_dump()) == {"type"}
    assert "more" not in ResponseFormatJsonSchema(json_schema={}, more=1).model_dump()  # type: ignore[call-arg]


def test_tool_call_input_reads_arguments() -> None:
    """The contract's name ``input`` reads the arguments, cannot be assigned, and stays out of dumps."""
    call = ToolCall(id="c", name="bash", arguments={"cmd": "ls"})
    assert call.input is call.arguments
    assert call.model_dump() == {"id": "c", "name": "bash", "arguments": {"cmd": "ls"}}
    with pytest.raises(AttributeError):
        call.input = {}  # type: ignore[misc]


def test_usage_defaults() -> None:
    """Usage has three required counts; the rest is unknown until told."""
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    assert usage.model_dump() == {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "reasoning_tokens": None,
        "cache_read_tokens": None,
        "cache_write_tokens": None,
        "cost_usd": None,
    }
    assert usage.model_dump(exclude_none=True) == {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize("given", [Decimal("0.10"), "0.10"])
def test_usage_cost_is_exact(given: Any) -> None:
    """A cost stays a Decimal with its digits and is text in every dump."""
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3, cost_usd=given)
    assert usage.cost_usd == Decimal("0.10")
    assert isinstance(usage.cost_usd, Decimal)
    assert usage.model_dump()["cost_usd"] == "0.10"
    assert usage.model_dump() == usage.model_dump(mode="json")
    assert '"cost_usd":"0.10"' in usage.model_dump_json()


def test_usage_cost_accepts_int() -> None:
    """A whole number of dollars is exact as well."""
    assert Usage(input_tokens=1, output_tokens=2, total_tokens=3, cost_usd=2).model_dump()["cost_usd"] == "2"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "read", [Usage.model_validate, lambda data: Usage.model_validate_json(str(data).replace("'", '"'))]
)
def test_usage_cost_refuses_float(read: Any) -> None:
    """A float cost is refused, from Python and from JSON."""
    with pytest.raises(ValidationError, match="cost_usd must be Decimal, not float"):
        read({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "cost_usd": 0.1})


def test_usage_json_schema_says_string() -> None:
    """The schema of a cost allows text when reading and promises it when writing."""
    reading = Usage.model_json_schema()["properties"]["cost_usd"]["anyOf"]
    writing = Usage.model_json_schema(mode="serialization")["properties"]["cost_usd"]["anyOf"]
    assert "string" in [option["type"] for option in reading]
    assert writing == [{"type": "string"}, {"type": "null"}]


def test_chat_response_defaults() -> None:
    """A response needs content only."""
    response = ChatResponse.model_validate({"content": [{"type": "text", "text": "hi"}]})
    assert response.content == [TextBlock(text="hi")]
    assert response.model_dump(exclude={"content"}) == {
        "tool_calls": None,
        "usage": None,
        "degradation": None,
        "finish_reason": None,
        "metadata": None,
    }


def test_field_order_of_messages_and_calls() -> None:
    """Fields are dumped in their published order."""
    assert list(Message.model_fields) == ["role", "content", "name", "tool_call_id", "metadata"]
    assert list(ToolSpec.model_fields) == ["name", "parameters", "description"]
    assert list(ToolCall.model_fields) == ["id", "name", "arguments"]
    assert list(Degradation.model_fields) == ["requested", "actual", "reason"]
    assert list(ChatResponse.model_fields) == [
        "content",
        "tool_calls",
        "usage",
        "degradation",
        "finish_reason",
        "metadata",
    ]


def test_models_are_built_at_import() -> None:
    """No model waits for its first use to be built, which some pydantic versions do not do safely in two threads."""
    models = [cls for cls in vars(message_models).values() if isinstance(cls, type) and issubclass(cls, BaseModel)]
    assert len(models) > 15
    assert [cls.__name__ for cls in models if cls is not BaseModel and not cls.__pydantic_complete__] == []

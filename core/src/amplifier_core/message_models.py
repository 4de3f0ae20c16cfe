"""The envelope between orchestrators and providers: content blocks, messages, requests and responses.

Almost every model keeps the keys it does not know, so that vendor data survives a round trip. Annotations are evaluated
here on purpose: pydantic builds models faster from types than from their source text.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

Visibility = Literal["internal", "developer", "user"]
Role = Literal["system", "developer", "user", "assistant", "function", "tool"]


def _refuse_float(value: object) -> object:
    if isinstance(value, float):
        raise ValueError("cost_usd must be Decimal, not float; pass Decimal('0.01') or '0.01'")
    return value


def _to_text(cost: Decimal) -> str:
    return str(cost)


# Money is exact: floats are refused on the way in, and every dump writes text, since most readers take JSON numbers for
# floats.
CostUSD = Annotated[Decimal, BeforeValidator(_refuse_float), PlainSerializer(_to_text, return_type=str)]


class _OpenModel(BaseModel):
    """A model that keeps unknown keys as attributes."""

    model_config = ConfigDict(extra="allow")


class TextBlock(_OpenModel):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str
    visibility: Visibility | None = None


class ThinkingBlock(_OpenModel):
    """The model's reasoning; ``signature`` must go back to the provider unchanged."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    signature: str | None = None
    visibility: Visibility | None = None
    content: list[Any] | None = None


class RedactedThinkingBlock(_OpenModel):
    """Reasoning that the provider encrypted; ``data`` must go back unchanged."""

    type: Literal["redacted_thinking"] = "redacted_thinking"
    data: str
    visibility: Visibility | None = None


class ToolCallBlock(_OpenModel):
    """A tool call inside a message; what it calls ``input`` is ``arguments`` in ``ToolCall``."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: dict[str, Any]
    visibility: Visibility | None = None


class ToolResultBlock(_OpenModel):
    """The answer to the tool call ``tool_call_id``; ``output`` must be given and may be ``None``."""

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    output: Any
    visibility: Visibility | None = None


class ImageBlock(_OpenModel):
    """An image; ``source`` says where its bytes are."""

    type: Literal["image"] = "image"
    source: dict[str, Any]
    visibility: Visibility | None = None


class ReasoningBlock(_OpenModel):
    """Reasoning in parts, with summaries, as some providers give it."""

    type: Literal["reasoning"] = "reasoning"
    content: list[Any]
    summary: list[Any]
    visibility: Visibility | None = None


ContentBlockUnion = Annotated[
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolCallBlock | ToolResultBlock | ImageBlock | ReasoningBlock,
    Field(discriminator="type"),
]


class Message(_OpenModel):
    """One message of a conversation."""

    role: Role
    content: str | list[ContentBlockUnion]
    name: str | None = None
    tool_call_id: str | None = None
    metadata: dict[str, Any] | None = None


class ToolSpec(_OpenModel):
    """A tool as the model sees it; ``parameters`` is the JSON Schema of its input."""

    name: str
    parameters: dict[str, Any]
    description: str | None = None

    @classmethod
    def from_tool(cls, tool: object) -> Self:
        """The spec of ``tool``, with the schema it gives as ``input_schema`` or by ``get_schema()``.

        A tool without a schema takes any object. Raises ``TypeError`` for a tool whose name, description or schema has
        the wrong type.
        """
        name = getattr(tool, "name", None)
        if not isinstance(name, str):
            raise TypeError(f"Tool {type(tool).__name__} must have a 'name' of type str, got {type(name).__name__}")
        description = getattr(tool, "description", None)
        if not isinstance(description, str | None):
            found = type(description).__name__
            raise TypeError(f"Tool '{name}' must have a 'description' of type str, got {found}")
        return cls(name=name, parameters=_input_schema(name, tool), description=description)


def _input_schema(name: str, tool: object) -> dict[str, Any]:
    schema: object = getattr(tool, "input_schema", None)
    source = "input_schema"
    get_schema = getattr(tool, "get_schema", None)
    if not schema and callable(get_schema):
        schema, source = get_schema(), "get_schema()"
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        found = type(schema).__name__
        raise TypeError(f"Tool '{name}' must give its JSON Schema in {source} as a dict, got {found}")
    return cast("dict[str, Any]", schema)


class ResponseFormatText(BaseModel):
    """The answer is free text."""

    type: Literal["text"] = "text"


class ResponseFormatJson(BaseModel):
    """The answer is some JSON."""

    type: Literal["json"] = "json"


class ResponseFormatJsonSchema(BaseModel):
    """The answer is JSON that obeys a schema, which is called ``schema`` on the wire."""

    type: Literal["json_schema"] = "json_schema"
    # Not ``alias=``: type checkers would then refuse the field's own name as an argument.
    json_schema: dict[str, Any] = Field(
        validation_alias=AliasChoices("schema", "json_schema"), serialization_alias="schema"
    )
    strict: bool | None = None


ResponseFormat = ResponseFormatText | ResponseFormatJson | ResponseFormatJsonSchema


class ChatRequest(_OpenModel):
    """What an orchestrator asks of a provider; everything but the messages is a wish the provider may not know."""

    messages: list[Message]
    tools: list[ToolSpec] | None = None
    response_format: ResponseFormat | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    conversation_id: str | None = None
    stream: bool | None = False
    metadata: dict[str, Any] | None = None
    model: str | None = None
    tool_choice: str | dict[str, Any] | None = None
    stop: list[str] | None = None
    reasoning_effort: str | None = None
    timeout: float | None = None


class ToolCall(_OpenModel):
    """A tool call that an orchestrator carries out."""

    id: str
    name: str
    arguments: dict[str, Any]

    @property
    def input(self) -> dict[str, Any]:
        """Another name of ``arguments``."""
        return self.arguments


class Usage(_OpenModel):
    """Tokens and money that one response took."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: CostUSD | None = None


class Degradation(_OpenModel):
    """What a provider did instead of what was asked."""

    requested: str
    actual: str
    reason: str


class ChatResponse(_OpenModel):
    """What a provider answers."""

    content: list[ContentBlockUnion]
    tool_calls: list[ToolCall] | None = None
    usage: Usage | None = None
    degradation: Degradation | None = None
    finish_reason: str | None = None
    metadata: dict[str, Any] | None = None

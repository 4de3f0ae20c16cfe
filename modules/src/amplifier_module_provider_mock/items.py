"""The form of one answer of a script; whatever does not fit together is refused when it is read.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from amplifier_core.message_models import ContentBlockUnion, Role
from amplifier_module_provider_mock.failures import ErrorItem

_BLOCKS: TypeAdapter[list[Any]] = TypeAdapter(list[ContentBlockUnion])
_SPOKEN = ("text", "thinking", "tool_calls", "chunks")
_PLAYABLE = ("text", "thinking", "tool_calls", "chunks", "blocks", "error", "break_after", "finish_reason")


def _to_money(value: object) -> Decimal:
    # A float is taken for the digits one reads: YAML has no other way to write 0.01.
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError("must be an amount of money such as 0.01") from None


def _check_chunks(value: object) -> int | list[str]:
    if type(value) is int and value > 0:
        return value
    pieces = cast("list[Any]", value) if isinstance(value, list) else []
    if pieces and all(isinstance(piece, str) for piece in pieces):
        return pieces
    raise ValueError("must be the number of characters per piece, or the list of pieces")


def _check_arguments(value: object) -> dict[str, Any] | str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and all(isinstance(key, str) for key in cast("dict[Any, Any]", value)):
        return cast("dict[str, Any]", value)
    raise ValueError("must be a mapping whose keys are texts, or the raw text of one that the model got wrong")


def _check_texts(value: object) -> list[str]:
    texts: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    if all(isinstance(text, str) for text in texts):
        return texts
    raise ValueError("must be a text or a list of texts")


def _check_blocks(value: object) -> list[dict[str, Any]]:
    # Checked here and kept as they are: their texts may have templates, to be filled when they are played.
    try:
        _BLOCKS.validate_python(value)
    except ValidationError as error:
        told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
        raise ValueError(f"must be a list of content blocks; {'; '.join(told)}") from None
    return cast("list[dict[str, Any]]", value)


class _ItemPart(BaseModel):
    """A part of a script, which has no room for keys that nobody reads."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CallItem(_ItemPart):
    """A tool call; without an ``id`` it gets the next free one of its provider."""

    name: str
    arguments: Annotated[dict[str, Any] | str, BeforeValidator(_check_arguments)] = Field(
        default_factory=dict[str, Any]
    )
    id: str | None = None


class UsageItem(_ItemPart):
    """What an answer takes; what is left out is estimated from the texts."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    total_tokens: int | None = Field(default=None, ge=0)
    reasoning_tokens: int | None = Field(default=None, ge=0)
    cache_read_tokens: int | None = Field(default=None, ge=0)
    cache_write_tokens: int | None = Field(default=None, ge=0)
    cost_usd: Annotated[Decimal, BeforeValidator(_to_money)] | None = None


class Expectation(_ItemPart):
    """What must be true of the request that an answer is for."""

    last_role: Role | None = None
    contains: Annotated[list[str], BeforeValidator(_check_texts)] = Field(default_factory=list[str])
    tool_names: list[str] | None = None
    message_count: int | None = None


class ScriptItem(_ItemPart):
    """One answer: it expects, waits, thinks, speaks, calls tools, and perhaps breaks off with an error."""

    expect: Expectation | None = None
    delay_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    thinking: str | None = None
    signature: str | None = None
    text: str | None = None
    tool_calls: list[CallItem] = Field(default_factory=list[CallItem])
    blocks: Annotated[list[dict[str, Any]], BeforeValidator(_check_blocks)] | None = None
    chunks: Annotated[int | list[str], BeforeValidator(_check_chunks)] | None = None
    break_after: int | None = Field(default=None, ge=0)
    error: ErrorItem | None = None
    usage: UsageItem | None = None
    finish_reason: str | None = None

    @property
    def has_failure(self) -> bool:
        """Whether the answer ends with an error."""
        return self.error is not None or self.break_after is not None

    @property
    def pieces(self) -> list[str] | None:
        """The pieces in which the text comes, where the script cuts it itself."""
        return self.chunks if isinstance(self.chunks, list) else None

    @property
    def piece_chars(self) -> int | None:
        """The length of a piece, where the script says no more than that."""
        return self.chunks if isinstance(self.chunks, int) else None

    def _has_one_of(self, keys: tuple[str, ...]) -> bool:
        return any(getattr(self, key) not in (None, []) for key in keys)

    @model_validator(mode="after")
    def _require_an_answer(self) -> Self:
        if not self._has_one_of(_PLAYABLE):
            raise ValueError(f"says nothing; give one of: {', '.join(_PLAYABLE)}")
        return self

    @model_validator(mode="after")
    def _require_fitting_parts(self) -> Self:
        if self.signature is not None and self.thinking is None:
            raise ValueError("has a 'signature' without the 'thinking' that it signs")
        if self.blocks is not None and self._has_one_of(_SPOKEN):
            raise ValueError(f"has 'blocks', which are the whole answer; leave out {', '.join(_SPOKEN)}")
        if self.pieces is not None and self.text not in (None, "".join(self.pieces)):
            raise ValueError("has 'chunks' that do not make up its 'text'; leave 'text' out")
        return self

"""The pieces of a stream put together: what they say as blocks of an answer, without loss of calls or thinking."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from amplifier_core.message_models import ChatResponse, TextBlock, ThinkingBlock, ToolCall, ToolCallBlock, Usage
from amplifier_modkit.messages import CALL_BLOCKS

logger = logging.getLogger(__name__)

_TEXT_KEYS = {"text": ("text", "content"), "thinking": ("thinking", "text")}
_CALL_KEYS = frozenset({"type", "id", "name", "arguments", "input"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece as hooks hear of it; ``ended`` is the block before it (index and type) when it begins another."""

    block_index: int
    block_type: str
    text: str
    sequence: int
    is_first: bool
    name: str | None = None
    ended: tuple[int, str] | None = None


class Assembly:
    """Collects the pieces of one answer.

    A piece is a text, a content block or a tool call of the kernel (as an object or its dict), the usage, or, last, the
    whole ``ChatResponse``, which then counts instead of what was collected.
    """

    def __init__(self) -> None:
        self._blocks: list[Any] = []
        self._calls: list[ToolCall] = []
        self._usage: Usage | None = None
        self._whole: ChatResponse | None = None
        self._open: str | None = None
        self._sequence = 0

    @property
    def has_begun(self) -> bool:
        """Whether any block has come."""
        return bool(self._blocks)

    def add(self, piece: Any) -> Piece | None:
        """Takes a piece; gives what to tell about it, or ``None`` where there is nothing."""
        if isinstance(piece, ChatResponse):
            self._whole = piece
            return None
        if isinstance(piece, Usage):
            self._usage = piece
            return None
        fields = _fields_of(piece)
        kind = fields.get("type") or ("tool_call" if "name" in fields else "text")
        if kind in CALL_BLOCKS:
            return self._add_call(fields)
        if kind in _TEXT_KEYS:
            return self._add_text(kind, fields)
        return self._add_block(kind, fields)

    def finish(self) -> tuple[int, str] | None:
        """Ends the last block; gives its index and type."""
        ended = None if self._open is None else (len(self._blocks) - 1, self._open)
        self._open = None
        return ended

    def response(self) -> ChatResponse:
        """The whole answer."""
        if self._whole is not None:
            return self._whole
        reason = "tool_calls" if self._calls else "stop"
        return ChatResponse(
            content=self._blocks, tool_calls=self._calls or None, usage=self._usage, finish_reason=reason
        )

    def _add_text(self, kind: str, fields: dict[str, Any]) -> Piece:
        text = next((str(fields[key]) for key in _TEXT_KEYS[kind] if fields.get(key)), "")
        is_first, ended = self._open != kind or self._is_signed, None
        if is_first:
            ended = self._begin(kind, TextBlock(text="") if kind == "text" else ThinkingBlock(thinking=""))
        block = self._blocks[-1]
        setattr(block, kind, getattr(block, kind) + text)
        for key, value in fields.items():
            if key not in ("type", *_TEXT_KEYS[kind]) and value is not None:
                setattr(block, key, value)
        self._sequence += 1
        return Piece(len(self._blocks) - 1, kind, text, self._sequence - 1, is_first, ended=ended)

    @property
    def _is_signed(self) -> bool:
        # A signature covers the thinking before it: more of it under the same signature would be refused later.
        return self._open == "thinking" and self._blocks[-1].signature is not None

    def _add_call(self, fields: dict[str, Any]) -> Piece:
        given = fields.get("arguments", fields.get("input"))
        call_id, name = str(fields.get("id") or ""), str(fields.get("name") or "")
        arguments: dict[str, Any] = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        rest = {key: value for key, value in fields.items() if key not in _CALL_KEYS}
        ended = self._begin("tool_use", ToolCallBlock(id=call_id, name=name, input=arguments, **rest))
        # Arguments that are no object are kept as they are: whoever runs the call tells the model what is wrong.
        kept = cast("Any", {} if given is None else given)
        self._calls.append(ToolCall.model_construct(None, id=call_id, name=name, arguments=kept))
        return Piece(len(self._blocks) - 1, "tool_use", _as_text(kept), 0, is_first=True, name=name, ended=ended)

    def _add_block(self, kind: Any, fields: dict[str, Any]) -> Piece | None:
        try:
            (block,) = ChatResponse.model_validate({"content": [fields]}).content
        except ValidationError:
            logger.warning("A piece of type %r in a stream means nothing here and is left out", kind)
            return None
        ended = self._begin(block.type, block)
        return Piece(len(self._blocks) - 1, block.type, "", 0, is_first=True, ended=ended)

    def _begin(self, kind: str, block: Any) -> tuple[int, str] | None:
        ended = self.finish()
        self._blocks.append(block)
        self._open = kind
        self._sequence = 0
        return ended


def _fields_of(piece: Any) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    if isinstance(piece, dict):
        return cast("dict[str, Any]", piece)
    if isinstance(piece, BaseModel):
        return piece.model_dump()

    # Few providers stream these, and their import is felt in short runs.
    from amplifier_core.content_models import ContentBlock

    return piece.to_dict() if isinstance(piece, ContentBlock) else {"type": type(piece).__name__}


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)

"""A streamed answer, put together event by event into the message that would have come at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from amplifier_core.message_models import ChatResponse
from amplifier_modkit.llm.blocks import read_arguments
from amplifier_modkit.llm.wire import BlockType, Piece
from amplifier_module_provider_anthropic.incoming import error_in, read_answer

_TOLD: dict[str, BlockType] = {"text": "text", "thinking": "thinking", "tool_use": "tool_use"}
# Where the text of a delta is, and which field of the block it belongs to.
_TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "input"),
    "signature_delta": ("signature", "signature"),
}
_SILENT = frozenset({"signature_delta", "citations_delta"})


class MessageStream:
    """Reads the events of one message."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {"content": []}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._parts: dict[int, dict[str, list[str]]] = {}
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Whether the service said that this was all."""
        return self._is_complete

    def feed(self, event: str, data: str) -> Iterable[Piece]:
        """Takes one event; unknown kinds are passed over, as the service asks of its readers."""
        told: dict[str, Any] = json.loads(data)
        match told.get("type", event):
            case "content_block_delta":
                return self._grow(told["index"], told["delta"])
            case "content_block_start":
                return self._start(told["index"], told["content_block"])
            case "content_block_stop":
                return self._end(told["index"])
            case "message_start":
                self._message = {**told["message"]}
            case "message_delta":
                self._note_end(told)
            case "message_stop":
                self._is_complete = True
            case "error":
                raise error_in(told)
            case _:
                pass
        return ()

    def response(self) -> ChatResponse:
        """The message, whole or as far as it came."""
        content = [self._whole(index) for index in sorted(self._blocks)]
        return read_answer({**self._message, "content": content})

    def _start(self, index: int, block: dict[str, Any]) -> Iterable[Piece]:
        self._blocks[index], self._parts[index] = block, {}
        kind = _TOLD.get(block["type"])
        if kind is None:
            return ()
        pieces = [Piece("start", index, kind, name=block.get("name"))]
        begun: Any = block.get(kind) if kind != "tool_use" else None
        return [*pieces, Piece("delta", index, kind, begun)] if begun else pieces

    def _grow(self, index: int, delta: dict[str, Any]) -> Iterable[Piece]:
        found = _TEXTS.get(delta["type"])
        block = self._blocks[index]
        if found is None:
            if delta["type"] == "citations_delta":
                block.setdefault("citations", [])
                block["citations"] = [*(block["citations"] or ()), delta["citation"]]
            return ()
        source, target = found
        text: str = delta[source]
        self._parts[index].setdefault(target, []).append(text)
        kind = _TOLD.get(block["type"])
        return () if kind is None or delta["type"] in _SILENT or not text else (Piece("delta", index, kind, text),)

    def _end(self, index: int) -> Iterable[Piece]:
        kind = _TOLD.get(self._blocks[index]["type"])
        return () if kind is None else (Piece("end", index, kind),)

    def _note_end(self, told: dict[str, Any]) -> None:
        said: dict[str, Any] = told.get("usage") or {}
        usage = {key: value for key, value in said.items() if value is not None}
        self._message = {**self._message, **told["delta"], "usage": {**(self._message.get("usage") or {}), **usage}}

    def _whole(self, index: int) -> dict[str, Any]:
        block = dict(self._blocks[index])
        for name, parts in self._parts[index].items():
            text = "".join(parts)
            block[name] = read_arguments(text) if name == "input" else (block.get(name) or "") + text
        return block

"""Puts one streamed answer together from its events, and tells its blocks while they grow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_core.message_models import ChatResponse
from amplifier_modkit.llm.wire import BlockType, Piece
from amplifier_modkit.llm_responses.calls import CALL_ITEMS
from amplifier_modkit.llm_responses.incoming import failure, read_response, to_response
from amplifier_modkit.llm_responses.marks import Item

_BROKEN_OFF = {"status": "incomplete", "incomplete_details": {"reason": "broken_off"}}
_END_OF_STREAM = "[DONE]"

Event = dict[str, Any]
Pieces = Iterable[Piece]


@dataclass(slots=True)
class _Block:
    """One block that grows; ``texts`` are its pieces so far."""

    index: int
    block_type: BlockType
    is_refusal: bool = False
    is_open: bool = True
    texts: list[str] = field(default_factory=list[str])

    def grow(self, text: str) -> Piece:
        self.texts.append(text)
        return Piece("delta", self.index, self.block_type, text)

    def end(self) -> Pieces:
        if self.is_open:
            self.is_open = False
            yield Piece("end", self.index, self.block_type)


@dataclass(slots=True)
class _GrowingItem:
    """One item of the answer, whole once ``is_done``; a message has a block for each of its parts, others have one."""

    item: Item
    blocks: dict[int, _Block] = field(default_factory=dict[int, _Block])
    is_done: bool = False

    def so_far(self) -> Item:
        """The item with what came of it."""
        if self.is_done or not self.blocks:
            return self.item
        text = "".join(next(iter(self.blocks.values())).texts)
        match self.item.get("type"):
            case "message":
                return {**self.item, "status": "incomplete", "content": [_part(each) for each in self.blocks.values()]}
            case "reasoning":
                return {**self.item, "summary": [{"type": "summary_text", "text": text}]}
            case "custom_tool_call":
                return {**self.item, "input": text}
            case _:
                return {**self.item, "arguments": text}


class ResponsesStream:
    """Reads the events of one answer; ``origin`` is the service that gives it."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._body: Item = {}
        self._items: dict[Any, _GrowingItem] = {}
        self._blocks = 0
        self._is_complete = False
        self._handlers: Mapping[str, Callable[[Event], Pieces]] = {
            "response.created": self._take_body,
            "response.queued": self._take_body,
            "response.in_progress": self._take_body,
            "response.completed": self._complete,
            "response.incomplete": self._complete,
            "response.failed": self._fail,
            "response.cancelled": self._fail,
            "error": self._fail,
            "response.output_item.added": self._add_item,
            "response.output_item.done": self._end_item,
            "response.content_part.added": self._add_part,
            "response.content_part.done": self._end_part,
            "response.output_text.delta": self._grow_text,
            "response.refusal.delta": self._grow_text,
            "response.reasoning_summary_part.added": self._add_summary,
            "response.reasoning_summary_text.delta": self._grow_thinking,
            "response.reasoning_text.delta": self._grow_thinking,
            "response.function_call_arguments.delta": self._grow_call,
            "response.custom_tool_call_input.delta": self._grow_call,
        }

    @property
    def is_complete(self) -> bool:
        """Whether the last event came."""
        return self._is_complete

    def feed(self, event: str, data: str) -> Pieces:
        """Takes one event; see ``StreamReader``."""
        if data == _END_OF_STREAM:
            return ()
        told: Any = json.loads(data)
        if not isinstance(told, dict):
            raise ValueError(f"an event must be a JSON object, got {data[:80]!r}")
        handle = self._handlers.get(cast("Event", told).get("type") or event)
        return () if handle is None else handle(cast("Event", told))

    def response(self) -> ChatResponse:
        """The whole answer, or what came so far."""
        output = [each.so_far() for each in self._items.values()]
        if not self._is_complete:
            return to_response({**self._body, **_BROKEN_OFF}, output, self._origin)
        # Some services leave the items out of the last event: they were all told before.
        body = self._body if self._body.get("output") else {**self._body, "output": output}
        return read_response(body, self._origin)

    def _take_body(self, told: Event) -> Pieces:
        response: Any = told.get("response")
        if isinstance(response, dict):
            self._body = cast("Item", response)
        return ()

    def _complete(self, told: Event) -> Pieces:
        self._take_body(told)
        self._is_complete = True
        return [piece for item in self._items.values() for block in item.blocks.values() for piece in block.end()]

    def _fail(self, told: Event) -> Pieces:
        response: Any = told.get("response")
        error = cast("Item", response).get("error") if isinstance(response, dict) else told.get("error")
        raise failure(error or told)

    def _add_item(self, told: Event) -> Pieces:
        item = _object(told, "item")
        growing = self._items[_key(told, item)] = _GrowingItem(item)
        kind = item.get("type")
        if kind in CALL_ITEMS:
            name = "apply_patch" if kind == "apply_patch_call" else str(item.get("name") or "")
            return [self._start(growing, 0, "tool_use", name)]
        if kind == "reasoning":
            return [self._start(growing, 0, "thinking")]
        self._blocks += kind != "message"  # one that is not told while it grows, and still has its place
        return ()

    def _end_item(self, told: Event) -> Pieces:
        item = _object(told, "item")
        growing = self._items.setdefault(_key(told, item), _GrowingItem(item))
        growing.item, growing.is_done = item, True
        return [piece for block in growing.blocks.values() for piece in block.end()]

    def _add_part(self, told: Event) -> Pieces:
        growing = self._growing(told, "message")
        part = _object(told, "part")
        place = _place(told)
        if growing.item.get("type") != "message" or place in growing.blocks:
            return ()
        return [self._start(growing, place, "text", is_refusal=part.get("type") == "refusal")]

    def _grow_text(self, told: Event) -> Pieces:
        growing, place = self._growing(told, "message"), _place(told)
        block = growing.blocks.get(place)
        if block is not None:
            return (block.grow(_delta(told)),)
        is_refusal = told.get("type") == "response.refusal.delta"
        return [self._start(growing, place, "text", is_refusal=is_refusal), growing.blocks[place].grow(_delta(told))]

    def _end_part(self, told: Event) -> Pieces:
        block = self._growing(told, "message").blocks.get(_place(told))
        return () if block is None else block.end()

    def _grow_thinking(self, told: Event) -> Pieces:
        return self._grow(told, "reasoning", "thinking", _delta(told))

    def _add_summary(self, told: Event) -> Pieces:
        return self._grow(told, "reasoning", "thinking", "\n\n") if told.get("summary_index") else ()

    def _grow_call(self, told: Event) -> Pieces:
        return self._grow(told, "function_call", "tool_use", _delta(told))

    def _grow(self, told: Event, kind: str, block_type: BlockType, text: str) -> Pieces:
        growing = self._growing(told, kind)
        block = growing.blocks.get(0)
        if block is not None:
            return (block.grow(text),)
        return [self._start(growing, 0, block_type), growing.blocks[0].grow(text)]

    def _growing(self, told: Event, kind: str) -> _GrowingItem:
        """The item that an event is about; one that was not announced begins with it."""
        key = _key(told, {})
        found = self._items.get(key)
        if found is None:
            found = self._items[key] = _GrowingItem({"type": kind, "id": told.get("item_id")})
        return found

    def _start(
        self, item: _GrowingItem, place: int, block_type: BlockType, name: str | None = None, is_refusal: bool = False
    ) -> Piece:
        block = item.blocks[place] = _Block(self._blocks, block_type, is_refusal)
        self._blocks += 1
        return Piece("start", block.index, block_type, name=name)


def _key(told: Event, item: Mapping[str, Any]) -> Any:
    # The place is the same in all events of an item, while some services change its id between them.
    place = told.get("output_index")
    return place if isinstance(place, int) else told.get("item_id") or item.get("id")


def _place(told: Event) -> int:
    place = told.get("content_index")
    return place if isinstance(place, int) else 0


def _delta(told: Event) -> str:
    delta = told.get("delta")
    return delta if isinstance(delta, str) else ""


def _object(told: Event, name: str) -> Item:
    value = told.get(name)
    return cast("Item", value) if isinstance(value, dict) else {}


def _part(block: _Block) -> Item:
    text = "".join(block.texts)
    return {"type": "refusal", "refusal": text} if block.is_refusal else {"type": "output_text", "text": text}

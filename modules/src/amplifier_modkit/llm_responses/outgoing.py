"""Writes a conversation as the items of a request. Data in, data out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amplifier_core.message_models import Message
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.llm.blocks import CARRIED, blocks_in, carried_in, is_failed
from amplifier_modkit.llm_responses.calls import to_call_item, to_result_item
from amplifier_modkit.llm_responses.marks import Item, mark_of, without
from amplifier_modkit.messages import CALL_BLOCKS

_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")
_OWN_CONTENT = "input_"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation on the wire; ``instructions`` are the system messages that it begins with."""

    instructions: str | None
    items: list[Item]


@dataclass(slots=True)
class ItemWriter:
    """Writes messages for one service.

    ``keeps_state`` says that it remembers by their ids the items it made; ``forgets_reasoning``, that it cannot read
    the reasoning that it gave once.
    """

    origin: str
    keeps_state: bool = False
    forgets_reasoning: bool = False
    _call_kinds: dict[Any, str] = field(default_factory=dict[Any, str])

    def write(self, messages: Sequence[Message]) -> Conversation:
        """The whole conversation. One that has nothing but system messages has them as items: there must be some."""
        head = next((place for place, message in enumerate(messages) if message.role != "system"), 0)
        instructions = "\n\n".join(filter(None, (_text_of(message) for message in messages[:head])))
        items = [item for message in messages[head:] for item in self.items_of(message)]
        return Conversation(instructions or None, items)

    def items_of(self, message: Message) -> list[Item]:
        """The items of one message; a result must come after its call."""
        match message.role:
            case "assistant":
                return self._said(message)
            case "tool" | "function":
                call_id = message.tool_call_id
                kind = self._call_kinds.get(call_id, "function_call")
                return [to_result_item(kind, call_id, _content_of(message), is_failed(message))]
            case "user":
                return [{"role": "user", "content": _content_of(message)}]
            case role:
                return [{"role": role, "content": _text_of(message)}]

    def _said(self, message: Message) -> list[Item]:
        answer = _Answer(self)
        for block in blocks_in(message):
            answer.add(block)
        items = answer.items()
        self._call_kinds.update((item["call_id"], item["type"]) for item in items if "call_id" in item)
        return items


class _Answer:
    """The items of one answer of a model.

    The service takes the id of a reasoning item only together with the items that it led to, and their ids only
    together with it. Where one of them is lost or changed, all go without ids.
    """

    def __init__(self, writer: ItemWriter) -> None:
        self._writer = writer
        self._origin = writer.origin
        self._items: list[Item] = []
        self._has_thought = False

    def add(self, block: dict[str, Any]) -> None:
        """Takes the next block of the answer."""
        kind, mark = block.get("type"), mark_of(block, self._origin)
        self._has_thought = self._has_thought or bool(mark and mark.get("has_thought"))
        if kind == "text":
            self._add_text(block, mark)
        elif kind in CALL_BLOCKS:
            self._items.append(to_call_item(block, self._origin))
        elif kind in _THOUGHTS:
            if mark is not None and self._can_read(mark["item"]):
                self._items.append(mark["item"])
        else:
            self._items.append({"role": "assistant", "content": f"[{kind}]"})

    def items(self) -> list[Item]:
        """All of it, as the service takes it."""
        return self._items if self._is_whole() else [without(item, "id") for item in self._items if _is_free(item)]

    def _is_whole(self) -> bool:
        thoughts = [item for item in self._items if item.get("type") == "reasoning"]
        if not thoughts:
            return not self._has_thought
        return self._items[-1] is not thoughts[-1] and all("id" in item for item in self._items)

    def _can_read(self, reasoning: Mapping[str, Any]) -> bool:
        if self._writer.forgets_reasoning:
            return False
        return bool(reasoning.get("encrypted_content")) or (self._writer.keeps_state and "id" in reasoning)

    def _add_text(self, block: Mapping[str, Any], mark: Mapping[str, Any] | None) -> None:
        hosted = carried_in(block, self._origin)
        if hosted is not None:
            self._items.append(hosted)
        elif mark is None:
            if block.get("text"):
                self._items.append({"role": "assistant", "content": block["text"]})
        else:
            self._add_part(_part(block, mark), mark["item"])

    def _add_part(self, part: Item, message: Mapping[str, Any]) -> None:
        last = self._items[-1] if self._items else {}
        if last.get("type") == "message" and "id" in message and last.get("id") == message["id"]:
            last["content"].append(part)
        else:
            self._items.append({"type": "message", "role": "assistant", "content": [part], **message})


def _is_free(item: Item) -> bool:
    """Whether the service takes the item without its id."""
    kind = item.get("type")
    return kind in (None, "message") or "call_id" in item or bool(item.get("encrypted_content"))


def _part(block: Mapping[str, Any], mark: Mapping[str, Any]) -> Item:
    rest: dict[str, Any] = mark.get("part") or {}
    if mark.get("is_refusal"):
        return {"type": "refusal", "refusal": block.get("text", ""), **rest}
    return {"type": "output_text", "text": block.get("text", ""), **rest}


def _content_of(message: Message) -> str | list[Item]:
    content: Any = message.content
    if isinstance(content, str):
        return content
    return [_input_part(block) for block in blocks_in(message) if CARRIED not in block]


def _input_part(block: dict[str, Any]) -> Item:
    kind = block.get("type")
    if kind == "text":
        return {"type": "input_text", "text": block.get("text", "")}
    if kind == "image":
        return _image(block)
    if isinstance(kind, str) and kind.startswith(_OWN_CONTENT):
        return block
    return {"type": "input_text", "text": json.dumps(to_jsonable(block), ensure_ascii=False)}


def _image(block: Mapping[str, Any]) -> Item:
    source: Mapping[str, Any] = block.get("source") or {}
    image: Item = {"type": "input_image", "detail": block.get("detail") or source.get("detail") or "auto"}
    if source.get("file_id"):
        return {**image, "file_id": source["file_id"]}
    if source.get("data"):
        media_type = source.get("media_type") or "image/png"
        return {**image, "image_url": f"data:{media_type};base64,{source['data']}"}
    return {**image, "image_url": source.get("url")}


def _text_of(message: Message) -> str:
    return "\n\n".join(str(block["text"]) for block in blocks_in(message) if block.get("text"))

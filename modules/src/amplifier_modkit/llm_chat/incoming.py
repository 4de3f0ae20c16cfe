"""An answer put together from messages or pieces of them, whichever way a server sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from amplifier_core.message_models import ChatResponse, ContentBlockUnion, Usage
from amplifier_modkit.llm.blocks import VENDOR, calls_of, output_text, tool_call
from amplifier_modkit.llm.wire import BlockType, Piece
from amplifier_modkit.llm_chat.calls import read_arguments
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.endings import read_reason
from amplifier_modkit.llm_chat.growing_blocks import GrowingBlock, Kind, Said, merge_details, said_in
from amplifier_modkit.llm_chat.growing_calls import CallRouter, GrowingCall
from amplifier_modkit.llm_chat.parts import EXTRA, VENDOR_NAME
from amplifier_modkit.llm_chat.think_tags import ThinkTags
from amplifier_modkit.llm_chat.usage import read_usage

_MESSAGE_KEYS = frozenset(
    {
        "role",
        "content",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "refusal",
        "tool_calls",
        "function_call",
    }
)
_CHOICE_KEYS = frozenset({"index", "message", "delta", "finish_reason", "text"})
_BODY_KEYS = frozenset({"choices", "usage", "object"})


class Answer:
    """One answer while it comes; ``new_id`` names tool calls that a server leaves without an id."""

    def __init__(self, dialect: Dialect, new_id: Callable[[], str]) -> None:
        self.reason: str | None = None
        """The server's word for how it ended; ``None`` as long as it did not."""
        self._new_id = new_id
        self._is_cumulative = dialect.cumulative_text
        self._tags = ThinkTags() if dialect.think_tags else None
        self._blocks: list[GrowingBlock | GrowingCall] = []
        self._open: GrowingBlock | None = None
        self._calls = CallRouter(self._begin_call)
        self._told = {"text": "", "thinking": ""}
        self._usage: Usage | None = None
        self._metadata: dict[str, Any] = {}
        self._kept: frozenset[str] = _BODY_KEYS

    def add_body(self, body: Mapping[str, Any]) -> list[Piece]:
        """Takes a whole answer or one chunk of a stream, and gives what there is to tell of it."""
        if "usage" in body or "x_groq" in body or "timings" in body:
            self._usage = read_usage(body) or self._usage
        if not body.keys() <= self._kept:
            # Once: many servers repeat with every chunk what holds for the whole answer.
            _keep(self._metadata, body, self._kept)
            self._kept = _BODY_KEYS | self._metadata.keys()
        choices: Any = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return []
        return self._add_choice(cast("Mapping[str, Any]", choices[0]))

    def finish(self) -> list[Piece]:
        """Tells the end of what is still open."""
        pieces = self._flush_tags()
        pieces += self._close()
        for call in self._calls.calls:
            pieces += _told(call, is_last=True)
            pieces.append(Piece("end", call.place, "tool_use", name=call.name or None))
        return pieces

    def response(self) -> ChatResponse:
        """The answer as far as it came."""
        content = [self._to_block(block) for block in self._blocks]
        calls = calls_of(content)
        is_refused = any(isinstance(block, GrowingBlock) and block.kind == "refusal" for block in self._blocks)
        reason = read_reason(self.reason, has_calls=bool(calls), is_refused=is_refused)
        told = {} if self.reason is None else {"stop_reason": self.reason}
        metadata = {**self._metadata, **told} or None
        return ChatResponse(
            content=content, tool_calls=calls, usage=self._usage, finish_reason=reason, metadata=metadata
        )

    def _add_choice(self, choice: Mapping[str, Any]) -> list[Piece]:
        pieces: list[Piece] = []
        delta: Any = choice.get("delta")
        whole: Any = choice.get("message")
        if isinstance(delta, Mapping):
            pieces += self._add_message(cast("Mapping[str, Any]", delta), is_whole=self._is_cumulative)
        if isinstance(whole, Mapping):
            pieces += self._add_message(cast("Mapping[str, Any]", whole), is_whole=True)
        elif delta is None and isinstance(choice.get("text"), str):
            pieces += self._say(Said("text", choice["text"]), is_whole=self._is_cumulative)
        if choice.get("finish_reason") is not None:
            self.reason = output_text(choice["finish_reason"])
        if not choice.keys() <= _CHOICE_KEYS:
            _keep(self._metadata, choice, _CHOICE_KEYS)
        return pieces

    def _add_message(self, message: Mapping[str, Any], *, is_whole: bool) -> list[Piece]:
        content = message.get("content")
        if len(message) == 1 and type(content) is str and not is_whole and self._is_all_text:
            return self._grow("text", content)  # nearly every piece of a stream
        pieces: list[Piece] = []
        for said in said_in(message):
            pieces += self._say(said, is_whole=is_whole)
        if message.get("reasoning_details"):
            pieces += self._add_details(message["reasoning_details"])
        for delta in _calls_in(message):
            pieces += self._flush_tags()
            pieces += self._close()
            pieces += _told(self._calls.take(delta))
        if not message.keys() <= _MESSAGE_KEYS:
            _keep(self._metadata, message, _MESSAGE_KEYS)
        return pieces

    def _say(self, said: Said, *, is_whole: bool) -> list[Piece]:
        text = self._fresh(said) if is_whole else said.text
        if said.kind != "text" or self._tags is None:
            return [*self._flush_tags(), *self._grow(said.kind, text, said.field, said.part)]
        pieces: list[Piece] = []
        for kind, part in self._tags.feed(text):
            pieces += self._grow(kind, part)
        return pieces

    def _fresh(self, said: Said) -> str:
        """What a text that begins at the beginning adds to what came."""
        if said.kind not in self._told:
            return said.text
        before, self._told[said.kind] = self._told[said.kind], said.text
        before = before or self._text_of(said.kind)
        return said.text[len(before) :] if said.text.startswith(before) else said.text

    def _text_of(self, kind: str) -> str:
        blocks = (block for block in self._blocks if isinstance(block, GrowingBlock) and block.kind == kind)
        return "".join(piece for block in blocks for piece in block.pieces)

    def _grow(
        self, kind: Kind, text: str, field: str | None = None, part: Mapping[str, Any] | None = None
    ) -> list[Piece]:
        if not text and part is None:
            return []
        pieces: list[Piece] = []
        block = self._open
        if block is None or block.kind != kind or part is not None:
            pieces += self._close()
            block = self._begin(kind, field, part)
            pieces.append(Piece("start", block.place, _block_type(block)))
        block.pieces.append(text)
        if text:
            pieces.append(Piece("delta", block.place, _block_type(block), text))
        return pieces

    def _add_details(self, details: Any) -> list[Piece]:
        pieces: list[Piece] = []
        block = self._last_thought()
        if block is None:
            # Reasoning that is only there in encrypted form: a block without text carries it.
            pieces += self._close()
            block = self._begin("thinking")
            pieces.append(Piece("start", block.place, "thinking"))
        merge_details(block.details, details)
        return pieces

    def _last_thought(self) -> GrowingBlock | None:
        blocks = (block for block in reversed(self._blocks) if isinstance(block, GrowingBlock))
        return next((block for block in blocks if block.kind == "thinking"), None)

    def _begin(self, kind: Kind, field: str | None = None, part: Mapping[str, Any] | None = None) -> GrowingBlock:
        block = GrowingBlock(len(self._blocks), kind, field, part)
        self._blocks.append(block)
        self._open = block
        return block

    def _begin_call(self) -> GrowingCall:
        call = GrowingCall(len(self._blocks))
        self._blocks.append(call)
        return call

    def _flush_tags(self) -> list[Piece]:
        if self._tags is None:
            return []
        kind, text = self._tags.flush()
        return self._grow(kind, text)

    @property
    def _is_all_text(self) -> bool:
        return self._tags is None or self._tags.is_over

    def _close(self) -> list[Piece]:
        block, self._open = self._open, None
        return [] if block is None else [Piece("end", block.place, _block_type(block))]

    def _to_block(self, block: GrowingBlock | GrowingCall) -> ContentBlockUnion:
        if isinstance(block, GrowingBlock):
            return block.to_block()
        block.id = block.id or self._new_id()
        extras: dict[str, Any] = {VENDOR: VENDOR_NAME, EXTRA: block.extra} if block.extra else {}
        return tool_call(block.id, block.name, read_arguments(block.arguments()), **extras)


def _told(call: GrowingCall, *, is_last: bool = False) -> list[Piece]:
    """What there is to tell of a call; it begins with its name, so it waits for that as long as something comes."""
    pieces: list[Piece] = []
    if not call.name and not is_last:
        return pieces
    if not call.is_told:
        call.is_told = True
        pieces.append(Piece("start", call.place, "tool_use", name=call.name or None))
    if call.untold:
        pieces.append(Piece("delta", call.place, "tool_use", call.untold, call.name or None))
        call.untold = ""
    return pieces


def _calls_in(message: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    calls: Any = message.get("tool_calls")
    if isinstance(calls, Mapping):
        calls = [calls]
    if isinstance(calls, list) and calls:
        listed = cast("list[Any]", calls)
        return [cast("Mapping[str, Any]", call) for call in listed if isinstance(call, Mapping)]
    # The protocol's form of one call, before there could be several.
    function: Any = message.get("function_call")
    return [{"function": function}] if isinstance(function, Mapping) else ()


def _block_type(block: GrowingBlock) -> BlockType:
    return "thinking" if block.kind == "thinking" else "text"


def _keep(kept: dict[str, Any], given: Mapping[str, Any], known: frozenset[str]) -> None:
    """Keeps what is not known; lists that come in pieces are put together."""
    for key, value in given.items():
        if key in known or value is None:
            continue
        before: Any = kept.get(key)
        is_list = isinstance(before, list) and isinstance(value, list)
        kept[key] = [*cast("list[Any]", before), *cast("list[Any]", value)] if is_list else value

"""The streams of a session: what of each block has come and is held back, because a secret could begin there."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from amplifier_core.events import (
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    EXECUTION_END,
    THINKING_DELTA,
    THINKING_FINAL,
)
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_modkit.secrets import Hits, StreamRedactor
from amplifier_module_hooks_redaction.redaction import NOTE, Data, noted

PIECES = frozenset({LLM_STREAM_BLOCK_DELTA, CONTENT_BLOCK_DELTA, THINKING_DELTA})
"""Events that carry a piece of a block."""

ENDS = {
    LLM_STREAM_BLOCK_END: LLM_STREAM_BLOCK_DELTA,
    CONTENT_BLOCK_END: CONTENT_BLOCK_DELTA,
    THINKING_FINAL: THINKING_DELTA,
}
"""Events that end a block, with the event of its pieces."""

BEGINNINGS = {LLM_STREAM_BLOCK_START: LLM_STREAM_BLOCK_DELTA, CONTENT_BLOCK_START: CONTENT_BLOCK_DELTA}
BREAKS = frozenset({LLM_STREAM_ABORTED, EXECUTION_END})
"""Events after which nothing more comes of any block of the session."""

_TEXT_FIELDS = ("text", "delta")
_UNREPEATED = frozenset({"timestamp", NOTE})
_MOST_TAILS = 256

Key = tuple[Any, ...]


def text_field(data: Data) -> str | None:
    """The field that holds the piece, if there is one."""
    return next((name for name in _TEXT_FIELDS if isinstance(data.get(name), str)), None)


@dataclass(slots=True)
class Tail:
    """One block that is coming in."""

    redactor: StreamRedactor
    latest: Data = field(default_factory=dict[str, Any])
    """The data of its latest piece."""

    def rest(self, event: str) -> Data | None:
        """The data of one more piece with all that is still held back; nothing if there is nothing."""
        text = self.redactor.finish()
        if not text:
            return None
        facts = {key: value for key, value in self.latest.items() if key not in _UNREPEATED}
        sequence = facts.get("sequence")
        number = {"sequence": sequence + 1} if isinstance(sequence, int) else {}
        return noted(event, {**facts, str(text_field(facts)): text, **number}, self.redactor.take_hits())


class Tails:
    """The blocks that are coming in, of the session and its children; too many, and the oldest are forgotten."""

    def __init__(self, rules: frozenset[str]) -> None:
        self._rules = rules
        self._by_block: OrderedDict[Key, Tail] = OrderedDict()

    def feed(self, event: str, data: Data, piece: str) -> tuple[str, Hits]:
        """What can be shown of the block now that ``piece`` has come, and what was masked in it."""
        key = _key(event, data)
        tail = self._by_block.setdefault(key, Tail(StreamRedactor(self._rules)))
        self._by_block.move_to_end(key)
        if len(self._by_block) > _MOST_TAILS:
            self._by_block.popitem(last=False)
        tail.latest = data
        return tail.redactor.feed(piece), tail.redactor.take_hits()

    def end(self, event: str, data: Data) -> Data | None:
        """The rest of a block of which no more pieces come as ``event``: the data of a last piece, or nothing."""
        tail = self._by_block.pop(_key(event, data), None)
        return None if tail is None else tail.rest(event)

    def forget(self, data: Data) -> None:
        """Drops what is held back of a session: it could be half a secret."""
        session = str(data.get("session_id"))
        for key in [key for key in self._by_block if key[1] == session]:
            del self._by_block[key]


def _key(event: str, data: Data) -> Key:
    # As text, since an emitter may put there what cannot be hashed.
    return event, str(data.get("session_id")), str(data.get("request_id")), str(data.get("block_index"))

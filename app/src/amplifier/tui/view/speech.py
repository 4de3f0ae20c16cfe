"""What one session is saying: blocks of text and thought while they come, told by whichever events tell of them.

Providers tell of a stream, loops tell of content blocks, and some tell of both; the first that speaks in an answer is
listened to, and a whole block is taken only where nothing of it has been streamed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from amplifier.tui.view.changes import Change, Speaker, Thought
from amplifier.tui.view.pieces import Cutter, Piece

Teller = Literal["provider", "loop"]
_MOST_SHOWN = 400


@dataclass(slots=True)
class OpenBlock:
    """A block that has begun and not ended."""

    kind: str
    began: float
    cutter: Cutter
    name: str = ""
    texts: list[str] = field(default_factory=list[str])
    size: int = 0
    held: list[Piece] = field(default_factory=list[Piece])

    def end_of_text(self) -> str:
        """The last of what has come."""
        found: list[str] = []
        size = 0
        for text in reversed(self.texts):
            found.append(text)
            size += len(text)
            if size >= _MOST_SHOWN:
                break
        return "".join(reversed(found))[-_MOST_SHOWN:]


class Speech:
    """The words of one session; lives as long as the session works."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self.open: OpenBlock | None = None
        self._teller: Teller | None = None
        self._streamed: set[str] = set()
        self._told: set[tuple[str, str]] = set()

    def next_answer(self, now: float) -> list[Change]:
        """The model is asked again: what it said before is over."""
        changes = self.end(now)
        self._teller = None
        self._streamed.clear()
        self._told.clear()
        return changes

    def begin(self, teller: Teller, kind: str, now: float, name: str = "") -> list[Change]:
        """A block begins."""
        if not self._listens_to(teller):
            return []
        changes = self.end(now)
        self.open = OpenBlock(kind, now, Cutter(self.speaker), name)
        return changes

    def add(self, teller: Teller, kind: str, text: str, now: float) -> list[Change]:
        """A piece of a block has come."""
        if not self._listens_to(teller):
            return []
        changes: list[Change] = []
        if self.open is None or self.open.kind != kind:
            changes = self.begin(teller, kind, now)
        block = self.open
        assert block is not None
        block.size += len(text)
        self._streamed.add(kind)
        if kind == "thinking":
            block.texts.append(text)
        elif kind == "text":
            pieces = block.cutter.feed(text)
            # Agents speak side by side: a block of theirs is shown in one go, so that none stands inside another's.
            if self.speaker.depth:
                block.held += pieces
            else:
                changes += pieces
        return changes

    def end_block(self, teller: Teller, now: float) -> list[Change]:
        """A block is over."""
        return self.end(now) if self._listens_to(teller) else []

    def whole(self, kind: str, text: str, now: float) -> list[Change]:
        """A whole block is there; nothing comes of one that has been streamed, or told of by another event."""
        told = (kind, text.strip())
        if kind not in ("text", "thinking") or kind in self._streamed or not told[1] or told in self._told:
            return []
        self._told.add(told)
        changes = self.end(now)
        if kind == "thinking":
            return [*changes, Thought(text, None, self.speaker)]
        cutter = Cutter(self.speaker)
        return [*changes, *cutter.feed(text), *cutter.finish()]

    def end(self, now: float) -> list[Change]:
        """The block that is open, if any, is over."""
        block, self.open = self.open, None
        if block is None:
            return []
        if block.kind == "text":
            return [*block.held, *block.cutter.finish()]
        text = "".join(block.texts)
        return [Thought(text, now - block.began, self.speaker)] if text.strip() else []

    def _listens_to(self, teller: Teller) -> bool:
        self._teller = self._teller or teller
        return self._teller == teller

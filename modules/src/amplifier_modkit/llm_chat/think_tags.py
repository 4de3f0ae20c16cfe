"""Reasoning that a server leaves in the text, between ``<think>`` and ``</think>``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

_BEGIN, _END = "<think>", "</think>"

Kind = Literal["text", "thinking"]


class ThinkTags:
    """Tells reasoning from text while an answer comes; only what an answer begins with can be reasoning.

    Text that may still turn out to be a tag is held back until that is clear.
    """

    def __init__(self) -> None:
        self._state: Literal["beginning", "thinking", "after", "text"] = "beginning"
        self._held = ""

    @property
    def is_over(self) -> bool:
        """Whether all that comes is text."""
        return self._state == "text"

    def feed(self, text: str) -> Iterator[tuple[Kind, str]]:
        """What ``text`` adds, in order."""
        self._held += text
        if self._state == "beginning":
            self._begin()
        if self._state == "thinking":
            yield from self._think()
        if self._state == "after" and self._held.lstrip():
            # The line breaks between the tag and the answer belong to neither.
            self._held, self._state = self._held.lstrip(), "text"
        if self._state == "text" and self._held:
            yield "text", self.flush()[1]

    def flush(self) -> tuple[Kind, str]:
        """What is held back, now that nothing more comes."""
        held, self._held = self._held, ""
        if self._state == "after":
            held = ""
        return ("thinking" if self._state == "thinking" else "text"), held

    def _begin(self) -> None:
        said = self._held.lstrip()
        if said.startswith(_BEGIN):
            self._state, self._held = "thinking", said.removeprefix(_BEGIN).lstrip("\n")
        elif not _BEGIN.startswith(said):
            self._state = "text"

    def _think(self) -> Iterator[tuple[Kind, str]]:
        thought, end, rest = self._held.partition(_END)
        if end:
            self._state, self._held = "after", rest
            thought = thought.rstrip("\n")
        else:
            kept = _open_tail(thought)
            thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            yield "thinking", thought


def _open_tail(text: str) -> int:
    """How many characters at the end of ``text`` may be line breaks before the tag, or the beginning of the tag."""
    size = next((size for size in range(len(_END) - 1, 0, -1) if text.endswith(_END[:size])), 0)
    body = text[: len(text) - size]
    return size + len(body) - len(body.rstrip("\n"))

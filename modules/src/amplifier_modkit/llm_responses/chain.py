"""Which answers the service remembers, by the conversation that each of them ends.

An answer is found again only if everything before it is what the service has, to the letter. A history that was
compacted or changed is another one, and is sent whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from amplifier_modkit.llm_responses.marks import Item

_MOST_ANSWERS = 256


class Link(NamedTuple):
    """The answer that a request goes on from, and what comes after it."""

    response_id: str | None
    items: list[Item]


class ResponseChain:
    """The answers that can be gone on from; lives as long as its provider."""

    def __init__(self, most_answers: int = _MOST_ANSWERS) -> None:
        self._most_answers = most_answers
        self._answers: dict[bytes, str] = {}

    def find(self, items: list[Item]) -> Link:
        """The latest answer that ``items`` go on from; nothing may be left out, so none if it is the end of them."""
        found = Link(None, items)
        if self._answers:
            for place, digest in enumerate(_digests(items[:-1]), start=1):
                response_id = self._answers.get(digest)
                if response_id is not None:
                    found = Link(response_id, items[place:])
        return found

    def remember(self, items: Sequence[Item], response_id: str) -> None:
        """Takes down that the answer ``response_id`` ends the conversation ``items``."""
        *_, digest = _digests(items)
        self._answers[digest] = response_id
        if len(self._answers) > self._most_answers:
            del self._answers[next(iter(self._answers))]

    def clear(self) -> None:
        """Forgets all of them."""
        self._answers.clear()


def _digests(items: Sequence[Item]) -> Iterator[bytes]:
    """A fingerprint of each beginning of ``items``."""
    running = hashlib.blake2b(digest_size=16)
    for item in items:
        running.update(json.dumps(item, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))
        yield running.digest()

"""Remembers how texts were redacted: a conversation is told again with every request, and only its end is new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from amplifier_modkit.secrets.masks import Hits
from amplifier_modkit.secrets.text import SECRETS, redact_text

_MOST_TEXTS = 10_000
_MOST_CHARS = 8_000_000


class TextMemo:
    """Redacts texts with one choice of rules and remembers the latest of them, up to a number of characters."""

    def __init__(
        self, groups: Collection[str] = SECRETS, *, max_texts: int = _MOST_TEXTS, max_chars: int = _MOST_CHARS
    ) -> None:
        self._groups = frozenset(groups)
        self._max_texts = max_texts
        self._max_chars = max_chars
        self._known: OrderedDict[str, tuple[str, Hits]] = OrderedDict()
        self._chars = 0

    def redact(self, text: str) -> tuple[str, Hits]:
        """``text`` with its secrets masked, and how many of each kind there were; the counts are not to be changed."""
        known = self._known.get(text)
        if known is not None:
            self._known.move_to_end(text)
            return known
        result = redact_text(text, self._groups)
        if len(text) <= self._max_chars:
            self._keep(text, result)
        return result

    def _keep(self, text: str, result: tuple[str, Hits]) -> None:
        self._known[text] = result
        self._chars += len(text)
        while self._chars > self._max_chars or len(self._known) > self._max_texts:
            oldest, _ = self._known.popitem(last=False)
            self._chars -= len(oldest)

"""Redacts a text that comes in pieces: what could be the beginning of a secret is held back until it is clear.

Most of a text goes on word by word. A line that speaks of secrets goes on as a whole, and so does a private key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from amplifier_modkit.secrets.masks import Hits, Span, mask
from amplifier_modkit.secrets.text import SECRETS, find_secrets, redact_text

MAX_HELD = 8192
"""So many characters are held back at most."""

# What came before is looked at again with what comes: the name of a secret may have gone on already.
_CONTEXT = 640
# Of a text without a gap, so much is kept back for the secret that may be in the middle of coming.
_KEPT = 512
_WORDS = r"pass|pwd|secret|token|key|cred|auth|cookie|sig|bearer|machine|curl|mysql|mariadb|sshpass|-----|://"
_SUSPICIOUS = re.compile(_WORDS, re.IGNORECASE)
_LONGEST_WORD = 16
# A text without any of these has no secret that any rule could find.
_TELLING = re.compile(_WORDS + r"|[$@(+]|[a-z0-9_\-+/]{20}", re.IGNORECASE)
_GAP = re.compile(r"\s(?=\S*\Z)")
_KEY_BEGIN = "-----BEGIN"
_END_OF_KEY = re.compile(r"-----END[^\n\\-]{0,60}-----")
_LONGEST_END = 80
_END_OF_VALUE = re.compile(r"[\n\"'`]")


class StreamRedactor:
    """Redacts one text, piece by piece; made for one block of an answer."""

    def __init__(self, groups: Collection[str] = SECRETS) -> None:
        self._groups = frozenset(groups)
        self._held = ""
        self._context = ""
        self._is_context_masked = False
        self._is_line_held = False
        self._calm_chars = _CONTEXT
        """How much has gone on since there was anything that a secret has."""
        self._swallowing: re.Pattern[str] | None = None
        self._hits: Hits = Counter()

    @property
    def is_holding(self) -> bool:
        """Whether anything waits for the next piece or the end."""
        return bool(self._held)

    def feed(self, piece: str) -> str:
        """What can go on now that ``piece`` has come; often less, sometimes more."""
        self._look_at_line(piece)
        self._held += piece
        if self._is_line_held and "\n" not in piece and len(self._held) <= MAX_HELD:
            return ""
        if self._is_swallowing():
            return ""
        cut = self._safe_cut()
        if cut == 0 and len(self._held) > MAX_HELD:
            return self._release_by_force()
        return self._release(cut)

    def finish(self) -> str:
        """The rest: nothing more will come."""
        if self._is_swallowing():
            self._held = ""
        return self._release(len(self._held))

    def take_hits(self) -> Hits:
        """What was masked since this was last asked, by rule."""
        taken, self._hits = self._hits, Counter()
        return taken

    def _safe_cut(self) -> int:
        """How much of what is held cannot be part of a secret that is still coming."""
        seen, before = self._context + self._held, len(self._context)
        cut = self._end_of_words()
        begin = seen.rfind(_KEY_BEGIN)
        if begin < 0:
            return cut
        end = _END_OF_KEY.search(seen, begin)
        is_inside = end is None or begin < before + cut < end.end()
        return max(0, begin - before) if is_inside else cut

    def _look_at_line(self, piece: str) -> None:
        """Notes whether the line that is coming speaks of secrets; all but the last word has been looked at."""
        before = (self._context[-_LONGEST_WORD:] + self._held[-_LONGEST_WORD:])[-_LONGEST_WORD:]
        seen = before + piece
        is_found = _SUSPICIOUS.search(seen, seen.rfind("\n") + 1) is not None
        self._is_line_held = is_found or (self._is_line_held and "\n" not in piece)

    def _end_of_words(self) -> int:
        if self._is_line_held:
            return self._held.rfind("\n") + 1
        gap = _GAP.search(self._held)
        return 0 if gap is None else gap.end()

    def _release_by_force(self) -> str:
        """Lets go of what cannot be held any longer; a secret at the cut is masked, and the rest of it swallowed."""
        is_key = _KEY_BEGIN in self._held
        cut = len(self._held) if is_key else len(self._held) - _KEPT
        text = self._release(cut)
        if is_key:
            self._swallowing = _END_OF_KEY
        elif self._is_context_masked:
            self._swallowing = _END_OF_VALUE
        self._is_line_held = _SUSPICIOUS.search(self._held) is not None
        return text

    def _is_swallowing(self) -> bool:
        """Drops what belongs to a secret that was masked before it had come; whether there may be more of it."""
        if self._swallowing is None:
            return False
        end = self._swallowing.search(self._held)
        if end is None:
            self._held = self._held[-_LONGEST_END:]
            return True
        self._held = self._held[end.end() if self._swallowing is _END_OF_KEY else end.start() :]
        self._swallowing, self._context, self._is_context_masked = None, "", False
        return False

    def _release(self, cut: int) -> str:
        if cut == 0:
            return ""
        offset = len(self._context)
        piece, self._held = self._held[:cut], self._held[cut:]
        seen = self._context + piece
        is_telling = _TELLING.search(piece) is not None
        self._calm_chars = 0 if is_telling else self._calm_chars + cut
        if self._calm_chars > _CONTEXT:
            self._context, self._is_context_masked = seen[-_CONTEXT:], False
            return piece
        spans = [span for span in find_secrets(seen, self._groups) if span.end > offset]
        text = self._masked(seen, offset, spans)
        self._context = seen[-_CONTEXT:]
        self._is_context_masked = bool(spans) and not seen[spans[-1].end :].strip()
        redacted, hits = redact_text(text, self._groups)
        self._hits += hits
        return redacted

    def _masked(self, seen: str, offset: int, spans: list[Span]) -> str:
        parts: list[str] = []
        for span in spans:
            is_going_on = span.start < offset and self._is_context_masked
            if not is_going_on:
                parts += (seen[offset : max(offset, span.start)], mask(span.rule))
                self._hits[span.rule] += 1
            offset = span.end
        parts.append(seen[offset:])
        return "".join(parts)

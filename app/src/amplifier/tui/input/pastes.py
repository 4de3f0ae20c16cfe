"""Long pastes: folded to a word in the input line, and put back when it is sent."""

from __future__ import annotations

import re

_MOST_LINES, _MOST_CHARS = 8, 800
_FOLD = re.compile(r"\[Pasted #(\d+): [^\]\n]*\]")


class Pastes:
    """The pastes that one chat has folded; numbers never come again, so that history brings the right one back."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    def folded(self, text: str) -> str:
        """What to show for a pasted text: itself where it is short."""
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = plain.count("\n") + 1
        if lines <= _MOST_LINES and len(plain) <= _MOST_CHARS:
            return plain
        self._kept.append(plain)
        size = f"{lines} lines" if lines > 1 else f"{len(plain)} characters"
        return f"[Pasted #{len(self._kept)}: {size}]"

    def unfolded(self, text: str) -> str:
        """``text`` with the pastes in it put back; what only looks like one stays."""

        def kept(found: re.Match[str]) -> str:
            number = int(found[1])
            return self._kept[number - 1] if 1 <= number <= len(self._kept) else found[0]

        return _FOLD.sub(kept, text)

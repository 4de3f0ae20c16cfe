"""Rules as people write them: ``Tool(specifier)``, with a tool's name or a glob in front.

What a specifier means depends on the tool: a command, a path, or ``key:pattern``. One that begins with ``=`` is meant
to the letter.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase

_FORM = re.compile(r"\s*([^()\s]+)\s*(?:\((.+)\))?\s*", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.:/-]+")
_BASH = "bash"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; without a specifier it is about every call of the tool."""

    tool: str
    specifier: str | None = None

    @classmethod
    def read(cls, text: str) -> Rule:
        """The rule that a text says; raises ``ValueError`` if it is none."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(
                f"{text[:200]!r} is no rule; expected a tool's name, or 'Tool(specifier)' such as 'Bash(git status)'"
            )
        return cls(found[1], found[2])

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"

    @property
    def literal(self) -> str | None:
        """What the specifier says to the letter, if it does."""
        return self.specifier[1:] if self.specifier and self.specifier.startswith("=") else None

    def is_about(self, tool: str) -> bool:
        """Whether it is about a tool of exactly this name; for rules that allow. ``Bash`` stands for ``bash``."""
        return fnmatchcase(tool, _BASH if self.tool.casefold() == _BASH else self.tool)

    def may_be_about(self, tool: str) -> bool:
        """The same for rules that ask or deny: names that look alike count as one."""
        return fnmatchcase(_folded(tool), _folded(self.tool))


def can_be_named(tool: str) -> bool:
    """Whether a rule can be about this tool and no other."""
    return _PLAIN_NAME.fullmatch(tool) is not None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()

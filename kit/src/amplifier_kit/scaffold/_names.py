"""What a new module is called: its id, package, class and folder, all from one name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

_WORDS = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 50

# Kind: the first word of its module ids, and the last word of its classes.
_PARTS = {
    "tool": ("tool", "Tool"),
    "provider": ("provider", "Provider"),
    "hook": ("hooks", "Guard"),
    "orchestrator": ("loop", "Loop"),
    "context": ("context", "Context"),
}

KINDS = tuple(_PARTS)
"""The kinds of module that can be begun."""


class ScaffoldError(ValueError):
    """A module cannot be begun like this; nothing was written."""


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The names of one module, all in step."""

    kind: str
    name: str
    """Small letters, digits and hyphens: ``word-count``."""

    @classmethod
    def of(cls, kind: str, name: str) -> ModuleNames:
        """Names for what a user typed. Raises ``ScaffoldError`` for a kind or a name that cannot be one."""
        if kind not in _PARTS:
            near = get_close_matches(kind, KINDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise ScaffoldError(f"Unknown kind of module '{kind}'; expected one of: {', '.join(KINDS)}.{hint}")
        return cls(kind, _normalised(kind, name))

    @property
    def module_id(self) -> str:
        """The id in mount plans: ``tool-word-count``."""
        return f"{_PARTS[self.kind][0]}-{self.name}"

    @property
    def folder(self) -> str:
        """The folder of the repository, which is also the name of the distribution."""
        return f"amplifier-module-{self.module_id}"

    @property
    def package(self) -> str:
        """The import name."""
        return self.folder.replace("-", "_")

    @property
    def class_name(self) -> str:
        """The class that does the work: ``WordCountTool``."""
        return "".join(word.capitalize() for word in self.name.split("-")) + _PARTS[self.kind][1]


def _normalised(kind: str, given: str) -> str:
    words = re.sub(r"[\s_-]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", given.strip())).lower().strip("-")
    name = words.removeprefix("amplifier-module-").removeprefix(f"{_PARTS[kind][0]}-")
    if not _WORDS.fullmatch(name) or len(name) > _LONGEST:
        raise ScaffoldError(
            f"A module cannot be called {given!r:.80}: expected at most {_LONGEST} letters, digits and hyphens, "
            "beginning with a letter, such as 'word-count'."
        )
    return name

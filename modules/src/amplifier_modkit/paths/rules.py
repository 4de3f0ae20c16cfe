"""The rules for one way of using files: which resolved paths may be read, or which may be written, and why not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from amplifier_modkit.paths.errors import PathDeniedError
from amplifier_modkit.paths.known_places import KnownPlaces
from amplifier_modkit.paths.spelling import fold, is_within

Verb = Literal["read", "write"]
Identity = tuple[int, int]
"""Device and number: what stays the same under every name of a file or folder."""

_WILD = re.compile(r"\*\*/?|\*|\?")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_OTHER_PLACE = "Use another place."
_MOST_ROOTS_TOLD = 5


@dataclass(frozen=True, slots=True)
class DeniedEntry:
    """One entry of a list of denials, as it was written and as it is meant."""

    written: str
    path: str
    """Absolute, links not followed."""
    resolved: str
    """The same with links followed, as they were when the policy was made."""
    identity: Identity | None
    """Of what was there when the policy was made."""

    @property
    def is_pattern(self) -> bool:
        """Whether it has wildcards; such an entry holds as a plain path besides."""
        return bool(_WILD.search(self.written))

    def matcher(self) -> re.Pattern[str]:
        """Matches the folded paths that it denies."""
        wanted = [_literal(self.path), _literal(self.resolved)]
        if self.is_pattern:
            wanted.append(_wild(self.path if "/" in self.written.replace(os.sep, "/") else f"**/{self.written}"))
        return re.compile(f"(?:{'|'.join(wanted)})(?:/|\\Z)", re.DOTALL)

    def resolved_now(self) -> str | None:
        """Where it leads by now, if it is a link on the way."""
        return os.path.realpath(self.path) if self.path != self.resolved else None


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What may be read, or what may be written; a denial wins over everything that allows."""

    verb: Verb
    allowed: tuple[str, ...] | None
    """Resolved roots; ``None`` is everything."""
    denied: tuple[DeniedEntry, ...]
    known: tuple[KnownPlaces, ...]
    """What is refused without an entry."""
    exempt: tuple[str, ...]
    """Resolved roots to which ``known`` does not apply, since somebody has named them."""
    secret_roots: tuple[DeniedEntry, ...]
    """Known places of secrets that are there; kept for what only their identity can tell."""
    _matchers: tuple[tuple[re.Pattern[str], DeniedEntry], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matchers", tuple((entry.matcher(), entry) for entry in self.denied))

    def require(self, path: str) -> None:
        """Raises ``PathDeniedError`` unless the resolved ``path`` may be used."""
        self.require_not_denied(path)
        self.require_inside(path)

    def require_not_denied(self, path: str, *, is_last: bool = True) -> None:
        """Raises ``PathDeniedError`` for what is denied; ``is_last`` says that the path does not go on."""
        folded = fold(path)
        for matcher, entry in self._matchers:
            if matcher.match(folded) or self._is_now_below(entry, path):
                raise self.denial(entry, path)
        for places in self.known:
            if places.holds(folded, is_last=is_last) and not self._is_exempt(path, is_last=is_last):
                raise PathDeniedError(self.verb, path, places.rule, places.way_out)

    def require_inside(self, path: str) -> None:
        """Raises ``PathDeniedError`` for what is outside of the allowed roots."""
        if self.allowed is None or any(is_within(path, root) for root in self.allowed):
            return
        told = ", ".join(self.allowed[:_MOST_ROOTS_TOLD]) or "nothing is allowed"
        rule = f"it is outside of the allowed paths ({told})"
        raise PathDeniedError(
            self.verb, path, rule, f"Use a path inside, or ask the user to extend 'allowed_{self.verb}_paths'."
        )

    def require_stranger(self, identity: Identity, path: str) -> None:
        """Raises ``PathDeniedError`` for a file or folder that is denied under another name."""
        for entry in self.denied_elsewhere(path):
            if entry.identity == identity:
                raise self.denial(entry, path)

    def denied_roots(self) -> list[DeniedEntry]:
        """The denied entries that are no patterns, known places of secrets among them."""
        return [entry for entry in (*self.denied, *self.secret_roots) if not entry.is_pattern]

    def denied_elsewhere(self, path: str) -> list[DeniedEntry]:
        """The same but for those above ``path``: by that name it has been judged."""
        return [entry for entry in self.denied_roots() if not is_within(path, entry.resolved)]

    def denial(self, entry: DeniedEntry, path: str) -> PathDeniedError:
        """The error for a path that one entry denies."""
        if entry in self.denied:
            rule = f"'denied_{self.verb}_paths' has the entry {entry.written!r}"
            return PathDeniedError(self.verb, path, rule, _OTHER_PLACE)
        return PathDeniedError(self.verb, path, f"it is {entry.written} under another name", _OTHER_PLACE)

    def _is_exempt(self, path: str, *, is_last: bool) -> bool:
        return any(is_within(path, root) or (not is_last and is_within(root, path)) for root in self.exempt)

    @staticmethod
    def _is_now_below(entry: DeniedEntry, path: str) -> bool:
        now = entry.resolved_now()
        return now is not None and is_within(path, now)


def entry_for(written: str, path: str) -> DeniedEntry:
    """The entry for a path that was ``written`` by somebody and is absolute by now; looks at what is there."""
    return DeniedEntry(written, os.path.normpath(path), os.path.realpath(path), identity_of(path))


def identity_of(path: str | Path) -> Identity | None:
    """The identity of what a path leads to, if it is there."""
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    return facts.st_dev, facts.st_ino


def has_wildcard(written: str) -> bool:
    """Whether an entry is a pattern."""
    return bool(_WILD.search(written))


def exempt_roots(entries: Iterable[str], known: Sequence[KnownPlaces]) -> tuple[str, ...]:
    """Those resolved entries that name a known place themselves: whoever wrote them meant it."""
    return tuple(each for each in entries if any(places.holds(fold(each), is_last=True) for places in known))


def _literal(path: str) -> str:
    return re.escape(fold(path).rstrip("/"))


def _wild(pattern: str) -> str:
    folded = fold(pattern)
    pieces = _WILD.split(folded)
    wilds = [_MEANING[each] for each in _WILD.findall(folded)]
    return "".join(re.escape(piece) + wild for piece, wild in zip(pieces, [*wilds, ""], strict=True))

"""Variables in a text: which certainly have the value that is written there, and which may have it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product

from amplifier_modkit.shell.drafts import Draft, Notes
from amplifier_modkit.shell.words import Kind, Piece, Word, listed

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANKS = re.compile(r"[ \t\n]+")
_WILDCARDS = frozenset("*?[")
_MOST_GUESSES = 12
# These change variables, or run what may change them.
_CHANGES_ANY = frozenset({"eval", "source", ".", "trap", "enable", "shopt", "alias", "set"})
_CHANGES_NAMED = listed("declare getopts let local mapfile printf read readarray typeset unset wait export readonly")
_PASSED_THROUGH = frozenset({"command", "builtin"})
# The shell sets these itself.
_SPECIAL = re.compile(
    r"_|BASH.*|COMP_.*|COPROC|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|IFS|LINENO|MAPFILE|OLDPWD|OPTARG|OPTIND|PIPESTATUS"
    r"|POSIXLY_CORRECT|PPID|PWD|RANDOM|READLINE_.*|REPLY|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID"
)


class Variables:
    """What is known of the variables of one text."""

    def __init__(self, notes: Notes) -> None:
        self._order = {id(draft): place for place, draft in enumerate(notes.drafts)}
        self._values: dict[str, list[str]] = {"IFS": [" "]}
        self._known: dict[str, tuple[str, int]] = {}
        counts = Counter(write.name for write in notes.writes)
        changed = _changed_names(notes.drafts)
        for write in notes.writes:
            value = write.value.value if write.value else None
            if value is None:
                if write.value and all(piece.kind in (Kind.TEXT, Kind.TILDE) for piece in write.value.pieces):
                    self._values.setdefault(write.name, []).append(write.value.text)
                continue
            self._values.setdefault(write.name, []).append(value)
            draft = write.draft if counts[write.name] == 1 and not _SPECIAL.fullmatch(write.name) else None
            if draft and draft.is_sure and changed is not None and changed[write.name] == _own(draft):
                self._known[write.name] = value, self._order[id(draft)]
        self._splits_as_usual = "IFS" not in counts and changed is not None and "IFS" not in changed

    def resolved(self, words: Sequence[Word], draft: Draft) -> list[Word]:
        """``words`` with the values of the variables that are certain where ``draft`` stands."""
        if not self._known:
            return list(words)
        place = self._order[id(draft)]
        return [each for word in words for each in self._resolved(word, place)]

    def _resolved(self, word: Word, place: int) -> list[Word]:
        choices = [self._certain(piece, place) for piece in word.pieces]
        if all(choice is None for choice in choices):
            return [word]
        return _assembled(word, choices)

    def _certain(self, piece: Piece, place: int) -> str | None:
        value, since = self._known.get(piece.text, ("", place)) if piece.kind is Kind.VARIABLE else ("", place)
        if since >= place or (piece.may_split and not self._splits_as_usual):
            return None
        return value

    def guessed(self, words: Sequence[Word]) -> Iterator[list[Word]]:
        """The words that ``words`` may become, as far as values are written in the text."""
        choices = [[*self._candidates(piece), None] for word in words for piece in word.pieces]
        if all(len(choice) == 1 for choice in choices):
            return
        for chosen in islice(product(*choices), _MOST_GUESSES):
            if any(each is not None for each in chosen):
                values = iter(chosen)
                yield [each for word in words for each in _assembled(word, [next(values) for _ in word.pieces])]

    def _candidates(self, piece: Piece) -> list[str]:
        name = _NAME.match(piece.text) if piece.kind is Kind.VARIABLE else None
        return list(dict.fromkeys([*piece.guesses, *(self._values.get(name[0], []) if name else [])]))


def _own(draft: Draft) -> int:
    """How often the assignment itself counts among the changes: ``export x=1`` is a change of ``x`` by a builtin."""
    return 1 if draft.words else 0


def _makes_reference(values: Sequence[str | None]) -> bool:
    """Whether a variable becomes another name of a variable."""
    is_declaration = values[0] in ("declare", "typeset", "local")
    return is_declaration and any(value is not None and re.fullmatch(r"-\w*n\w*", value) for value in values[1:])


def _changed_names(drafts: Sequence[Draft]) -> Counter[str] | None:
    """The variables that builtins change; ``None`` if it may be any."""
    names: Counter[str] = Counter()
    for draft in drafts:
        values = [word.value for word in draft.words]
        while values and values[0] in _PASSED_THROUGH:
            values.pop(0)
        if not values:
            continue
        if values[0] is None or values[0] in _CHANGES_ANY or _makes_reference(values):
            return None
        if values[0] in _CHANGES_NAMED:
            for word in draft.words[1:]:
                if not _NAME.match(word.known_start) and not word.is_static and not word.known_start.startswith("-"):
                    return None
                names.update(_names_in(word.known_start))
    return names


def _names_in(text: str) -> set[str]:
    """The variables that a word of such a builtin may name; an option may have one attached."""
    if text.startswith("-"):
        return {text[start:] for start in range(1, len(text))}
    return set(_NAME.findall(text.partition("=")[0]))


def _assembled(word: Word, values: Sequence[str | None]) -> list[Word]:
    """The words that ``word`` becomes with these values for its pieces; an unquoted value is split at blanks."""
    rows: list[list[Piece]] = [[]]
    for piece, value in zip(word.pieces, values, strict=True):
        if value is None:
            rows[-1].append(piece)
        elif not piece.may_split:
            rows[-1].append(Piece(Kind.TEXT, value, is_quoted=True))
        else:
            first, *more = _BLANKS.split(value)
            rows[-1] += _unquoted(first)
            rows += [_unquoted(each) for each in more]
    return [Word(tuple(row), word.raw) for row in rows if row]


def _unquoted(text: str) -> list[Piece]:
    if not text:
        return []
    if _WILDCARDS.isdisjoint(text):
        return [Piece(Kind.TEXT, text)]
    return [Piece(Kind.GLOB if char in _WILDCARDS else Kind.TEXT, char) for char in text]

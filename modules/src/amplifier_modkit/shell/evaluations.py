"""Builtins that evaluate words: a name may hold a subscript, a number an expression, and both may run commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from amplifier_modkit.shell.commands import Doubt
from amplifier_modkit.shell.conditions import ConditionReader
from amplifier_modkit.shell.drafts import Draft, Notes, Write
from amplifier_modkit.shell.environment import changes_programs
from amplifier_modkit.shell.words import Kind, Word, static

_NUMBER = re.compile(r"[-+]?[0-9]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PASSED_THROUGH = frozenset({"command", "builtin"})


def _all_names(arguments: Sequence[Word]) -> Iterable[Word]:
    return (word for word in arguments if not word.known_start.startswith("-"))


def _behind(*options: str) -> Callable[[Sequence[Word]], Iterable[Word]]:
    def found(arguments: Sequence[Word]) -> Iterable[Word]:
        for option, word in pairwise(arguments):
            if option.value in options:
                yield word
        for word in arguments:
            if any(len(word.known_start) > len(option) and word.known_start.startswith(option) for option in options):
                yield word

    return found


# Which words each builtin takes for names of variables, or for expressions.
_EVALUATED: dict[str, Callable[[Sequence[Word]], Iterable[Word]]] = {
    "let": lambda arguments: arguments,
    "read": _all_names,
    "mapfile": _all_names,
    "readarray": _all_names,
    "unset": _all_names,
    "getopts": _all_names,
    "declare": _all_names,
    "typeset": _all_names,
    "local": _all_names,
    "export": _all_names,
    "readonly": _all_names,
    "printf": _behind("-v"),
    "wait": _behind("-p"),
    "test": _behind("-v", "-R"),
    "[": _behind("-v", "-R"),
}
_SETS_UNKNOWN = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "wait"})
_DECLARES = frozenset({"declare", "typeset", "local", "export", "readonly"})


class EvaluationReader(ConditionReader):
    """Notes what builtins evaluate among their words."""

    def note_evaluations(self, draft: Draft) -> None:
        """Looks through the words of a command that was just read."""
        words = list(draft.words)
        while words and words[0].value in _PASSED_THROUGH:
            words.pop(0)
        name = (words[0].value if words else None) or ""
        find = _EVALUATED.get(name)
        if find is None:
            return
        arguments = words[1:]
        flags = "".join(word.known_start for word in arguments if word.known_start.startswith("-"))
        for word in find(arguments):
            if name in _DECLARES:
                self._note_declared(word, flags, draft)
            else:
                (self.evaluate if name == "let" else self.evaluate_name)(word)
            if name in _SETS_UNKNOWN:
                self.notes.writes.append(Write(_without_option(word), None))
            elif name == "unset":
                self.notes.writes.append(Write(word.known_start, static("")))
        if name in _SETS_UNKNOWN:
            # An option may have the name attached.
            attached = [word.known_start[2:] for word in arguments if word.known_start.startswith("-")]
            self.notes.writes.extend(Write(each, None) for each in attached if each)

    def _note_declared(self, word: Word, flags: str, draft: Draft) -> None:
        name, sign, value = word.known_start.partition("=")
        if sign and not any(each.name == name for each in draft.assignments):
            self.notes.writes.append(Write(name, None))
        if value.lstrip().startswith("(") and not any(each.name == name for each in draft.assignments):
            self.doubtful(f"the values of the array '{name}' are given as a text, which is evaluated")
        if "n" in flags:
            self.notes.writes.append(Write(value, None))
        if "A" in flags:
            self.notes.maps.add(name)
        elif "i" in flags or "n" in flags:
            # From here on whatever is assigned to it is evaluated.
            self.notes.evaluated.append((name, ""))
        if sign and ("i" in flags or "n" in flags):
            self.evaluate(word)
        else:
            self.evaluate_name(word)


def _without_option(word: Word) -> str:
    start = word.known_start
    return start[2:] if start.startswith("-") else start


def evaluation_doubts(notes: Notes) -> Iterable[Doubt]:
    """Variables that are evaluated although their values are not numbers, as far as the text tells."""
    writes: dict[str, list[Write]] = {}
    for write in notes.writes:
        writes.setdefault(write.name, []).append(write)
    open_names = {name for name, array in notes.evaluated if array not in notes.maps}
    done: set[str] = set()
    while open_names:
        name = open_names.pop()
        done.add(name)
        if name.isdigit() or name in ("@", "*"):
            yield Doubt("evaluated-variable", f"the argument '${name}' is evaluated")
        for write in writes.get(name, ()):
            if write.is_number or _is_number(write.value):
                continue
            value = write.value.value if write.value else None
            if value is None or not _NAME.fullmatch(value):
                yield Doubt("evaluated-variable", f"the value of '{name}' is evaluated")
                break
            open_names |= {value} - done


def loading_doubts(notes: Notes) -> Iterable[Doubt]:
    """Variables that get a value in whatever way and change what programs do."""
    for write in notes.writes:
        if changes_programs(write.name, write.value.value if write.value else None):
            yield Doubt(
                "loaded-variable", f"it sets '{write.name}', which changes which programs run or what they load"
            )


def _is_number(value: Word | None) -> bool:
    if value is None:
        return False
    return all(
        piece.kind is Kind.NUMBER or (piece.kind is Kind.TEXT and (not piece.text or _NUMBER.fullmatch(piece.text)))
        for piece in value.pieces
    )

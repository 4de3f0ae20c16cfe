"""Globs: ``*``, ``?``, ``[a-z]`` within a name, ``**`` for any number of folders, ``{a,b}`` for either.

Patterns and names may come from an adversary, so matching takes time in proportion to their lengths: a star never gives
back what it took, and folders are matched step by step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amplifier_module_tool_search.problems import InputError

MOST_ALTERNATIVES = 256
_STARS = re.compile(r"\*+")


class GlobError(InputError):
    """A text is no glob."""


@dataclass(frozen=True, slots=True)
class PathGlob:
    """A glob for paths, as the globs of their names; ``None`` stands for any number of folders."""

    names: tuple[re.Pattern[str] | None, ...]

    @classmethod
    def from_text(cls, text: str) -> PathGlob:
        """The glob that ``text`` is, relative to wherever the paths start; braces stand for themselves."""
        parts = [part for part in text.split("/") if part not in ("", ".")]
        names = [None if part == "**" else name_glob(part) for part in parts]
        return cls(
            tuple(each for i, each in enumerate(names) if each is not None or i == 0 or names[i - 1] is not None)
        )

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether it matches a path, given as its names; ``**`` at the end wants one name at least."""
        if len(self.names) == 2 and self.names[0] is None and self.names[1] is not None:
            return self.names[1].fullmatch(parts[-1]) is not None
        reached = {0}
        for part in parts:
            reached = self._after(part, reached)
        return len(self.names) in reached

    def _after(self, part: str, reached: set[int]) -> set[int]:
        """Which counts of own names can stand for the path one name further."""
        following: set[int] = set()
        for i in reached:
            following |= self._steps(part, i)
        return following

    def _steps(self, part: str, i: int) -> set[int]:
        if i == len(self.names):
            return set()
        name = self.names[i]
        if name is not None:
            return {i + 1} if name.fullmatch(part) else set()
        is_last = i + 1 == len(self.names)
        return {i} | ({i + 1} if is_last else self._steps(part, i + 1))


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Globs as a search takes them to narrow its files: one without a slash is for names in any folder.

    ``!`` in front leaves out what matches; the last glob that matches decides.
    """

    globs: tuple[tuple[PathGlob, bool], ...]
    """Each with whether it takes in."""

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> FileFilter:
        """The filter for what a model or a user wrote."""
        globs: list[tuple[PathGlob, bool]] = []
        for text in texts:
            takes_in = not text.startswith("!")
            globs += [(anywhere(each), takes_in) for each in with_braces(text.removeprefix("!"))]
        return cls(tuple(globs))

    def takes(self, parts: Sequence[str]) -> bool:
        """Whether the file is one to search."""
        for glob, takes_in in reversed(self.globs):
            if glob.matches(parts):
                return takes_in
        return not any(takes_in for _, takes_in in self.globs)


def anywhere(text: str) -> PathGlob:
    """The glob for ``text``: in any folder if it is one name, else from where the paths start."""
    return PathGlob.from_text(text if "/" in text.rstrip("/") else f"**/{text}")


def with_braces(text: str) -> list[str]:
    """The texts that ``{a,b}`` in ``text`` stands for; without a comma or an end, a brace is a character."""
    if "{" not in text:
        return [text]
    done: list[str] = []
    waiting = [text]
    while waiting:
        each = waiting.pop(0)
        found = _first_braces(each)
        if found is None:
            done.append(each)
        else:
            begin, end, choices = found
            waiting[:0] = [each[:begin] + choice + each[end:] for choice in choices]
        if len(done) + len(waiting) > MOST_ALTERNATIVES:
            raise GlobError(f"{text[:100]!r} stands for more than {MOST_ALTERNATIVES} globs. Use fewer braces.")
    return done


def name_glob(text: str) -> re.Pattern[str]:
    """Matches the names that one glob without slashes stands for; raises ``GlobError`` for a ``[`` without its end."""
    pieces = [_fixed(piece) for piece in _split_at_stars(text)]
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    # The first place where a piece fits is as good as any later one, so nothing is tried twice.
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL)


def _split_at_stars(text: str) -> list[str]:
    pieces: list[str] = []
    begin = i = 0
    while i < len(text):
        if text[i] == "*":
            pieces.append(text[begin:i])
            i = begin = _STARS.match(text, i).end()  # pyright: ignore[reportOptionalMemberAccess]
        else:
            i = _end_of_class(text, i) if text[i] == "[" else i + (2 if text[i] == "\\" else 1)
    return [*pieces, text[begin:]]


def _fixed(piece: str) -> str:
    """The pattern for a piece without stars: as many characters as it has, whatever they are."""
    out, i = "", 0
    while i < len(piece):
        character = piece[i]
        if character == "[":
            end = _end_of_class(piece, i)
            out += _class(piece[i + 1 : end - 1])
            i = end
        elif character == "\\":
            out += re.escape(piece[i + 1 : i + 2] or "\\")
            i += 2
        else:
            out += "." if character == "?" else re.escape(character)
            i += 1
    return out


def _end_of_class(text: str, begin: int) -> int:
    i = begin + 1
    i += text[i : i + 1] in ("!", "^")
    i += text[i : i + 1] == "]"
    while i < len(text) and text[i] != "]":
        i += 2 if text[i] == "\\" else 1
    if i >= len(text):
        raise GlobError(f"{text[:100]!r} is no glob: a '[' has no ']'. Write '[[]' for the character.")
    return i + 1


def _class(inside: str) -> str:
    is_negated = inside[0] in "!^"
    characters = [each[-1] for each in re.findall(r"\\.|.", inside[is_negated:], re.DOTALL)]
    ranges: list[tuple[str, str]] = []
    i = 0
    while i < len(characters):
        is_range = i + 2 < len(characters) and characters[i + 1] == "-"
        ranges.append((characters[i], characters[i + 2] if is_range else characters[i]))
        i += 3 if is_range else 1
    allowed = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in ranges if low <= high)
    if not allowed:
        return "." if is_negated else "(?!.)."
    return f"[{'^' if is_negated else ''}{allowed}]"


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Begin and end of the first braces with a comma between them, and what they offer."""
    begin = text.find("{")
    while begin >= 0:
        choices = _choices(text, begin)
        if choices is not None and len(choices[1]) > 1:
            return begin, *choices
        begin = text.find("{", begin + 1)
    return None


def _choices(text: str, begin: int) -> tuple[int, list[str]] | None:
    depth, choices, last = 0, [""], begin + 1
    for i in range(begin + 1, len(text)):
        if text[i] == "," and depth == 0:
            choices[-1] = text[last:i]
            choices.append("")
            last = i + 1
        elif text[i] == "}" and depth == 0:
            choices[-1] = text[last:i]
            return i + 1, choices
        else:
            depth += (text[i] == "{") - (text[i] == "}")
    return None

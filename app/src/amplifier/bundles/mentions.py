"""Mentions: ``@namespace:path`` and ``@path`` in a text bring the file they name into the prompt.

A text reaches what belongs to it and nothing else: files below the folder that a namespace stands for, and below the
folders the text itself names as its roots (its bundle, the project). Links are followed first and judged then. A path
that leads elsewhere, or through a hidden folder, is refused; only the user's own instructions may name any file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MAX_FILE_BYTES = 128 << 10
MAX_TOTAL_BYTES = 512 << 10
MAX_FILES = 50
MAX_DEPTH = 5

_TOTAL = f"{MAX_TOTAL_BYTES >> 10} KiB"
_CODE = re.compile(r"^(?P<fence>`{3,}+|~{3,}+)[^\n]*\n.*?(?:^(?P=fence)[^\n]*$|\Z)|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_MENTION = re.compile(r"(?<![\w@/.:])@(?P<target>(?:[A-Za-z][\w-]*:)?[\w~./-]*[\w/])")
_NAMESPACED = re.compile(r"([A-Za-z][\w-]*):(.+)")
_TEXT_SUFFIXES = {".md", ".txt", ".rst", ".yaml", ".yml", ".json", ".toml", ".py", ".ini", ".cfg"}
_HIDDEN_BUT_MEANT = {".amplifier", ".claude", ".agents", ".github"}


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that may mention files: where it stands, and which folders its mentions may lead to."""

    text: str
    file: Path
    line: int
    roots: tuple[Path, ...]
    is_own: bool = False
    """Whether the user has written it, so that it may mention any file."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention: what stands behind the ``@``, and its line in the text, counted from 0."""

    target: str
    line: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A mentioned file that was read."""

    name: str
    passage: Passage


@dataclass(slots=True)
class Reader:
    """Reads the files that texts mention: each once, as many as the limits allow, and says what it leaves out."""

    namespaces: Mapping[str, Path]
    warnings: list[str] = field(default_factory=list[str])
    _seen: set[Path] = field(default_factory=set[Path])
    _bytes: int = 0

    def read_all(self, passage: Passage) -> list[Reading]:
        """The files that ``passage`` mentions and those that they mention, nearest first."""
        readings: list[Reading] = []
        layer = [passage]
        for _ in range(MAX_DEPTH):
            found = [reading for each in layer for reading in self._read_mentioned(each)]
            readings += found
            layer = [reading.passage for reading in found]
        left_out = [mention for each in layer for mention in mentions_in(each.text) if self._finds(mention, each)]
        if left_out:
            self.warnings.append(f"{passage.file}: mentions deeper than {MAX_DEPTH} files are not read")
        return readings

    def read_file(self, file: Path, roots: tuple[Path, ...], *, is_own: bool = False) -> Passage | None:
        """The text of ``file``, or ``None`` if it was read before or a limit is reached."""
        real = file.resolve()
        if real in self._seen:
            return None
        self._seen.add(real)
        if len(self._seen) > MAX_FILES or self._bytes >= MAX_TOTAL_BYTES:
            self.warnings.append(f"{file}: is left out of the prompt, which has {MAX_FILES} files or {_TOTAL} already")
            return None
        content = self._content(real, file)
        return None if content is None else Passage(content, file, 1, roots, is_own)

    def _content(self, real: Path, file: Path) -> str | None:
        try:
            with real.open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            self.warnings.append(f"{file}: cannot be read for the prompt: {error.strerror}")
            return None
        if b"\0" in content:
            self.warnings.append(f"{file}: is no text, and left out of the prompt")
            return None
        if len(content) > MAX_FILE_BYTES:
            self.warnings.append(f"{file}: only its first {MAX_FILE_BYTES >> 10} KiB are in the prompt")
            content = content[:MAX_FILE_BYTES]
        self._bytes += len(content)
        return content.decode("utf-8", "replace").removeprefix("\ufeff").strip()

    def _read_mentioned(self, passage: Passage) -> Iterator[Reading]:
        for mention in mentions_in(passage.text):
            place = f"{passage.file}:{passage.line + mention.line}"
            try:
                found = locate(mention.target, passage, self.namespaces)
            except LookupError as error:
                self.warnings.append(f"{place}: @{mention.target} is not read: {error.args[0]}")
                continue
            if found is not None:
                file, roots = found
                # What the user has written may name any file, but that file may not name others in the user's name.
                is_own = passage.is_own and _is_below(file.resolve(), roots)
                text = self.read_file(file, roots if is_own or not passage.is_own else (file.parent,), is_own=is_own)
                if text is not None:
                    yield Reading(mention.target, text)

    def _finds(self, mention: Mention, passage: Passage) -> bool:
        try:
            found = locate(mention.target, passage, self.namespaces)
        except LookupError:
            return False
        return found is not None and found[0].resolve() not in self._seen


def mentions_in(text: str) -> list[Mention]:
    """The mentions in ``text``, in order; what stands in code is none, nor is a mail address or a decorator."""
    plain = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    found = (Mention(each["target"], plain.count("\n", 0, each.start())) for each in _MENTION.finditer(plain))
    return [mention for mention in found if _looks_like_file(mention.target)]


def _looks_like_file(target: str) -> bool:
    return ":" in target or "/" in target or Path(target).suffix in _TEXT_SUFFIXES


def locate(target: str, passage: Passage, namespaces: Mapping[str, Path]) -> tuple[Path, tuple[Path, ...]] | None:
    """The file that a mention in ``passage`` names, and the roots that its own text has.

    ``None`` if it is no mention after all; raises ``LookupError`` that says why a file is missing or refused.
    """
    named = _NAMESPACED.fullmatch(target)
    if named is not None:
        root = namespaces.get(named[1])
        if root is None:
            raise LookupError(f"there is no namespace '{named[1]}' (known: {', '.join(sorted(namespaces)) or 'none'})")
        return _within(root / named[2], (root,), target), (root, *passage.roots)
    path = Path(target).expanduser()
    if passage.is_own:
        file = passage.file.parent / path
        return (file, passage.roots) if file.is_file() else _missing(target)
    starts = (passage.file.parent, *passage.roots)
    file = next((start / path for start in starts if (start / path).is_file()), None)
    if file is None:
        return _missing(target)
    return _within(file, passage.roots, target), passage.roots


def _missing(target: str) -> None:
    # Without the ending of a text it is more likely the name of a package or a team than that of a file.
    if Path(target).suffix in _TEXT_SUFFIXES:
        raise LookupError("there is no such file")


def _within(file: Path, roots: tuple[Path, ...], target: str) -> Path:
    """``file``, if it is a file below one of ``roots`` and in no hidden folder."""
    real = file.resolve()
    root = next((root.resolve() for root in roots if _is_below(real, (root,))), None)
    if root is None:
        raise LookupError(f"it leads out of {', '.join(map(str, roots))}")
    if any(part.startswith(".") and part not in _HIDDEN_BUT_MEANT for part in real.relative_to(root).parts):
        raise LookupError("hidden files are not for prompts")
    if not real.is_file():
        raise LookupError("there is no such file")
    return file


def _is_below(real: Path, roots: tuple[Path, ...]) -> bool:
    return any(real.is_relative_to(root.resolve()) for root in roots)

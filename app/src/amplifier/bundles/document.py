"""A file of a bundle or an agent as text and data: YAML, or Markdown whose front matter is YAML, with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from amplifier.problems import BundleProblem, SettingsProblem
from amplifier.settings.key_paths import KeyPath
from amplifier.settings.origins import Origin
from amplifier.settings.yaml_text import parse_yaml

MAX_BYTES = 1 << 20
YAML_SUFFIXES = (".yaml", ".yml")

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One file that was read: its data, where each value stands, and the Markdown below the front matter."""

    file: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]
    body: str = ""
    body_line: int = 1

    def line_of(self, path: KeyPath) -> int:
        """The line of a value, or of the nearest value around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1

    def place(self, path: KeyPath) -> str:
        """A value's file and line, as editors and people write it."""
        return f"{self.file}:{self.line_of(path)}"

    def problem(self, path: KeyPath, told: str, hint: str = "") -> BundleProblem:
        """What to raise about a value of this file."""
        return BundleProblem(f"{self.place(path)}: {told}", hint)

    def origin(self, path: KeyPath, scope: str) -> Origin:
        """Where a value comes from, for those who ask later."""
        return Origin(scope, self.file, self.line_of(path))


def read_document(file: Path) -> Document:
    """The document in ``file``; raises ``BundleProblem``, which names the file and, where it can, the line."""
    return parse_document(_text_of(file), file)


def parse_document(text: str, file: Path) -> Document:
    """The document that ``text``, the content of ``file``, is."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if file.suffix.lower() in YAML_SUFFIXES:
        return _with_data(plain, 1, file, "", 1)
    start = _FENCE.match(plain)
    if start is None:
        return Document(file, {}, {}, plain.strip(), 1)
    end = _FENCE.search(plain, start.end())
    if end is None:
        raise BundleProblem(
            f"{file}:1: the front matter that begins here does not end", "Put a line '---' between it and the text."
        )
    body = plain[end.end() :]
    body_line = plain.count("\n", 0, end.end()) + 1 + _blank_lines(body)
    return _with_data(plain[start.end() + 1 : end.start()], 2, file, body.strip(), body_line)


def _with_data(text: str, first_line: int, file: Path, body: str, body_line: int) -> Document:
    try:
        # Empty lines in front make the lines of the text those of the file.
        found = parse_yaml("\n" * (first_line - 1) + text, str(file))
    except SettingsProblem as problem:
        raise BundleProblem(problem.message, "Mend the line; texts with ': ' or a leading '@' need quotes.") from None
    value: object = {} if found.value is None else found.value
    if not isinstance(value, dict):
        raise BundleProblem(f"{file}:{first_line}: expected a mapping of keys, got {type_name(value)}")
    return Document(file, cast("dict[str, Any]", value), found.lines, body, body_line)


def _blank_lines(body: str) -> int:
    return body[: len(body) - len(body.lstrip())].count("\n")


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BundleProblem(f"{file}: cannot be read: {error.strerror}", "Give the path of a readable file.") from error
    if len(content) > MAX_BYTES:
        raise BundleProblem(f"{file}: is larger than {MAX_BYTES >> 20} MiB, the most that a bundle may have")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BundleProblem(f"{file}:{line}: is no UTF-8 text", "Save the file in UTF-8.") from error


def dotted(path: KeyPath) -> str:
    """A path as people write it: ``tools[0].config.timeout``."""
    text = ""
    for part in path:
        text += f"[{part}]" if part.isdecimal() else f".{part}" if text else part
    return text


_TYPES: dict[type, str] = {
    dict: "a mapping",
    list: "a list",
    str: "a text",
    bool: "true or false",
    type(None): "nothing",
}


def type_name(value: object) -> str:
    """What a value is, in the words of YAML."""
    return _TYPES.get(type(value), f"{value!r:.40}")

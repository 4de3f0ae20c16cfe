"""Reads unified diffs, as ``diff -u`` and ``git diff`` write them: files changed, made, removed and renamed."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from amplifier_module_tool_filesystem.patches import FilePatch, Hunk
from amplifier_module_tool_filesystem.problems import PatchError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")
_GIT = re.compile(r'diff --git (?:a/(.+) b/\1|"a/(.+)" "b/\2")')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NOWHERE = "/dev/null"
_REFUSED = {
    "copy from ": "copies are not supported; add the file instead",
    "GIT binary patch": "binary patches are not supported",
    "Binary files ": "binary patches are not supported",
}
_IGNORED = ("index ", "similarity index ", "dissimilarity index ", "old mode ")
_MODES = {"100644": 0o644, "100755": 0o755}
_NO_NEWLINE = "\\ "


@dataclass(slots=True)
class _Header:
    """What stands before the hunks of a file."""

    git_path: str | None = None
    old: str | None = None
    new: str | None = None
    is_new: bool = False
    is_deleted: bool = False
    renamed_from: str | None = None
    renamed_to: str | None = None
    mode: int | None = None
    hunks: list[Hunk] = field(default_factory=list[Hunk])


def read_unified_diff(text: str) -> list[FilePatch]:
    """The files of a diff; raises ``PatchError`` with the number of the line that cannot be understood."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        self._lines = deque(enumerate(lines, 1))

    def read(self) -> list[FilePatch]:
        """All files; what stands before the first is taken for a letter that goes with it."""
        while self._lines and not self._is_at_file():
            self._lines.popleft()
        files: list[FilePatch] = []
        while self._lines and not self._is_at_signature():
            files.append(_file_patch(self._file()))
        return files

    def _file(self) -> _Header:
        header = _Header()
        if self._peek().startswith("diff --git "):
            found = _GIT.fullmatch(self._lines.popleft()[1])
            header.git_path = None if found is None else _unquoted(found[1] or f'"{found[2]}"')
            while self._lines and self._take_git_line(header):
                pass
        if self._is_at_names():
            header.old = _name(self._lines.popleft()[1])
            header.new = _name(self._lines.popleft()[1])
        while self._lines and self._peek().startswith("@@"):
            header.hunks.append(self._hunk())
        self._require_end_of_file()
        return header

    def _take_git_line(self, header: _Header) -> bool:
        """Takes one line of what git says about a file; false if it is none."""
        number, line = self._lines[0]
        for begin, why in _REFUSED.items():
            if line.startswith(begin):
                raise PatchError(f"Line {number} of the patch: {why}.")
        key, _, value = line.rpartition(" ")
        if key in ("new file mode", "deleted file mode", "new mode"):
            header.mode = _mode(value, number)
            header.is_new |= key == "new file mode"
            header.is_deleted |= key == "deleted file mode"
        elif line.startswith("rename from "):
            header.renamed_from = _unquoted(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            header.renamed_to = _unquoted(line.removeprefix("rename to "))
        elif not line.startswith(_IGNORED):
            return False
        self._lines.popleft()
        return True

    def _hunk(self) -> Hunk:
        number, header = self._lines.popleft()
        found = _HUNK.fullmatch(header)
        if found is None:
            raise PatchError(
                f"Line {number} of the patch cannot be understood: {header[:200]!r}. Expected '@@ -1,2 +1,2 @@'."
            )
        old_left, new_left = int(found[2] or 1), int(found[4] or 1)
        lines: list[tuple[str, str]] = []
        is_bare = False
        while self._lines and self._is_in_hunk(old_left > 0 or new_left > 0):
            line = self._lines.popleft()[1]
            if line.startswith(_NO_NEWLINE):
                is_bare = bool(lines) and lines[-1][0] != "-"
                continue
            sign, text = (line[0], line[1:]) if line else (" ", "")
            lines.append((sign, text))
            old_left -= sign != "+"
            new_left -= sign != "-"
        # A hunk that only adds tells the line after which it does so.
        start = int(found[1]) + (found[2] == "0")
        return Hunk(header, tuple(lines), start, ends_without_newline=is_bare)

    def _is_in_hunk(self, is_wanted: bool) -> bool:
        """Whether the next line belongs to a hunk; models miscount, so it is asked for as long as it looks like one."""
        line = self._peek()
        if line == "":
            return is_wanted
        return line[0] in " +-\\" and (is_wanted or not (self._is_at_names() or self._is_at_signature()))

    def _require_end_of_file(self) -> None:
        while self._lines and not self._peek().strip():
            self._lines.popleft()
        if self._lines and not self._is_at_file() and not self._is_at_signature():
            number, line = self._lines[0]
            raise PatchError(
                f"Line {number} of the patch cannot be understood: {line[:200]!r}. Expected a line with ' ', '+' or "
                "'-' in front, '@@', or the next file."
            )

    def _is_at_file(self) -> bool:
        return self._peek().startswith("diff --git ") or self._is_at_names()

    def _is_at_names(self) -> bool:
        return len(self._lines) > 1 and self._lines[0][1].startswith("--- ") and self._lines[1][1].startswith("+++ ")

    def _is_at_signature(self) -> bool:
        return self._peek().rstrip() == "--"

    def _peek(self) -> str:
        return self._lines[0][1]


def _file_patch(header: _Header) -> FilePatch:
    old, new = _without_prefixes(header.old, header.new)
    hunks = tuple(header.hunks)
    path = _require_path(
        next((name for name in (new, old, header.git_path) if name and name != _NOWHERE), None), header
    )
    if header.is_new or old == _NOWHERE:
        return FilePatch("add", path, hunks, mode=header.mode)
    if header.is_deleted or new == _NOWHERE:
        return FilePatch("delete", path, hunks)
    if header.renamed_from is not None and header.renamed_to is not None:
        return FilePatch("update", header.renamed_from, hunks, header.renamed_to, header.mode)
    if not hunks and header.mode is None:
        raise PatchError(f"The patch names {path} and does not say what to change there.")
    return FilePatch("update", path, hunks, mode=header.mode)


def _require_path(path: str | None, header: _Header) -> str:
    path = path or header.renamed_to
    if path is None:
        raise PatchError("The patch has a part that names no file. Each needs '--- a/path' and '+++ b/path'.")
    return path


def _without_prefixes(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Both names without the ``a/`` and ``b/`` that git puts in front, if all that are names have them."""
    named = [(name, prefix) for name, prefix in ((old, "a/"), (new, "b/")) if name and name != _NOWHERE]
    if all(name.startswith(prefix) for name, prefix in named):
        return old and old.removeprefix("a/"), new and new.removeprefix("b/")
    return old, new


def _name(line: str) -> str:
    """The name in a line that begins with ``---`` or ``+++``; a tab and a time may follow."""
    return _unquoted(line[4:].partition("\t")[0].rstrip())


def _unquoted(name: str) -> str:
    """The name that git has put into quotes for the sake of a strange character."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    data = b"".join(_pieces(name[1:-1]))
    return data.decode("utf-8", "surrogateescape")


def _pieces(text: str) -> Iterator[bytes]:
    after = 0
    for found in _ESCAPE.finditer(text):
        yield text[after : found.start()].encode()
        escaped = found[1]
        yield bytes([int(escaped, 8) & 0xFF]) if len(escaped) == 3 else _ESCAPED.get(escaped, escaped).encode()
        after = found.end()
    yield text[after:].encode()


def _mode(value: str, number: int) -> int:
    mode = _MODES.get(value)
    if mode is None:
        raise PatchError(
            f"Line {number} of the patch has the mode {value[:20]!r}; only 100644 and 100755 are supported."
        )
    return mode

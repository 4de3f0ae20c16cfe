"""Reads patches in the form that agents use among themselves: ``*** Begin Patch`` … ``*** End Patch``."""

from __future__ import annotations

from collections import deque

from amplifier_module_tool_filesystem.patches import FilePatch, Hunk
from amplifier_module_tool_filesystem.problems import PatchError

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_ADD = "*** Add File: "
_DELETE = "*** Delete File: "
_UPDATE = "*** Update File: "
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"
# A line without anything: an empty line that stays, whose blank in front was lost.
_BLANK = (" ", "")


def read_begin_patch(text: str) -> list[FilePatch]:
    """The files of a patch; raises ``PatchError`` with the number of the line that cannot be understood."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        lines = [line.removesuffix("\r") for line in text.strip("\n").split("\n")]
        self._lines = deque(enumerate(lines, 1))

    def read(self) -> list[FilePatch]:
        """All files, up to the end that must be there: a patch that was cut off is none."""
        self._take()
        files: list[FilePatch] = []
        while True:
            number, line = self._take()
            if line.rstrip() == _END:
                self._require_nothing_more()
                return files
            if line.strip():
                files.append(self._file(number, line))

    def _file(self, number: int, line: str) -> FilePatch:
        if line.startswith(_ADD):
            return FilePatch("add", _path(line, _ADD, number), (self._added(),))
        if line.startswith(_DELETE):
            return FilePatch("delete", _path(line, _DELETE, number))
        if line.startswith(_UPDATE):
            return self._updated(_path(line, _UPDATE, number))
        raise _unexpected(number, line, f"'{_ADD}…', '{_UPDATE}…', '{_DELETE}…' or '{_END}'")

    def _added(self) -> Hunk:
        lines: list[tuple[str, str]] = []
        while not self._peek().startswith("*** "):
            number, line = self._take()
            if not line and self._is_at_next_file():
                break
            if not line.startswith("+"):
                raise _unexpected(number, line, "a line of the new file, with '+' in front")
            lines.append(("+", line[1:]))
        return Hunk("new file", tuple(lines))

    def _updated(self, path: str) -> FilePatch:
        new_path = None
        if self._peek().startswith(_MOVE):
            number, line = self._take()
            new_path = _path(line, _MOVE, number)
        hunks: list[Hunk] = []
        while not self._is_at_next_file():
            hunks.append(self._hunk())
        if not hunks and new_path is None:
            raise PatchError(f"The patch says to update {path} and not how. Add the lines to change.")
        return FilePatch("update", path, tuple(hunks), new_path)

    def _hunk(self) -> Hunk:
        anchors: list[str] = []
        while self._peek().startswith("@@"):
            _, line = self._take()
            anchors.append(line[2:].strip())
        lines: list[tuple[str, str]] = []
        while not self._peek().startswith(("@@", "*** ")):
            number, line = self._take()
            if line and line[0] not in " +-":
                raise _unexpected(number, line, "a line with ' ', '+' or '-' in front, or '@@'")
            lines.append((line[0], line[1:]) if line else _BLANK)
        while lines and lines[-1] is _BLANK:
            lines.pop()  # it parts one thing from the next, and the hunk fits without it as well
        is_at_end = self._peek().rstrip() == _END_OF_FILE
        while is_at_end and (not self._peek() or self._peek().rstrip() == _END_OF_FILE):
            self._take()
        named = tuple(anchor for anchor in anchors if anchor)
        if not lines:
            raise PatchError(
                f"The patch has a hunk without lines ('@@ {' @@ '.join(named)}'). Add the lines to change."
            )
        return Hunk(f"@@ {' @@ '.join(named)}".rstrip(), tuple(lines), anchors=named, is_at_end=is_at_end)

    def _is_at_next_file(self) -> bool:
        return self._peek().startswith("*** ")

    def _peek(self) -> str:
        if not self._lines:
            raise PatchError(f"The patch ends without '{_END}', so it may have been cut off. Send all of it.")
        return self._lines[0][1]

    def _take(self) -> tuple[int, str]:
        self._peek()
        return self._lines.popleft()

    def _require_nothing_more(self) -> None:
        rest = [(number, line) for number, line in self._lines if line.strip()]
        if rest:
            raise _unexpected(*rest[0], f"nothing after '{_END}'")


def _path(line: str, prefix: str, number: int) -> str:
    path = line.removeprefix(prefix).strip()
    if not path:
        raise _unexpected(number, line, "the path of a file")
    return path


def _unexpected(number: int, line: str, expected: str) -> PatchError:
    return PatchError(f"Line {number} of the patch cannot be understood: {line[:200]!r}. Expected {expected}.")

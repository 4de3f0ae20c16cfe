"""Some lines of a file, with their numbers: of a small file by reading it whole, of a large one without.

A large file is read from its beginning up to the lines that are wanted, or backwards from its end; how many lines it
has is told only if its end was reached.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from amplifier_module_tool_filesystem.texts import TextForm

MOST_LINE_CHARS = 2000
"""What is shown of one line."""

_CHUNK_BYTES = 1 << 20
# A single line may be as long as the file; from here on the rest of it is not looked at.
_MOST_BYTES_OF_SLICE = 32 << 20
_WIDEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive lines of a file, each cut to what is shown."""

    lines: list[str]
    first: int
    """The number of the first of them, from 1; negative if it was counted from an end that is far away."""
    total: int | None
    """How many the file has, if that is known."""
    has_more: bool
    """Whether lines follow."""
    bytes_read: int
    estimate: int | None = None
    """About how many lines the file has, by those that were seen."""


def slice_of_text(text: str, offset: int, limit: int) -> Slice:
    """The lines from number ``offset`` on; a negative one counts from the end, where the last line is -1."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    first = max(1, len(lines) + offset + 1 if offset < 0 else offset)
    chosen = [cut(line) for line in lines[first - 1 : first - 1 + limit]]
    return Slice(chosen, first, len(lines), first - 1 + limit < len(lines), 0)


def slice_of_stream(stream: BinaryIO, size: int, form: TextForm, offset: int, limit: int) -> Slice:
    """The same for a file that is too large to be read whole."""
    if offset < 0:
        return _from_end(stream, size, form, -offset, limit)
    stream.seek(len(form.bom))
    reader = _ForwardReader(stream, form)
    reader.skip(max(1, offset) - 1)
    return reader.take(max(1, offset), limit, size)


def cut(line: str, length: int | None = None) -> str:
    """The line without its carriage return, as much of it as is shown; ``length`` is the length of the whole line."""
    length = len(line) if length is None else length
    if length <= MOST_LINE_CHARS:
        return line.removesuffix("\r")
    return f"{line[:MOST_LINE_CHARS]}[... {length - MOST_LINE_CHARS:,} characters cut]"


class _ForwardReader:
    """Reads a text from its beginning, in pieces."""

    def __init__(self, stream: BinaryIO, form: TextForm) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(form.encoding)("replace")
        self._piece = ""
        self._at = 0
        self._lines_seen = 0
        # Of a text that ends without a newline, the last line is one nevertheless.
        self._is_inside_line = False
        self.bytes_read = 0

    def skip(self, count: int) -> None:
        """Goes on to the line after the next ``count``, or to the end."""
        while count > 0 and self._has_more():
            found = self._piece.count("\n", self._at)
            for _ in range(count if found >= count else 0):
                self._at = self._piece.index("\n", self._at) + 1
            self._is_inside_line = found < count and not self._piece.endswith("\n")
            if found < count:
                self._at = len(self._piece)
            self._lines_seen += min(found, count)
            count -= min(found, count)

    def take(self, first: int, limit: int, size: int) -> Slice:
        """The next ``limit`` lines; a line that does not end in time is the last."""
        lines: list[str] = []
        began = self.bytes_read
        is_at_end = True
        for line, is_whole in self._lines():
            lines.append(line)
            if len(lines) == limit or not is_whole or self.bytes_read - began > _MOST_BYTES_OF_SLICE:
                is_at_end = is_whole and not self._has_more()
                break
        seen = self._lines_seen + len(lines) + (self._is_inside_line and not lines)
        if is_at_end:
            return Slice(lines, first, seen, has_more=False, bytes_read=self.bytes_read)
        used = max(1, self.bytes_read - (len(self._piece) - self._at))
        return Slice(lines, first, None, True, self.bytes_read, max(seen, round(seen * size / used)))

    def _lines(self) -> Iterator[tuple[str, bool]]:
        """Each line, cut, and whether it was read to its end."""
        kept, length, began = "", 0, self.bytes_read
        while self._has_more():
            end = self._piece.find("\n", self._at)
            stop = len(self._piece) if end < 0 else end
            kept += self._piece[self._at : min(stop, self._at + MOST_LINE_CHARS + 1)]
            length += stop - self._at
            self._at = stop + (end >= 0)
            if end >= 0:
                yield cut(kept, length), True
                kept, length, began = "", 0, self.bytes_read
            elif self.bytes_read - began > _MOST_BYTES_OF_SLICE:
                yield cut(kept, length), False
        if length:
            yield cut(kept, length), True

    def _has_more(self) -> bool:
        """Whether there is text left; reads on if need be."""
        while self._at == len(self._piece):
            data = self._stream.read(_CHUNK_BYTES)
            self.bytes_read += len(data)
            self._piece, self._at = self._decoder.decode(data, final=not data), 0
            if not data:
                break
        return self._at < len(self._piece)


def _from_end(stream: BinaryIO, size: int, form: TextForm, count: int, limit: int) -> Slice:
    wanted = _CHUNK_BYTES // 16
    while True:
        start = max(len(form.bom), size - wanted)
        # Encodings with wide characters are read from the beginning of one.
        start -= (start - len(form.bom)) % _WIDEST_CHARACTER
        stream.seek(start)
        data = _read_exactly(stream, size - start)
        lines = data.decode(form.encoding, "replace").removesuffix("\n").split("\n") if data else []
        is_whole = start <= len(form.bom)
        if is_whole or len(lines) > count or wanted >= _MOST_BYTES_OF_SLICE:
            break
        wanted *= 4
    if not is_whole:
        # The first one begins before what was read; of a single endless line, some is better than nothing.
        lines = lines[1:] or lines
    chosen = lines[-count:]
    shown = [cut(line) for line in chosen[:limit]]
    first = len(lines) - len(chosen) + 1 if is_whole else -len(chosen)
    return Slice(shown, first, len(lines) if is_whole else None, len(chosen) > limit, len(data))


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    pieces: list[bytes] = []
    while count > 0 and (data := stream.read(min(count, _CHUNK_BYTES))):
        pieces.append(data)
        count -= len(data)
    return b"".join(pieces)

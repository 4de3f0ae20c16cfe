"""The content of a file that is to be changed: all of it, as text, in its own form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from amplifier_modkit.paths.policy import OpenFile
from amplifier_module_tool_filesystem.problems import EditError
from amplifier_module_tool_filesystem.texts import TextForm, decoded

MOST_BYTES = 64 << 20
"""Files up to this size can be edited."""

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as it was read."""

    data: bytes
    text: str
    form: TextForm
    is_text: bool = True
    """Whether it really is one: otherwise each character of ``text`` stands for a byte."""


def read_text_file(file: OpenFile) -> TextFile:
    """The whole of a text file; raises ``EditError`` for what is no text, or too large."""
    found = read_any_file(file)
    if not found.is_text:
        raise EditError(f"{file.path} is no text file, so it cannot be edited. Use a command that knows its format.")
    return found


def read_any_file(file: OpenFile) -> TextFile:
    """The whole of a file; raises ``EditError`` if it is too large."""
    size = file.facts.st_size
    if size > MOST_BYTES:
        raise EditError(
            f"{file.path} has {size:,} bytes, and {MOST_BYTES:,} are the most that can be edited. Use a command for it."
        )
    data = read_whole(file.stream)
    found = decoded(data)
    if found is None:
        return TextFile(data, data.decode("latin-1"), TextForm("latin-1"), is_text=False)
    return TextFile(data, *found)


def read_whole(stream: BinaryIO) -> bytes:
    """All that is left of an open file; it may have grown since it was looked at, but no further than to the limit."""
    pieces: list[bytes] = []
    room = MOST_BYTES + 1
    while room > 0 and (data := stream.read(min(room, _CHUNK_BYTES))):
        pieces.append(data)
        room -= len(data)
    return b"".join(pieces)

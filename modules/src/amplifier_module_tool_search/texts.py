"""What the bytes of a file are as text: the same for both engines, and for what is shown."""

from __future__ import annotations

import codecs

HEAD_BYTES = 8192
MOST_LINE_CHARS = 2000
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def content_of(data: bytes) -> bytes:
    """The text in UTF-8: a mark in front is left out, and one of UTF-16 tells how to read the rest."""
    encoding = _WIDE.get(data[:2])
    if encoding is not None:
        return data[2:].decode(encoding, "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


def is_binary(head: bytes) -> bool:
    """Whether a file that begins like this is no text: there is a NUL in it."""
    return b"\0" in content_of(head[:HEAD_BYTES])


def lines_of(content: bytes) -> list[bytes]:
    """The lines without their ends; a line end at the end of the text does not begin another."""
    lines = content.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def shown(line: bytes) -> str:
    """A line for a model to read: bytes that are no text are replaced, and what is too long is cut with a note."""
    text = line.decode("utf-8", "replace").removesuffix("\r")
    left_out = len(text) - MOST_LINE_CHARS
    return text if left_out <= 0 else f"{text[:MOST_LINE_CHARS]} [... {left_out:,} more characters in this line]"

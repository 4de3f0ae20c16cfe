"""Text as bytes on a disk: which encoding a file has, and how to write it back in the same form."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from amplifier_module_tool_filesystem.problems import EncodingError

HEAD_BYTES = 65_536
"""As much of a file is looked at to know what it is."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The longer marks first: one begins with the other.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\a\b\t\n\v\f\r\x1b"))
_MOST_CONTROLS = 0.02


@dataclass(frozen=True, slots=True)
class TextForm:
    """The encoding of a file, and the mark it begins with, if any."""

    encoding: str = "utf-8"
    bom: bytes = b""

    def decode(self, data: bytes) -> str:
        """The text of a whole file; raises ``UnicodeDecodeError`` if it is none after all."""
        return data[len(self.bom) :].decode(self.encoding)

    def encode(self, text: str) -> bytes:
        """The file for a text; raises ``EncodingError`` if it has a character that the encoding lacks."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            line = text.count("\n", 0, error.start) + 1
            raise EncodingError(
                f"The character U+{ord(character):04X} in line {line} cannot be written as {self.encoding}, so nothing "
                "was changed. Use another character; write_file makes a file UTF-8 where that is needed."
            ) from error


def form_of(head: bytes) -> TextForm | None:
    """The form of the text that begins with ``head``; ``None`` if it is no text.

    What is neither marked nor UTF-8 is taken for Latin-1, which keeps every byte.
    """
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return TextForm(encoding, bom)
    if b"\0" in head:
        return None
    if _is_utf8(head):
        return TextForm()
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return None if controls > _MOST_CONTROLS * len(head) else TextForm("latin-1")


def decoded(data: bytes) -> tuple[str, TextForm] | None:
    """The text of a whole file, and its form; ``None`` if it is no text.

    What begins as text of one form and does not go on so is taken for Latin-1 as well.
    """
    form = form_of(data[:HEAD_BYTES])
    if form is None:
        return None
    try:
        return form.decode(data), form
    except UnicodeDecodeError:
        return None if b"\0" in data else (data.decode("latin-1"), TextForm("latin-1"))


def newline_of(text: str) -> str:
    """How most lines of ``text`` end."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def in_form_of(text: str, former: str) -> str:
    """``text`` with lines that end as all of ``former`` do; one that has its own carriage returns is left alone."""
    is_crlf = "\r\n" in former and former.count("\r\n") == former.count("\n")
    return text.replace("\n", "\r\n") if is_crlf and "\r" not in text else text


def _is_utf8(head: bytes) -> bool:
    try:
        # The head may end in the middle of a character.
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return False
    return True

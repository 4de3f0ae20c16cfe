"""Text that somebody else wrote, made safe to show: nothing in it moves the cursor, and nothing in it is hidden."""

from __future__ import annotations

import re
import unicodedata

# Colours and the like: they have parameters and no text, so nobody can hide anything in them.
_COLOURS = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_TAB = "    "
_CONTROL_PICTURES = 0x2400
_DELETE = "\x7f"
_REPLACEMENT = "\ufffd"


def without_controls(text: str) -> str:
    r"""``text`` with ``\n`` as the only character that is not seen; all line ends become ``\n``, tabs spaces.

    Colours are taken out, and so are characters that reorder or join others. Any other control character is replaced by
    one that can be seen. Doing it twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _COLOURS.sub("", text)).replace("\t", _TAB)
    return "".join(map(_shown, text))


def on_one_line(text: str) -> str:
    """The same on one line: runs of white space become one space."""
    return " ".join(without_controls(text).split())


def _shown(char: str) -> str:
    if char == "\n" or char.isprintable():
        return char
    match unicodedata.category(char):
        case "Cf":
            return ""
        case "Zs":
            return " "
        case "Cc" if char < " ":
            return chr(_CONTROL_PICTURES + ord(char))
        case "Cc" if char == _DELETE:
            return "\u2421"
        case _:
            return _REPLACEMENT

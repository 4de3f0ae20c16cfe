"""Long texts made short: head and tail stay, and a note between them tells how much was left out."""

from __future__ import annotations

# The head says what something is, the tail how it ended; the head is worth more.
_HEAD_SHARE = 2 / 3
# No character takes more in UTF-8.
_MOST_BYTES_PER_CHAR = 4


def clip_chars(text: str, max_chars: int) -> str:
    """``text`` with at most ``max_chars`` characters, the note included.

    A limit that leaves no room gives the note alone; a text that is no longer than the note stays as it is.
    """
    if len(text) <= max_chars:
        return text
    head, tail = _kept(len(text), max_chars, "characters")
    note = _note(len(text) - head - tail, "characters")
    return text if len(text) <= len(note) else text[:head] + note + text[len(text) - tail :]


def clip_bytes(text: str, max_bytes: int) -> str:
    """``text`` with at most ``max_bytes`` bytes of UTF-8, the note included; no character is cut in two.

    A limit that leaves no room gives the note alone; a text that is no longer than the note stays as it is.
    """
    if len(text) * _MOST_BYTES_PER_CHAR <= max_bytes:
        return text
    # Lone surrogates are legal in a str; whoever sends the text settles what becomes of them.
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text
    head, tail = _kept(len(data), max_bytes, "bytes")
    begin, end = _boundary_before(data, head), _boundary_after(data, len(data) - tail)
    note = _note(end - begin, "bytes")
    if len(data) <= len(note):
        return text
    return data[:begin].decode("utf-8", "surrogatepass") + note + data[end:].decode("utf-8", "surrogatepass")


def byte_length(text: str) -> int:
    """The length of ``text`` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _kept(length: int, limit: int, unit: str) -> tuple[int, int]:
    """How much of the head and of the tail can stay, so that both and the note fit into ``limit``."""
    # The note for the whole length is the longest that can be needed.
    room = max(0, limit - len(_note(length, unit)))
    head = int(room * _HEAD_SHARE)
    return head, room - head


def _note(left_out: int, unit: str) -> str:
    return f"\n[... {left_out:,} {unit} left out ...]\n"


def _boundary_before(data: bytes, position: int) -> int:
    while _is_inside_character(data, position):
        position -= 1
    return position


def _boundary_after(data: bytes, position: int) -> int:
    while _is_inside_character(data, position):
        position += 1
    return position


def _is_inside_character(data: bytes, position: int) -> bool:
    return 0 < position < len(data) and data[position] & 0xC0 == 0x80

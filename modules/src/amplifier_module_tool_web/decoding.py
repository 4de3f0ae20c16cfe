"""Compressed bodies, unpacked piece by piece, so that whoever reads can stop before a small body has become a huge one.

Only what Python itself unpacks: servers are told so, and any other coding is an error and not taken for text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

from amplifier_module_tool_web.errors import BadContentError, shown

ACCEPTED = "gzip, deflate"
"""The codings, as a request names them."""

_PIECE_BYTES = 1 << 16
_GZIP, _ZLIB, _RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_BEGINNING = b"\x1f\x8b"


class Decoder(Protocol):
    """Unpacks one body; used once."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` unpack to, in pieces of bounded size, made as they are asked for."""
        ...

    def finish(self) -> None:
        """To be called at the end of the body; raises ``BadContentError`` if something is missing."""
        ...


def decoder_for(content_encoding: str | None) -> Decoder:
    """The decoder for a header ``Content-Encoding``; raises ``BadContentError`` for a coding that was not asked for."""
    codings = [each.strip().lower() for each in (content_encoding or "").split(",")]
    # One coding is what servers use; a pile of them is a bomb.
    match [each for each in codings if each not in ("", "identity")]:
        case []:
            return _Plain()
        case ["gzip" | "x-gzip"]:
            return _Zlib(_GZIP)
        case ["deflate"]:
            return _Zlib(_ZLIB)
        case others:
            raise BadContentError(
                f"The body is compressed as {shown(', '.join(others))!r}, though only {ACCEPTED} was asked for."
            )


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def finish(self) -> None:
        """Nothing can be missing."""


class _Zlib:
    def __init__(self, window: int) -> None:
        self._window = window
        self._unpacking = zlib.decompressobj(window)
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._has_begun and data:
            self._has_begun = True
            self._window = _actual_window(self._window, data)
            self._unpacking = zlib.decompressobj(self._window)
        while data:
            try:
                piece = self._unpacking.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise BadContentError(f"The body cannot be decompressed: {error}.") from error
            data = self._rest()
            if piece:
                yield piece

    def _rest(self) -> bytes:
        if not self._unpacking.eof:
            return self._unpacking.unconsumed_tail
        rest = self._unpacking.unused_data
        if self._window == _GZIP and rest.startswith(_GZIP_BEGINNING):
            # Several parts, one behind the other, are one body.
            self._unpacking = zlib.decompressobj(_GZIP)
            return rest
        return b""  # what follows the end belongs to nobody

    def finish(self) -> None:
        if self._has_begun and not self._unpacking.eof:
            raise BadContentError("The compressed body ends in the middle.")


def _actual_window(window: int, data: bytes) -> int:
    """Some servers take 'deflate' for the bare algorithm, without the two bytes in front that the standard asks for."""
    if window != _ZLIB:
        return window
    is_zlib = data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] << 8 | data[1]) % 31 == 0)
    return _ZLIB if is_zlib else _RAW

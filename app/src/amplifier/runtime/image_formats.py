"""Formats of images by their bytes: which one it is, how large the picture is, and whether the file is whole."""

from __future__ import annotations

import struct
from typing import NamedTuple

_PNG = b"\x89PNG\r\n\x1a\n"
_SEEN = (
    (_PNG, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# Beginnings that no text has.
_UNSEEN = (
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"8BPS\x00", "PSD"),
    (b"\x00\x00\x01\x00", "ICO"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
)
_BRANDS = {b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF", b"msf1": "HEIF", b"avif": "AVIF", b"avis": "AVIF"}
# Segments that begin the picture of a JPEG; those between them are tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_EXTENSION, _FRAME_OF_GIF, _END_OF_GIF = b"!,;"
_SCAN, _END_OF_JPEG = 0xDA, b"\xff\xd9"

HEAD_BYTES = 32
"""As much of a file as tells its format."""


class BrokenImageError(ValueError):
    """The bytes begin as an image does, and do not go on as one."""


class Picture(NamedTuple):
    """How large a picture is, in pixels."""

    width: int
    height: int


def media_type_of(head: bytes) -> str | None:
    """The format, if it is one that models see."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _SEEN if head.startswith(beginning)), None)


def unseen_format(head: bytes) -> str | None:
    """The name of a format of images that models do not see."""
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12])
    # Two letters could begin any text; the four zeros behind the size could not.
    if head[:2] == b"BM" and head[6:10] == b"\x00\x00\x00\x00":
        return "BMP"
    return next((name for beginning, name in _UNSEEN if head.startswith(beginning)), None)


def picture_in(data: bytes, media_type: str) -> Picture:
    """The picture in a file of that format; raises ``BrokenImageError`` where the file is cut off, or is none."""
    try:
        width, height = _READERS[media_type](data)
    except (struct.error, IndexError):
        raise BrokenImageError("it is cut off") from None
    if not width or not height:
        raise BrokenImageError("it has no pixels")
    return Picture(width, height)


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise BrokenImageError("it has no header")
    place = len(_PNG)
    while data[place + 4 : place + 8] != b"IEND":
        (length,) = struct.unpack_from(">I", data, place)
        place += length + 12
    if len(data) < place + 12:
        raise BrokenImageError("it is cut off")
    return struct.unpack_from(">II", data, 16)


def _gif(data: bytes) -> tuple[int, int]:
    place, frames = 13 + _palette_bytes(data[10]), 0
    # Many a file goes without the mark at its end, and is whole all the same.
    while (place < len(data) or not frames) and (mark := data[place]) != _END_OF_GIF:
        if mark == _EXTENSION:
            place += 2
        elif mark == _FRAME_OF_GIF:
            place += 11 + _palette_bytes(data[place + 9])
            frames += 1
        else:
            raise BrokenImageError("its parts do not follow each other")
        while data[place]:
            place += data[place] + 1
        place += 1
    return struct.unpack_from("<HH", data, 6)


def _palette_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _jpeg(data: bytes) -> tuple[int, int]:
    place, size = 2, (0, 0)
    while True:
        if data[place] != 0xFF:
            raise BrokenImageError("its parts do not follow each other")
        mark = data[place + 1]
        if mark == 0xFF or mark in _ALONE:
            place += 1 if mark == 0xFF else 2
            continue
        (length,) = struct.unpack_from(">H", data, place + 2)
        if mark in _FRAMES:
            height, width = struct.unpack_from(">HH", data, place + 5)
            size = (width, height)
        place += length + 2
        if mark == _SCAN:
            break
    if data.rfind(_END_OF_JPEG) < place:
        raise BrokenImageError("it is cut off")
    return size


def _webp(data: bytes) -> tuple[int, int]:
    (length,) = struct.unpack_from("<I", data, 4)
    if len(data) < length + 8:
        raise BrokenImageError("it is cut off")
    chunk = data[12:16]
    if chunk == b"VP8X":
        width, more_width, height, more_height = struct.unpack_from("<HBHB", data, 24)
        return (more_width << 16 | width) + 1, (more_height << 16 | height) + 1
    if chunk == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise BrokenImageError("it has no picture")


_READERS = {"image/png": _png, "image/gif": _gif, "image/jpeg": _jpeg, "image/webp": _webp}

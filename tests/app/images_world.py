"""Images for tests, made of bytes: small, real, and in every format that models see."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 4, height: int = 3, colour: bytes = b"\x10\x80\xf0") -> bytes:
    """A PNG of one colour."""
    pixels = (b"\x00" + colour * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def gif(width: int = 4, height: int = 3) -> bytes:
    """A GIF with one picture of one colour."""
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\x00\x00\x00\xff\xff\xff"
    return (
        b"GIF89a"
        + screen
        + b"!\xfe\x02hi\x00"
        + b","
        + struct.pack("<HHHHB", 0, 0, width, height, 0)
        + b"\x02\x02\x44\x01\x00;"
    )


def jpeg(width: int = 4, height: int = 3) -> bytes:
    """The parts of a JPEG as they follow each other: a comment, a filled mark, the frame, the scan, the end."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    parts = ((0xFE, b"made by a test"), (0xC0, frame), (0xDA, b"\x01\x01\x00\x00\x3f\x00"))
    marked = b"\xff".join(b"\xff" + bytes([mark]) + struct.pack(">H", len(data) + 2) + data for mark, data in parts)
    return b"\xff\xd8\xff\x01" + marked + b"\x12\x34" + b"\xff\xd9"


def webp(width: int = 4, height: int = 3, kind: bytes = b"VP8 ") -> bytes:
    """The beginning of a WebP of one of its three kinds."""
    if kind == b"VP8X":
        data = b"\x00" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        data = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        data = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
    inner = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

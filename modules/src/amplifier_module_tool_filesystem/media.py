"""What a file is, by its first bytes: a picture that a model can look at, or something that is only described."""

from __future__ import annotations

import base64

from amplifier_core.message_models import ImageBlock

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_KINDS = (
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive, or a document made of one"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "macOS program or library"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java class or macOS program"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"BM", "BMP image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"wOF2", "WOFF2 font"),
    (b"\x00asm", "WebAssembly module"),
)
_MP4 = slice(4, 8)
_WEBP = slice(8, 12)


def image_type_of(head: bytes) -> str | None:
    """The media type of an image that models can look at."""
    if head.startswith(b"RIFF") and head[_WEBP] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _IMAGES if head.startswith(magic)), None)


def kind_of(head: bytes) -> str:
    """What a file that is no text is, in words."""
    image_type = image_type_of(head)
    if image_type is not None:
        return image_type
    if head[_MP4] == b"ftyp":
        return "MP4 video, or a picture in such a container"
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "data of an unknown kind")


def image_block(data: bytes, media_type: str) -> ImageBlock:
    """The image as content for a model."""
    encoded = base64.b64encode(data).decode("ascii")
    return ImageBlock(source={"type": "base64", "media_type": media_type, "data": encoded})

"""What sort of content something is: by the type that the server declares, and by how it begins where that says little.

Pure; no library is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["html", "text", "pdf", "image", "binary"]

_PARAMETER = re.compile(r";\s*charset\s*=\s*[\"']?\s*([^\s;\"']+)", re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPES = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/ld+json",
        "application/ndjson",
        "application/sql",
        "application/toml",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
        "image/svg+xml",
    }
)
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")
_BINARY_FAMILIES = ("audio/", "font/", "video/", "model/")
_ARCHIVES = frozenset({"application/zip", "application/gzip", "application/x-tar", "application/x-7z-compressed"})
_IMAGE_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_HTML_BEGINNING = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_WIDE_BEGINNINGS = (b"\xff\xfe", b"\xfe\xff")
_SAMPLE_BYTES = 2048


@dataclass(frozen=True, slots=True)
class ContentType:
    """The declared type: ``media`` in lower case, empty if there is none that can be read."""

    media: str = ""
    charset: str | None = None

    @classmethod
    def from_header(cls, value: str | None) -> ContentType:
        """Reads the header ``Content-Type``."""
        media = (value or "").partition(";")[0].strip().lower()
        charset = _PARAMETER.search(value or "")
        return cls(media if _MEDIA_TYPE.fullmatch(media) else "", charset[1].lower() if charset else None)


def declared_kind(declared: ContentType) -> Kind | None:
    """The kind that the declared type alone decides, ``None`` if one has to look."""
    media = declared.media
    if media in _HTML_TYPES:
        return "html"
    if media == "application/pdf":
        return "pdf"
    if media in _TEXT_TYPES or media.startswith("text/") or media.endswith(_TEXT_ENDINGS):
        return "text"
    if media.startswith("image/"):
        return "image"
    return "binary" if media in _ARCHIVES or media.startswith(_BINARY_FAMILIES) else None


def kind_of(declared: ContentType, body: bytes) -> Kind:
    """The kind of a body, or of its beginning."""
    kind = declared_kind(declared)
    if kind == "text" and _is_binary(body, declared):
        return "binary"
    if kind is not None:
        return kind
    if body.startswith(b"%PDF-"):
        return "pdf"
    if image_type(body) is not None:
        return "image"
    if _HTML_BEGINNING.match(body[:_SAMPLE_BYTES]):
        return "html"
    return "binary" if _is_binary(body, declared) else "text"


def image_type(body: bytes) -> str | None:
    """The type of an image that models can look at, told by its first bytes."""
    if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        return "image/webp"
    return next((media for beginning, media in _IMAGE_BEGINNINGS if body.startswith(beginning)), None)


def _is_binary(body: bytes, declared: ContentType) -> bool:
    is_wide = body.startswith(_WIDE_BEGINNINGS) or (declared.charset or "").startswith(("utf-16", "utf-32"))
    return b"\0" in body[:_SAMPLE_BYTES] and not is_wide

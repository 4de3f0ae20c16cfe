"""What a tool result may carry as ``content``: text, and images as inline base64, nothing else.

Everything here works on plain data; blocks come in as dicts or models and go out as dicts of exactly the known keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.message_models import ImageBlock, TextBlock

_IMAGE_OMITTED = "[Image omitted from tool event; original retained for model request if unmodified.]"
_MEDIA_TYPE = re.compile(r"image/[a-z0-9][a-z0-9!#$&^_.+-]*")
# With a length that divides by four this is exactly padded base64, and it stays quick on megabytes.
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def normalize_content(content: object) -> list[dict[str, Any]] | None:
    """The blocks as dicts without unknown keys, ``None`` for no blocks; raises ``ValueError`` for anything else."""
    if content is None:
        return None
    if not isinstance(content, list):
        raise _invalid_content(f"expected a list of blocks, got {type(content).__name__}")
    return [_normalize_block(block) for block in cast("list[object]", content)] or None


def without_images(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Normalized blocks in which a line of text stands for each image."""
    return [_text_block(_IMAGE_OMITTED) if block["type"] == "image" else block for block in content]


def _normalize_block(block: object) -> dict[str, Any]:
    fields = _fields_of(block)
    kind = fields.get("type")
    if kind == "text" and isinstance(text := fields.get("text"), str):
        return _text_block(text)
    if kind == "image":
        return {"type": "image", "source": _normalize_source(fields.get("source"))}
    raise _invalid_content("a block must be text with a str 'text', or an image with a base64 'source'")


def _fields_of(block: object) -> Mapping[str, Any]:
    if isinstance(block, TextBlock | ImageBlock):
        return block.__dict__
    if isinstance(block, dict):
        return cast("dict[str, Any]", block)
    raise _invalid_content(f"expected a dict, TextBlock or ImageBlock, got {type(block).__name__}")


def _normalize_source(source: object) -> dict[str, str]:
    if not isinstance(source, dict) or cast("dict[str, Any]", source).get("type") != "base64":
        raise ValueError("invalid tool result image source: expected a dict with type 'base64'")
    fields = cast("dict[str, Any]", source)
    media_type, data = fields.get("media_type"), fields.get("data")
    if not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        raise ValueError("invalid tool result image media type: expected 'image/<subtype>' in lower case")
    if not isinstance(data, str) or len(data) % 4 or not _BASE64.fullmatch(data):
        raise ValueError("invalid tool result image data: expected padded base64 without white space")
    return {"type": "base64", "media_type": media_type, "data": data}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _invalid_content(why: str) -> ValueError:
    return ValueError(f"invalid tool result content: {why}")

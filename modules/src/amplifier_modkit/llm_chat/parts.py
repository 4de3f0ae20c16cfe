"""The parts of a message's content: blocks as this protocol writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from amplifier_core.message_models import Degradation
from amplifier_modkit.llm.blocks import OUR_KEYS, carried_in, output_text

VENDOR_NAME = "chat-completions"
"""Whose blocks those are that only this protocol knows."""

EXTRA = "chat"
"""The key under which a block keeps what only this protocol knows, for the way back."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put reasoning beside the content; which of the two is remembered with the block."""

IN_CONTENT = "content"
"""The field of reasoning that came as a part of the content."""

_PASSED_ON = frozenset({"image_url", "input_audio", "audio_url", "video_url", "file"})
_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})


def extra_of(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a block keeps for this protocol."""
    kept = block.get(EXTRA)
    return cast("Mapping[str, Any]", kept) if isinstance(kept, Mapping) else {}


def is_shown(block: Mapping[str, Any]) -> bool:
    """Whether a block shows something that is no text."""
    return block.get("type") == "image" or block.get("type") in _PASSED_ON


def to_parts(blocks: Iterable[Mapping[str, Any]], notes: list[Degradation]) -> list[dict[str, Any]]:
    """What a user may say, part by part; reasoning is nobody else's, and what has no form here becomes text."""
    return [_to_part(block, notes) for block in blocks if block.get("type") not in _REASONING]


def simplest(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Parts as plain text if that is all they are, since many servers read nothing else."""
    if all(part.keys() == {"type", "text"} and part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def image_url(block: Mapping[str, Any]) -> str | None:
    """Where the image of a block is, its bytes as a data URL; ``None`` if its source says neither."""
    found = block.get("source")
    if not isinstance(found, Mapping):
        return None
    source = cast("Mapping[str, Any]", found)
    if isinstance(source.get("data"), str):
        return f"data:{source.get('media_type') or 'image/png'};base64,{source['data']}"
    url = source.get("url")
    return url if isinstance(url, str) else None


def missing_image(notes: list[Degradation], reason: str) -> str:
    """What is said in the place of an image that cannot be sent."""
    notes.append(Degradation(requested="an image", actual="a note in its place", reason=reason))
    return "[an image that could not be sent]"


def _to_part(block: Mapping[str, Any], notes: list[Degradation]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "text":
        return carried_in(block, VENDOR_NAME) or {"type": "text", "text": output_text(block.get("text"))}
    if kind == "image":
        return _image_part(block, notes)
    given = {key: value for key, value in block.items() if value is not None and key not in OUR_KEYS}
    if kind in _PASSED_ON:
        return given
    notes.append(Degradation(requested=f"a block of type {kind!r}", actual="its JSON as text", reason="no such part"))
    return {"type": "text", "text": output_text(given)}


def _image_part(block: Mapping[str, Any], notes: list[Degradation]) -> dict[str, Any]:
    url = image_url(block)
    if url is None:
        return {"type": "text", "text": missing_image(notes, "its source has neither data nor a URL")}
    detail = block.get("detail")
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}

"""What servers answer, as results of our tools: text of bounded size, images as they are, everything else described.

Pure: the SDK's models are only read, by their attributes.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.plain_text import without_controls
from amplifier_module_tool_mcp.texts import description_of, name_line

# What providers take.
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MOST_IMAGE_CHARS = 7_000_000
_MOST_IMAGES = 20
_NOTHING = "(no content)"


@dataclass
class Answer:
    """What a server answered, piece by piece; made for one call."""

    max_chars: int
    """Characters of text that are kept."""
    blocks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    size_chars: int = 0
    _room: int = field(init=False)
    _images: int = 0
    _image_chars: int = 0

    def __post_init__(self) -> None:
        self._room = self.max_chars

    @property
    def is_truncated(self) -> bool:
        """Whether some of the text is left out."""
        return self.size_chars > self.max_chars

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return "\n".join(block["text"] for block in self.blocks if block["type"] == "text")

    @property
    def images(self) -> list[dict[str, Any]]:
        """The blocks that are images."""
        return [block for block in self.blocks if block["type"] == "image"]

    def add_all(self, contents: Iterable[Any]) -> None:
        """Adds blocks as the SDK has them."""
        for content in contents:
            self._add(content)

    def add_resource(self, contents: Any) -> None:
        """Adds the contents of a resource: its text under its address, or what it is."""
        head = f"[resource {name_line(str(contents.uri))}{_kind_of(contents)}]"
        text = getattr(contents, "text", None)
        if text is not None:
            self.add_text(f"{head}\n{text}")
        elif not self._add_image(contents.mime_type, contents.blob):
            self.add_text(f"{head} {_size_of(contents.blob)} of binary data, not shown")

    def add_text(self, text: str) -> None:
        """Adds text, as far as there is room."""
        self.size_chars += len(text)
        if self._room > 0:
            self.blocks.append({"type": "text", "text": clip_chars(text, self._room)})
        self._room -= len(text)

    def _add(self, content: Any) -> None:
        match content.type:
            case "text":
                self.add_text(content.text)
            case "image":
                if not self._add_image(content.mime_type, content.data):
                    self.add_text(f"[an image{_kind_of(content)}, {_size_of(content.data)}, cannot be shown]")
            case "audio":
                self.add_text(f"[audio{_kind_of(content)}, {_size_of(content.data)}, cannot be played]")
            case "resource":
                self.add_resource(content.resource)
            case _:
                self.add_text(_link(content))

    def _add_image(self, mime_type: str | None, data: str) -> bool:
        """Adds an image, unless it is none that can be shown, or there are too many."""
        kind = (mime_type or "").lower()
        if kind not in _IMAGES or self._images >= _MOST_IMAGES or not _is_base64(data):
            return False
        if self._image_chars + len(data) > _MOST_IMAGE_CHARS:
            return False
        self._images += 1
        self._image_chars += len(data)
        self.blocks.append({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}})
        return True


def to_result(called: Any, server: str, tool: str, max_chars: int) -> ToolResult:
    """The result of a tool call; what the server calls an error is a failure."""
    answer = Answer(max_chars)
    answer.add_all(called.content)
    if not answer.blocks and called.structured_content is not None:
        answer.add_text(json.dumps(called.structured_content, ensure_ascii=False))
    if called.is_error:
        return _failure(answer, server, tool)
    return success(answer, server, tool)


def success(answer: Answer, server: str, tool: str) -> ToolResult:
    """An answer as a result: blocks for the model, and the facts for everybody else."""
    if not answer.blocks:
        answer.add_text(_NOTHING)
    facts = {
        "content": answer.text,
        "mcp_server": server,
        "mcp_tool": tool,
        "content_size_chars": answer.size_chars,
        "content_truncated": answer.is_truncated,
    }
    return ToolResult(output=facts, content=answer.blocks)


def _failure(answer: Answer, server: str, tool: str) -> ToolResult:
    told = without_controls(answer.text).strip() or "the tool failed without saying why"
    error = {"type": "tool_error", "message": told, "mcp_server": server, "mcp_tool": tool}
    return ToolResult(success=False, error=error, content=answer.images or None)


def _link(content: Any) -> str:
    described = description_of(content.description)
    about = f"\n{described}" if described else ""
    return f"[link to the resource {name_line(content.name)}: {name_line(str(content.uri))}{_kind_of(content)}]{about}"


def _kind_of(content: Any) -> str:
    return f" ({name_line(content.mime_type)})" if content.mime_type else ""


def _size_of(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"


def _is_base64(data: str) -> bool:
    try:
        return bool(data) and bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False

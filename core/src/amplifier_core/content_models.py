"""Content blocks as streaming events carry them: plain dataclasses with ``to_dict``.

Requests and responses use the pydantic blocks of ``message_models`` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from typing_extensions import override


class ContentBlockType(str, Enum):  # noqa: UP042 - StrEnum has another str(), which older readers do not expect
    """The kinds of content that stream."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


@dataclass
class ContentBlock:
    """What every block has; ``raw`` keeps the vendor's own object and never leaves the process."""

    type: ContentBlockType
    raw: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The block as event data, without ``raw``."""
        return {"type": self.type.value}


@dataclass
class TextContent(ContentBlock):
    """A piece of the answer."""

    type: ContentBlockType = ContentBlockType.TEXT
    text: str = ""

    @override
    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "text": self.text}


@dataclass
class ThinkingContent(ContentBlock):
    """A piece of the model's reasoning."""

    type: ContentBlockType = ContentBlockType.THINKING
    text: str = ""

    @override
    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "text": self.text}


@dataclass
class ToolCallContent(ContentBlock):
    """A tool call that the model asks for."""

    type: ContentBlockType = ContentBlockType.TOOL_CALL
    id: str = ""
    name: str = ""
    arguments: dict[str, Any] | None = None

    @override
    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass
class ToolResultContent(ContentBlock):
    """What a tool call gave back."""

    type: ContentBlockType = ContentBlockType.TOOL_RESULT
    tool_call_id: str = ""
    output: Any = None
    error: str | None = None

    @override
    def to_dict(self) -> dict[str, Any]:
        fields = {**super().to_dict(), "tool_call_id": self.tool_call_id, "output": self.output}
        return {**fields, "error": self.error} if self.error else fields

"""Content blocks of streaming events."""

from __future__ import annotations

from dataclasses import fields

import pytest

from amplifier_core.content_models import (
    ContentBlock,
    ContentBlockType,
    TextContent,
    ThinkingContent,
    ToolCallContent,
    ToolResultContent,
)


def test_types_are_strings() -> None:
    """A block type is an enum member and the string of the same name."""
    assert {member.name: member.value for member in ContentBlockType} == {
        "TEXT": "text",
        "THINKING": "thinking",
        "TOOL_CALL": "tool_call",
        "TOOL_RESULT": "tool_result",
    }
    assert ContentBlockType.TEXT == "text"
    assert str(ContentBlockType.TEXT) == "ContentBlockType.TEXT"


def test_base_block_tells_its_type_only() -> None:
    """The vendor's raw object stays out of the dict."""
    block = ContentBlock(ContentBlockType.TEXT, {"vendor": 1})
    assert block.raw == {"vendor": 1}
    assert block.to_dict() == {"type": "text"}
    assert ContentBlock(ContentBlockType.THINKING).raw is None


@pytest.mark.parametrize(
    ("block_class", "names"),
    [
        (ContentBlock, ["type", "raw"]),
        (TextContent, ["type", "raw", "text"]),
        (ThinkingContent, ["type", "raw", "text"]),
        (ToolCallContent, ["type", "raw", "id", "name", "arguments"]),
        (ToolResultContent, ["type", "raw", "tool_call_id", "output", "error"]),
    ],
)
def test_field_order(block_class: type[ContentBlock], names: list[str]) -> None:
    """Type and raw come first, then what the block itself has."""
    assert [field.name for field in fields(block_class)] == names


@pytest.mark.parametrize(
    ("block", "data"),
    [
        (TextContent(), {"type": "text", "text": ""}),
        (TextContent(text="hi", raw={"x": 1}), {"type": "text", "text": "hi"}),
        (ThinkingContent(), {"type": "thinking", "text": ""}),
        (ThinkingContent(text="hm"), {"type": "thinking", "text": "hm"}),
        (ToolCallContent(), {"type": "tool_call", "id": "", "name": "", "arguments": None}),
        (
            ToolCallContent(id="c1", name="bash", arguments={"cmd": "ls"}),
            {"type": "tool_call", "id": "c1", "name": "bash", "arguments": {"cmd": "ls"}},
        ),
        (ToolResultContent(), {"type": "tool_result", "tool_call_id": "", "output": None}),
        (
            ToolResultContent(tool_call_id="c1", output=[1], error=""),
            {"type": "tool_result", "tool_call_id": "c1", "output": [1]},
        ),
        (
            ToolResultContent(tool_call_id="c1", error="no"),
            {"type": "tool_result", "tool_call_id": "c1", "output": None, "error": "no"},
        ),
    ],
)
def test_to_dict_adds_own_fields(block: ContentBlock, data: dict[str, object]) -> None:
    """A block's dict has its type and its own fields, an error only when there is one."""
    assert block.to_dict() == data

"""Whatever a tool gives back becomes a result, and the model reads it as text or JSON."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.message_models import TextBlock
from amplifier_core.models import ToolResult
from amplifier_modkit.turns.results import failure, to_message, to_result, to_text

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("returned", "read"),
    [
        (None, "Success"),
        ("", ""),
        ("text", "text"),
        (7, "7"),
        (True, "true"),
        (float("nan"), "NaN"),
        (Decimal("1.50"), "1.50"),
        (date(2025, 1, 2), "2025-01-02"),
        (b"bytes", "bytes"),
        ({2, 1}, "[1, 2]"),
        (("a", 1), '["a", 1]'),
        ([], "[]"),
        ({"äöü": [1, None]}, '{"äöü": [1, null]}'),
        ({1: Colour.RED}, '{"1": "red"}'),
        (ValueError("a value"), "a value"),
        (TextBlock(text="x"), '{"type": "text", "text": "x", "visibility": null}'),
        ("a\x00b\ud800c\td", "abc\td"),
        ({"success": True, "data": 1}, '{"success": true, "data": 1}'),
        ({"error": "x"}, '{"error": "x"}'),
        ({"content": "x"}, '{"content": "x"}'),
    ],
)
def test_the_model_reads_the_tools_own_output(returned: Any, read: str) -> None:
    """Text stays text, all else is JSON, never a Python ``repr``; a dict that only resembles a result is output."""
    result = to_result(returned)
    assert (result.success, to_text(result)) == (True, read)


def test_a_result_is_taken_as_it_is() -> None:
    """Hooks get the very object that the tool gave."""
    result = ToolResult(output=1)
    assert to_result(result) is result


@pytest.mark.parametrize(
    ("returned", "success", "read"),
    [
        ({"success": True}, True, "Success"),
        ({"output": {"n": 1}}, True, '{"n": 1}'),
        ({"success": False, "output": "no"}, False, "no"),
        ({"is_error": True, "output": "no"}, False, "no"),
        ({"success": False, "error": {"message": "gone"}}, False, "gone"),
        ({"success": False, "error": "gone"}, False, "gone"),
        ({"success": False, "output": "half", "error": "gone"}, False, "Error: gone\n\nhalf"),
        ({"output": "fine", "error": ""}, True, "fine"),
        ({"output": "fine", "error": None}, True, "fine"),
        ({"is_error": False, "content": [{"type": "text", "text": "hi"}]}, True, "Success"),
    ],
)
def test_a_dict_with_nothing_but_the_fields_of_a_result_is_one(returned: Any, success: bool, read: str) -> None:
    """Tools that do not import the kernel say it this way, some with an error in plain text."""
    result = to_result(returned)
    assert (result.success, to_text(result)) == (success, read)


@pytest.mark.parametrize(
    "returned",
    [
        {"success": "banana"},
        {"success": [], "output": 1},
        {"output": 1, "error": ["x"]},
        {"output": 1, "content": "x"},
        {"is_error": False, "content": [{"type": "sound"}]},
    ],
)
def test_a_dict_that_cannot_be_read_as_a_result_is_the_output(returned: Any) -> None:
    """Nothing a tool gives is lost because it resembles something else."""
    result = to_result(returned)
    assert (result.success, result.output) == (True, returned)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(["success", "output", "error", "content", "is_error", "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_no_dict_breaks_the_reading(returned: dict[str, Any]) -> None:
    """Every dict becomes a message that can be written as UTF-8 JSON."""
    message = to_message("id", "t", to_result(returned))
    assert json.loads(json.dumps(message["content"]).encode("utf-8")) == message["content"]


@pytest.mark.parametrize(
    ("result", "read"),
    [
        (ToolResult(success=False), "Error: the tool failed without saying why"),
        (ToolResult(success=False, error={"message": "gone"}), "gone"),
        (ToolResult(success=False, error={"msg": "gone"}), "gone"),
        (ToolResult(success=False, error={"code": 5}), '{"code": 5}'),
        (ToolResult(success=False, output="half of it", error={"message": "cut"}), "Error: cut\n\nhalf of it"),
        (ToolResult(success=False, output="it was cut off", error={"message": "cut"}), "it was cut off"),
        (ToolResult(success=False, output=[1], error={"code": 5}), 'Error: {"code": 5}\n\n[1]'),
        (ToolResult(success=False, output="no", error={"message": {"why": True}}), 'Error: {"why": true}\n\nno'),
        (ToolResult(success=True, output="fine", error={"message": "ignored"}), "fine"),
    ],
)
def test_a_failure_tells_its_error_beside_its_output(result: ToolResult, read: str) -> None:
    """What went wrong is said once, in words or JSON."""
    assert to_text(result) == read


def test_a_failure_says_what_it_says_in_both_places() -> None:
    """The message is the output for the model, and stands in the error for hooks with its details."""
    assert failure("no such file", type="LookupError").model_dump() == {
        "success": False,
        "output": "no such file",
        "error": {"message": "no such file", "type": "LookupError"},
    }


def test_the_message_answers_the_call_and_marks_a_failure() -> None:
    """A success has no metadata."""
    assert to_message("a", "t", ToolResult(output={"n": 1})) == {
        "role": "tool",
        "tool_call_id": "a",
        "name": "t",
        "content": '{"n": 1}',
    }
    assert to_message("a", "t", failure("no")) == {
        "role": "tool",
        "tool_call_id": "a",
        "name": "t",
        "content": "no",
        "metadata": {"is_error": True},
    }


def test_content_blocks_go_to_the_model_instead_of_the_output() -> None:
    """Blocks say it better, unless there is a failure to tell as well."""
    blocks = [{"type": "text", "text": "look"}, IMAGE]
    assert to_message("a", "t", ToolResult(output="short", content=blocks))["content"] == blocks
    failed = to_message("a", "t", ToolResult(success=False, output="half", error={"message": "cut"}, content=blocks))
    assert failed["content"] == [{"type": "text", "text": "Error: cut\n\nhalf"}, *blocks]


def test_text_in_blocks_is_clean_as_well() -> None:
    """Some vendors refuse a whole conversation for one control character; the tool's own blocks stay as they are."""
    result = ToolResult(content=[{"type": "text", "text": "a\x00b\ud800c"}, IMAGE])
    assert to_message("a", "t", result)["content"] == [{"type": "text", "text": "abc"}, IMAGE]
    assert result.content is not None
    assert result.content[0] == TextBlock(text="a\x00b\ud800c")


async def test_what_cannot_be_data_is_told_by_its_text() -> None:
    """Locks, cycles and endless nesting become text, not a crash."""
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = "end"
    for _ in range(5_000):
        deep = [deep]

    class Named:
        def __str__(self) -> str:
            return "named"

    for returned, part in (
        (cycle, "cyclic"),
        (deep, "nested too deeply"),
        (Named(), "named"),
        (asyncio.Lock(), "Lock"),
    ):
        assert part in to_text(to_result(returned))

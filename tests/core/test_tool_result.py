"""What a tool gives back, and how a model gets to read it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from amplifier_core import models
from amplifier_core.models import ToolResult, sanitize_for_llm


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ({"success": False, "error": {"message": "boom"}}, "boom"),
        ({"success": False, "error": {"message": "boom"}, "output": "kept"}, "kept"),
        ({"success": False, "error": {"message": "boom"}, "output": ""}, ""),
        ({"success": False, "error": {"message": ""}}, None),
        ({"success": False, "error": {"code": 1}}, None),
        ({"success": False, "error": {}}, None),
        ({"success": False}, None),
        ({"success": True, "error": {"message": "boom"}}, None),
    ],
)
def test_failure_without_output_takes_the_error_message(given: dict[str, Any], output: Any) -> None:
    """Only a failure without output whose error has a message gets that message as output."""
    assert ToolResult(**given).output == output


@pytest.mark.parametrize(
    ("given", "success"),
    [
        ({"is_error": True, "output": "User denied"}, False),
        ({"is_error": True}, False),
        ({"is_error": True, "success": True}, False),
        ({"is_error": False}, True),
        ({"is_error": False, "success": False}, False),
    ],
)
def test_is_error_means_failure(given: dict[str, Any], success: bool) -> None:
    """``is_error=True`` fails the result whatever else is said, and is no field of it."""
    for result in (ToolResult(**given), ToolResult.model_validate_json(json.dumps(given))):
        assert result.success is success
        assert result.output == given.get("output")
        assert "is_error" not in result.model_dump()


def test_is_error_with_an_error_message() -> None:
    """A result marked as error takes the error's message for output like any failure."""
    assert ToolResult(is_error=True, error={"message": "boom"}).output == "boom"


def test_tool_result_refuses_what_is_no_object() -> None:
    """Something that is no mapping is refused with pydantic's own error; a result is taken as it is."""
    with pytest.raises(ValidationError):
        ToolResult.model_validate(["success"])
    result = ToolResult(output=1)
    assert ToolResult.model_validate(result) is result


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(output="done"), "done"),
        (ToolResult(output={"a": 1}), "{'a': 1}"),
        (ToolResult(), "Success"),
        (ToolResult(output=""), "Success"),
        (ToolResult(output=0), "Success"),
        (ToolResult(success=False), "Failed"),
        (ToolResult(success=False, output="ignored"), "Failed"),
        (ToolResult(success=False, error={}), "Failed"),
        (ToolResult(success=False, error={"message": "boom"}), "Error: boom"),
        (ToolResult(success=False, error={"message": ""}), "Error: Unknown error"),
        (ToolResult(success=False, error={"code": 1}), "Error: Unknown error"),
        (ToolResult(output="x", content=[{"type": "text", "text": "y"}]), "x"),
    ],
)
def test_str(result: ToolResult, text: str) -> None:
    """A success reads as its output, a failure as its error."""
    assert str(result) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(), "Success"),
        (ToolResult(output=""), ""),
        (ToolResult(output="plain"), "plain"),
        (ToolResult(output=3.5), "3.5"),
        (ToolResult(output=(1, 2)), "(1, 2)"),
        (ToolResult(output={"a": [1, None]}), '{"a": [1, null]}'),
        (ToolResult(output=["é"]), '["\\u00e9"]'),
        (ToolResult(output={"cost": Decimal("0.10")}), '{"cost": "0.10"}'),
        (ToolResult(output=[]), "[]"),
        (ToolResult(output={}), "{}"),
        (ToolResult(success=False, output={"a": 1}), '{"a": 1}'),
        (ToolResult(success=False), "Error: Failed"),
        (ToolResult(success=False, error={}), "Error: Failed"),
        (ToolResult(success=False, error={"code": 1}), "Error: Unknown error"),
        (ToolResult(success=False, error={"message": "boom"}), "boom"),
        (ToolResult(output="a\x00b\x1b[0m\ud800c\td\r\n"), "ab[0mc\td\r\n"),
        (ToolResult(content=[{"type": "text", "text": "y"}]), "Success"),
    ],
)
def test_serialized_output(result: ToolResult, text: str) -> None:
    """The text for the model is the output, as JSON for data, whatever the success flag says."""
    assert result.get_serialized_output() == text


def test_serialized_output_of_a_cleared_failure() -> None:
    """When the output is taken away again, the error's message is told."""
    result = ToolResult(success=False, error={"message": "bo\x00om"})
    result.output = None
    assert result.get_serialized_output() == "Error: boom"


def test_serialized_output_refuses_what_is_not_json() -> None:
    """An object inside a dict that JSON cannot hold is a TypeError that names its type."""
    with pytest.raises(TypeError, match=r"^Object of type set is not JSON serializable"):
        ToolResult(output={"a": {1}}).get_serialized_output()


def test_tool_result_assignment_is_validated() -> None:
    """A wrong value cannot be assigned; the result keeps what it had."""
    result = ToolResult(output="x")
    with pytest.raises(ValidationError):
        result.success = "perhaps"  # type: ignore[assignment]
    with pytest.raises(ValidationError):
        result.content = [{"type": "video"}]  # type: ignore[list-item]
    result.success = False
    assert result.model_dump() == {"success": False, "output": "x", "error": None}


def test_tool_result_copy_is_validated() -> None:
    """A copy with changes obeys the rules of construction."""
    result = ToolResult(output="x", content=[{"type": "text", "text": "y"}])
    assert result.model_copy() == result
    assert result.model_copy(update={"content": []}).content is None
    assert result.model_copy(update={"is_error": True}).success is False
    assert result.model_copy(update={"success": False, "output": None, "error": {"message": "no"}}).output == "no"
    with pytest.raises(ValidationError, match="invalid tool result content"):
        result.model_copy(update={"content": "y"})
    assert result == ToolResult(output="x", content=[{"type": "text", "text": "y"}])


def test_tool_result_copy_is_shallow_unless_deep() -> None:
    """A plain copy shares the output, a deep one does not."""
    result = ToolResult(output={"a": [1]})
    assert result.model_copy().output is result.output
    deep = result.model_copy(deep=True)
    assert deep == result
    assert deep.output is not result.output
    assert deep.output["a"] is not result.output["a"]  # type: ignore[index]


def test_tool_result_subclass_keeps_its_own_fields_in_copies() -> None:
    """A subclass with further fields and open keys is copied whole."""

    class Timed(ToolResult):
        model_config = ConfigDict(extra="allow")
        seconds: float = 0.0

    copied = Timed.model_validate({"seconds": 1.5, "note": "x"}).model_copy(update={"output": 1})
    assert type(copied) is Timed
    assert copied.model_dump() == {"success": True, "output": 1, "error": None, "seconds": 1.5, "note": "x"}


def test_tool_result_schema_names_the_fields() -> None:
    """The JSON Schema describes the four fields, for reading and for writing."""
    for mode in ("validation", "serialization"):
        schema = ToolResult.model_json_schema(mode=mode)  # type: ignore[arg-type]
        assert list(schema["properties"]) == ["success", "output", "error", "content"]


def test_tool_result_inside_another_model() -> None:
    """The rules for content hold for a result that is part of something else."""

    class Turn(BaseModel):
        result: ToolResult

    assert Turn(result=ToolResult(output=1)).model_dump() == {"result": {"success": True, "output": 1, "error": None}}


def test_sanitizer_removes_what_providers_refuse() -> None:
    """Control characters and lone surrogates go; tab, line ends and everything printable stay."""
    removed = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)]
    kept = set(range(0x11000)) - set(removed)
    assert sanitize_for_llm("".join(map(chr, removed))) == ""
    assert sanitize_for_llm("".join(map(chr, sorted(kept)))) == "".join(map(chr, sorted(kept)))


def test_helpers_keep_their_old_names() -> None:
    """Modules that import the helpers by their private names still find them."""
    assert models._sanitize_for_llm is sanitize_for_llm
    assert models._json_default(Decimal("1.50")) == "1.50"
    with pytest.raises(TypeError, match=r"^Object of type object is not JSON serializable$"):
        models._json_default(object())


@given(st.text())
def test_sanitizing_twice_is_sanitizing_once(text: str) -> None:
    """Clean text stays as it is, and is encodable."""
    once = sanitize_for_llm(text)
    assert sanitize_for_llm(once) == once
    once.encode()

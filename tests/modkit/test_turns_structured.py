"""Answers that must be JSON: found in what the model said, checked, and given in one form."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.turns.structured import OutputSchema, StructuredOutputError

# Backquotes could end a code block before its time.
TEXT = st.text(st.characters(exclude_characters="`", exclude_categories=["Cs"]))
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.parametrize(
    "answer",
    [
        '{"x": 1}',
        '  {"x":1}\n',
        '```json\n{"x": 1}\n```',
        '```\n{"x": 1}```',
        'Here you are:\n```json  \n{\n "x": 1\n}\n```\nAnything else?',
    ],
)
def test_the_json_is_found_in_a_code_block_too(answer: str) -> None:
    """Whatever surrounds it, the answer is the JSON alone."""
    assert OutputSchema(POINT).to_json(answer) == '{"x": 1}'


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "it is not JSON (Expecting value: line 1 column 1 (char 0))"),
        ("I cannot.", "it is not JSON (Expecting value: line 1 column 1 (char 0))"),
        ('{"x": "1"}', 'x: "1" is not of type "integer"'),
        ("[]", '[] is not of type "object"'),
        ('{"x": 1, "y": NaN}', "it is not JSON (Out of range float values are not JSON compliant)"),
        ('{"x": 1, "y": 1e999}', "it is not JSON (Out of range float values are not JSON compliant)"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answer: str, complaint: str) -> None:
    """The error keeps the answer and says what is wrong with it; numbers that JSON does not have count, too."""
    with pytest.raises(StructuredOutputError) as refused:
        OutputSchema(POINT).to_json(answer)
    error = refused.value
    assert error.answer == answer
    assert error.complaint.startswith(complaint.removesuffix(")"))
    assert str(error) == f"The model's answer does not fit the output schema: {error.complaint}"


def test_an_answer_that_is_too_much_for_the_parser_is_refused_in_the_same_way() -> None:
    """Endless nesting is one more way of not fitting."""
    with pytest.raises(StructuredOutputError):
        OutputSchema(POINT).to_json('{"x":' * 100_000)


@pytest.mark.parametrize("answer", ['{"x": 1, "\\ud800": 2}', '{"x": 1, "y": "\\ud800"}'])
def test_text_that_is_no_unicode_is_accepted_or_refused(answer: str) -> None:
    """It never leads to another error."""
    with suppress(StructuredOutputError):
        assert json.loads(OutputSchema(POINT).to_json(answer))["x"] == 1


def test_the_model_is_told_what_is_wrong_and_what_would_be_right() -> None:
    """The request to repair has the complaint and the schema."""
    output = OutputSchema(POINT)
    told = output.repair_request(StructuredOutputError("x", "it is not JSON"))
    assert told == (
        "Your answer cannot be used: it is not JSON. "
        f"Answer again with nothing but JSON that fits this schema: {json.dumps(POINT)}"
    )


def test_a_schema_that_is_none_is_refused_by_the_name_of_its_setting() -> None:
    """Whoever wrote it finds the place."""
    with pytest.raises(ValueError, match="^output_schema is no JSON Schema: "):
        OutputSchema({"type": "nonsense"})


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    )
)
def test_any_json_goes_in_and_comes_out_the_same(value: Any) -> None:
    """With a schema that allows everything, the answer means what the model said, in a code block or without."""
    text, output = json.dumps(value, indent=1), OutputSchema({})
    for answer in (text, f"```json\n{text}\n```"):
        assert json.loads(output.to_json(answer)) == value

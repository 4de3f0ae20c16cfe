"""Names that every vendor takes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.llm.names import ToolChoice, read_tool_choice, safe_name


@given(st.text())
def test_a_safe_name_is_taken_everywhere_and_always_the_same(name: str) -> None:
    """Whatever the name, what becomes of it has only letters, digits, dashes and underscores, and stays as it is."""
    safe = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", safe)
    assert safe_name(safe) == safe


def test_names_that_differ_stay_different() -> None:
    """Two names that would look alike are told apart."""
    assert safe_name("a.b") != safe_name("a b")
    assert safe_name("read_file") == "read_file"
    assert safe_name("a.b").startswith("a_b_")


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ("any", ToolChoice("required")),
        ("read_file", ToolChoice("tool", "read_file")),
        ({"type": "any"}, ToolChoice("required")),
        ({"mode": "none"}, ToolChoice("none")),
        ({"type": "tool", "name": "read_file"}, ToolChoice("tool", "read_file")),
        ({"type": "function", "function": {"name": "a.b"}}, ToolChoice("tool", safe_name("a.b"))),
        ({"type": "strange"}, None),
        ({"type": 7}, None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_choice_is_read_in_every_common_form(choice: Any, read: ToolChoice | None) -> None:
    """Words, names and the objects of several vendors mean the same."""
    assert read_tool_choice(choice) == read

"""``tool-calculator``: arithmetic that is right, and nothing else that an expression could do."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import amplifier_module_tool_calculator
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from amplifier_module_tool_calculator import mount
from amplifier_module_tool_calculator.arithmetic import UncountableError, value_of
from amplifier_module_tool_calculator.tool import CalculateTool


class TestContract(ToolBehaviorTests, ToolStructuralTests):
    """Everything a tool promises."""

    @pytest.fixture
    def module_path(self) -> Path:
        return Path(amplifier_module_tool_calculator.__file__).parent


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 * 23", "391"),
        (" 2 + 3 * 4 ", "14"),
        ("(2 + 3) × 4 − 1", "19"),
        ("0.1 + 0.2", "0.3"),
        ("10 ÷ 4", "2.5"),
        ("7 // 2 + 7 % 4", "6"),
        ("2^10", "1024"),
        ("-3 - +2", "-5"),
        ("1,000 + 1_000", "2000"),
        ("1 / 3", "0.333333333333333333333333333333"),
        ("2 ** 200", "1.60693804425899e+60"),
        ("2 ** -1", "0.5"),
        ("100", "100"),
    ],
)
def test_expressions_have_their_value(expression: str, value: str) -> None:
    """Exact where it can be, in the spellings that people use."""
    assert value_of(expression) == value


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("", "is no arithmetic"),
        ("17 *", "is no arithmetic"),
        ("__import__('os')", "is no arithmetic"),
        ("x + 1", "'x' is no arithmetic"),
        ("True + 1", "'True' is no arithmetic"),
        ("'a' * 3", "is no arithmetic"),
        ("1 if 2 else 3", "is no arithmetic"),
        ("~1", "is no arithmetic"),
        ("1 << 9", "is no arithmetic"),
        ("(" * 240 + "1" + ")" * 240, "is no arithmetic"),
        ("1\x00", "is no arithmetic"),
        ("1 / 0", "divides by zero"),
        ("0 / 0", "no value"),
        ("(-1) ** 0.5", "no value"),
        ("9 ** 9 ** 9", "exponent may be 1000"),
        ("1e999 * 1", "no value"),
        ("1" * 501, "longer than 500"),
    ],
    ids=range(17),
)
def test_what_is_no_arithmetic_is_refused(expression: str, told: str) -> None:
    """Quickly, and with a word on what was expected."""
    with pytest.raises(UncountableError, match=told):
        value_of(expression)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from("+-*"))
def test_whole_numbers_are_exact(left: int, right: int, sign: str) -> None:
    """As Python has it."""
    wanted = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert Decimal(value_of(f"{left} {sign} ({right})")) == wanted


@pytest.mark.parametrize(
    ("given_input", "success", "output"),
    [
        ({"expression": "17 * 23"}, True, "391"),
        ({"expression": "x"}, False, "'x' is no arithmetic; expected numbers and + - * / // % ^ ( )"),
        ({"expression": 3}, False, "'expression' must be a text such as '17 * 23'"),
        ({}, False, "'expression' must be a text such as '17 * 23'"),
    ],
    ids=["value", "problem", "number", "nothing"],
)
async def test_the_tool_gives_the_value_or_says_what_is_wrong(given_input: Any, success: bool, output: str) -> None:
    """A failure is a result that the model can act on."""
    result = await CalculateTool().execute(given_input)
    assert (result.success, result.output) == (success, output)


async def test_it_is_mounted_and_known_to_be_harmless() -> None:
    """Nobody needs to be asked about arithmetic."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    assert coordinator.get("tools", "calculate").read_only is True

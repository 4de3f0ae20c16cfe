"""The module keeps the contract of its kind, also while everything around it goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import amplifier_module_tool_todo
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from amplifier_kit.chaos.suites import ToolChaosTests


class Todo:
    """Tests of the module as a plan without config mounts it."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_tool_todo.__file__ is not None
        return Path(amplifier_module_tool_todo.__file__).parent


class TestContract(Todo, ToolBehaviorTests, ToolStructuralTests):
    """What every module of its kind promises."""


@pytest.mark.slow
class TestUnderChaos(Todo, ToolChaosTests):
    """The same under every fault."""


async def test_the_validator_finds_nothing() -> None:
    """Package, declarations and mount are in order, without a warning."""
    result = await ToolValidator().validate(Path(str(amplifier_module_tool_todo.__file__)).parent)
    assert [check.message for check in result.checks if not check.passed] == []

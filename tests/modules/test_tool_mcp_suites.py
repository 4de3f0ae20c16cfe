"""The module keeps the contract of its kind, also while everything around it goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.modules.mcp_world import scripted

import amplifier_module_tool_mcp
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from amplifier_kit.chaos.suites import ToolChaosTests


class Mcp:
    """Tests of tool-mcp."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_tool_mcp.__file__ is not None
        return Path(amplifier_module_tool_mcp.__file__).parent


class TestContract(Mcp, ToolBehaviorTests, ToolStructuralTests):
    """The module as a plan without config mounts it."""


@pytest.mark.slow
class TestUnderChaos(Mcp, ToolChaosTests):
    """The module with a server at work, under every fault."""

    sample_input = {"reconnect": "s"}

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"servers": {"s": scripted("tools=echo,error")}}


async def test_the_validator_finds_nothing() -> None:
    """Package, declarations and mount are in order, without a warning."""
    result = await ToolValidator().validate(Path(str(amplifier_module_tool_mcp.__file__)).parent)
    assert [check.message for check in result.checks if not check.passed] == []

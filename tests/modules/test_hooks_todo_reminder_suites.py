"""The module keeps the contract of its kind, also while everything around it goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import amplifier_module_hooks_todo_reminder
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests


class Reminder:
    """Tests of the module as a plan without config mounts it."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_hooks_todo_reminder.__file__ is not None
        return Path(amplifier_module_hooks_todo_reminder.__file__).parent


class TestContract(Reminder, HookBehaviorTests, HookStructuralTests):
    """What every module of its kind promises."""


@pytest.mark.slow
class TestUnderChaos(Reminder, HookChaosTests):
    """The same under every fault."""


async def test_the_validator_finds_nothing() -> None:
    """Package, declarations and mount are in order, without a warning."""
    result = await HookValidator().validate(Path(str(amplifier_module_hooks_todo_reminder.__file__)).parent)
    assert [check.message for check in result.checks if not check.passed] == []

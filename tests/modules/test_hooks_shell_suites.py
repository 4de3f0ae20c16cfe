"""The command hooks keep the contract of their kind, and keep it while everything around them goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import amplifier_module_hooks_shell
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests
from amplifier_module_hooks_shell import bridge
from amplifier_module_hooks_shell.commands import Outcome
from amplifier_module_hooks_shell.conventions import MOMENTS


class Commanding:
    """Tests of the module with a command for every moment."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_hooks_shell.__file__ is not None
        return Path(amplifier_module_hooks_shell.__file__).parent

    @pytest.fixture
    def amplifier_module_config(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        # Chaos asks thousands of times. What a process costs, and that it ends, is tested with real ones.
        async def run(*_: Any) -> Outcome:
            return Outcome(0, '{"hookSpecificOutput": {"additionalContext": "x"}}')

        monkeypatch.setattr(bridge, "run", run)
        return {"hooks": {moment.name: [{"hooks": [{"command": "true"}]}] for moment in MOMENTS}}


class TestContract(Commanding, HookBehaviorTests, HookStructuralTests):
    """What every hook promises."""


@pytest.mark.slow
class TestUnderChaos(Commanding, HookChaosTests):
    """The module under every fault."""

    limit_s = 30.0


async def test_the_validator_is_content() -> None:
    """Nothing but the missing commands of an empty config is remarked on."""
    result = await HookValidator().validate(Path(str(amplifier_module_hooks_shell.__file__)).parent)
    assert [check.message for check in result.checks if not check.passed and check.severity == "error"] == []

"""The redaction hook keeps the contract of its kind, and keeps it while everything around it goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import amplifier_module_hooks_redaction
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests


class Redacting:
    """Tests of the module as a plan without config mounts it."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_hooks_redaction.__file__ is not None
        return Path(amplifier_module_hooks_redaction.__file__).parent


class TestContract(Redacting, HookBehaviorTests, HookStructuralTests):
    """What every hook promises."""


@pytest.mark.slow
class TestUnderChaos(Redacting, HookChaosTests):
    """The module under every fault; most of the time goes into megabytes of data for fifty handlers."""

    limit_s = 60.0


@pytest.mark.slow
class TestUnderChaosWithMaskedRequests(Redacting, HookChaosTests):
    """The same with masks for the model."""

    limit_s = 60.0

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"redact_model_input": True}


async def test_the_validator_is_content() -> None:
    """All checks of the kernel's validator pass."""
    result = await HookValidator().validate(Path(str(amplifier_module_hooks_redaction.__file__)).parent)
    assert [check.message for check in result.checks if not check.passed] == []

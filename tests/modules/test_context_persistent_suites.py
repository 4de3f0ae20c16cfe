"""The context with a journal keeps the contract of its kind, and keeps it while everything around it goes wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_context_persistent
from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests
from amplifier_kit.chaos.suites import ContextChaosTests


class Persistent:
    """Tests of the module, each in a home of its own."""

    @pytest.fixture
    def module_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
        assert amplifier_module_context_persistent.__file__ is not None
        return Path(amplifier_module_context_persistent.__file__).parent


class TestContract(Persistent, ContextBehaviorTests, ContextStructuralTests):
    """The module as a plan without config mounts it."""


@pytest.mark.slow
class TestUnderChaos(Persistent, ContextChaosTests):
    """The module as a plan without config mounts it, under every fault."""


@pytest.mark.slow
class TestUnderChaosWithEachMessageSynced(Persistent, ContextChaosTests):
    """With every message on the disk before it counts: each write is a wait at which something can happen.

    The disk itself is left out. Thousands of messages on a slow one take longer than chaos waits.
    """

    limit_s = 30.0

    @pytest.fixture
    def amplifier_module_config(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
        return {"durability": "fsync"}

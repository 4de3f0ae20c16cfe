"""The fakes of ``amplifier_core.testing`` pass the suites of the kinds they stand for, each mounted by a module."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from amplifier_core import testing
from amplifier_core.validation.behavioral import (
    ContextBehaviorTests,
    HookBehaviorTests,
    OrchestratorBehaviorTests,
    ProviderBehaviorTests,
    ToolBehaviorTests,
)
from amplifier_core.validation.structural import (
    ContextStructuralTests,
    HookStructuralTests,
    OrchestratorStructuralTests,
    ProviderStructuralTests,
    ToolStructuralTests,
)

_numbers = count(1)


class Wrapped:
    """Tests of a module whose ``mount()`` is the one statement ``mounting``, with all fakes at hand."""

    mounting: ClassVar[str]

    @pytest.fixture
    def module_path(self, tmp_path: Path) -> Path:
        package = tmp_path / f"wrapped_fake_{next(_numbers)}"
        package.mkdir()
        source = "from amplifier_core.testing import *\n\nasync def mount(coordinator, config):\n    " + self.mounting
        (package / "__init__.py").write_text(source, encoding="utf-8")
        return package


class TestMockTool(Wrapped, ToolBehaviorTests, ToolStructuralTests):
    """A tool that succeeds."""

    mounting = "await coordinator.mount('tools', MockTool())"


class TestFailingMockTool(Wrapped, ToolBehaviorTests, ToolStructuralTests):
    """A tool whose every result is a failure."""

    mounting = "return MockTool(return_value=__import__('amplifier_core').ToolResult(success=False, output='no'))"


class TestMockProvider(Wrapped, ProviderBehaviorTests, ProviderStructuralTests):
    """A provider with nothing in its script."""

    mounting = "await coordinator.mount('providers', MockProvider())"


class TestScriptedMockProvider(Wrapped, ProviderBehaviorTests, ProviderStructuralTests):
    """A provider with a script, a clock and hooks."""

    mounting = (
        "await coordinator.mount('providers', MockProvider("
        "[ScriptedReply(['a', 'b'], delay_s=1)], name='other', clock=FakeClock(), hooks=coordinator.hooks))"
    )


class TestMockContextManager(Wrapped, ContextBehaviorTests, ContextStructuralTests):
    """A context that keeps everything."""

    mounting = "await coordinator.mount('context', MockContextManager())"


class TestScriptedOrchestrator(Wrapped, OrchestratorBehaviorTests, OrchestratorStructuralTests):
    """An orchestrator that is told to ask the provider."""

    mounting = "await coordinator.mount('orchestrator', ScriptedOrchestrator([ask_provider]))"


class TestEventRecorder(Wrapped, HookBehaviorTests, HookStructuralTests):
    """A recorder registered as a handler, with a clean-up."""

    mounting = "return coordinator.hooks.register('tool:pre', EventRecorder(), name='recorder')"


def test_every_fake_of_a_kind_is_tested_here() -> None:
    """A fake that is added has to keep the contract it stands for."""
    helpers = {
        "Call",
        "FakeClock",
        "MockCoordinator",
        "RecordingApproval",
        "RecordingCallable",
        "RecordingDisplay",
        "RecordingFunction",
        "ScriptedReply",
        "SequentialIds",
        "TestCoordinator",
        "ask_provider",
        "create_test_coordinator",
        "wait_for",
    }
    mounted = {name for suite in Wrapped.__subclasses__() for name in testing.__all__ if name in suite.mounting}
    assert set(testing.__all__) - helpers == mounted - helpers

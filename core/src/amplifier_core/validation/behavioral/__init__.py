"""Behaviour suites: what a mounted module of each kind does, as pytest classes that its author's tests inherit.

They run over the fixtures of ``amplifier_core.pytest_plugin`` and need pytest and pytest-asyncio.
"""

from amplifier_core.validation.behavioral.test_context import ContextBehaviorTests
from amplifier_core.validation.behavioral.test_hook import HookBehaviorTests
from amplifier_core.validation.behavioral.test_orchestrator import OrchestratorBehaviorTests
from amplifier_core.validation.behavioral.test_provider import ProviderBehaviorTests
from amplifier_core.validation.behavioral.test_tool import ToolBehaviorTests

__all__ = [
    "ContextBehaviorTests",
    "HookBehaviorTests",
    "OrchestratorBehaviorTests",
    "ProviderBehaviorTests",
    "ToolBehaviorTests",
]

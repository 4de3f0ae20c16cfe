"""Structural suites: the validators as pytest classes that a module author's tests inherit.

They run over the fixtures of ``amplifier_core.pytest_plugin`` and need pytest and pytest-asyncio.
"""

from amplifier_core.validation.base import check_on_session_ready
from amplifier_core.validation.structural.test_context import ContextStructuralTests
from amplifier_core.validation.structural.test_hook import HookStructuralTests
from amplifier_core.validation.structural.test_orchestrator import OrchestratorStructuralTests
from amplifier_core.validation.structural.test_provider import ProviderStructuralTests
from amplifier_core.validation.structural.test_tool import ToolStructuralTests

__all__ = [
    "ContextStructuralTests",
    "HookStructuralTests",
    "OrchestratorStructuralTests",
    "ProviderStructuralTests",
    "ToolStructuralTests",
    "check_on_session_ready",
]

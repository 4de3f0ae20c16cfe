# pyright: reportMissingImports=false
import pytest
from amplifier_core import HookRegistry
from amplifier_core.testing import MockContextManager, MockProvider, MockTool
from amplifier_core.validation.behavioral import OrchestratorBehaviorTests
from amplifier_core.validation.structural import OrchestratorStructuralTests

from amplifier_module_loop_five import FiveParameterLoop


class TestLoop(OrchestratorBehaviorTests):
    pass


class TestLoopStructure(OrchestratorStructuralTests):
    pass


@pytest.mark.asyncio
async def test_orchestrator_basic():
    """The loop works on fakes, without a session."""
    context = MockContextManager()
    result = await FiveParameterLoop(config={}).execute(
        prompt="Test prompt",
        context=context,
        providers={"test": MockProvider()},
        tools={"test_tool": MockTool()},
        hooks=HookRegistry(),
    )
    assert isinstance(result, str)
    assert len(context.messages) > 0

# pyright: reportMissingImports=false
import pytest
from amplifier_core.testing import EventRecorder, MockContextManager, MockProvider, MockTool, ScriptedReply
from amplifier_core.validation.behavioral import OrchestratorBehaviorTests
from amplifier_core.validation.structural import OrchestratorStructuralTests

from amplifier_module_loop_open import OpenLoop


class TestOpenLoopBehavior(OrchestratorBehaviorTests):
    @pytest.mark.asyncio
    async def test_execute_returns_string(self, orchestrator_module, mock_deps):
        """The standard test holds, and the answer is the provider's."""
        await super().test_execute_returns_string(orchestrator_module, mock_deps)
        assert mock_deps[1]["default"].complete.called


class TestOpenLoopStructure(OrchestratorStructuralTests):
    pass


@pytest.mark.asyncio
async def test_tools_are_called():
    """What the model asks for is executed and told."""
    provider = MockProvider([ScriptedReply(tool_calls=[("hammer", {"nail": 1})]), "done"])
    tool, context, recorder = MockTool("hammer", "bang"), MockContextManager(), EventRecorder()
    answer = await OpenLoop({}).execute("go", context, {"p": provider}, {"hammer": tool}, recorder)
    assert answer == "done"
    assert tool.last_input == {"nail": 1}
    assert len(recorder.get_events("tool:post")) == 1
    tool.execute.assert_called_once()

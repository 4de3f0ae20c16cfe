import pytest
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests


@pytest.fixture
def amplifier_module_config():
    return {"denied": ["test_tool"]}


class TestGuard(HookBehaviorTests):
    async def test_denies(self, hook_cleanup, coordinator):
        """A tool on the list is refused with a reason."""
        result = await coordinator.hooks.emit("tool:pre", {"tool_name": "test_tool"})
        assert hook_cleanup is None
        assert (result.action, result.reason) == ("deny", "test_tool is not allowed here")


class TestGuardStructure(HookStructuralTests):
    pass

# pyright: reportMissingImports=false
import pytest
from amplifier_core.message_models import ToolSpec
from amplifier_core.testing import TestCoordinator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests

from my_tool import MyTool, mount


class TestMyToolBehavior(ToolBehaviorTests):
    pass


class TestMyToolStructure(ToolStructuralTests):
    pass


@pytest.mark.asyncio
async def test_tool_execution():
    """Good input succeeds."""
    tool = MyTool(config={})
    result = await tool.execute({"required_param": "value"})
    assert result.success
    assert result.error is None


@pytest.mark.asyncio
async def test_tool_mount():
    """The tool is mounted under the given name and returned."""
    coordinator = TestCoordinator()
    tool = await mount(coordinator, {})
    assert coordinator.get_mounted("tools") == {"my-tool": tool}
    assert ToolSpec.from_tool(tool).parameters["required"] == ["required_param"]


def test_found_without_help(module_path, module_type):
    """The plug-in finds the package by its entry point."""
    assert (module_path.name, module_type) == ("my_tool", "tool")

# pyright: reportMissingImports=false
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests

import amplifier_module_tool_shelf.tools as tools


class TestBehavior(ToolBehaviorTests):
    async def test_full_shelf(self, coordinator, tool_module):
        """A full shelf takes no more notes."""
        take = coordinator.get("tools", "shelf_take")
        for number in range(10):
            assert (await tool_module.execute({"note": str(number)})).success
        assert not (await tool_module.execute({"note": "more"})).success
        assert (await take.execute({})).output == "9"

    def test_submodules_are_shared(self, tool_module):
        """A class of a submodule is the one that the test imports."""
        assert isinstance(tool_module, tools.PutTool)


class TestStructure(ToolStructuralTests):
    pass

# pyright: reportMissingImports=false, reportOptionalSubscript=false
import pytest
from amplifier_core.testing import MockCoordinator

from amplifier_module_tool_dice import DiceTool, mount


@pytest.mark.asyncio
async def test_rolls_as_many_dice_as_asked():
    """The total is the sum of the rolls."""
    result = await DiceTool({"seed": 1}).execute({"count": 3})
    assert result.success
    assert len(result.output["rolls"]) == 3
    assert result.output["total"] == sum(result.output["rolls"])


@pytest.mark.asyncio
async def test_too_many_dice_are_refused():
    """The error says the limit."""
    result = await DiceTool({"max_dice": 2}).execute({"count": 3})
    assert not result.success
    assert result.error["message"] == "count must be 1 to 2"


@pytest.mark.asyncio
async def test_mounts_under_its_name():
    """The mount history tells point, instance and name."""
    coordinator = MockCoordinator()
    await mount(coordinator, {})
    assert coordinator.mount_history[0]["mount_point"] == "tools"
    assert coordinator.mount_history[0]["name"] == "roll_dice"
    assert "roll_dice" in coordinator.get("tools")

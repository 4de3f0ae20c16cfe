# pyright: reportMissingImports=false
import pytest
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests, check_on_session_ready

import amplifier_module_hooks_tally
from amplifier_module_hooks_tally import mount


class TestTallyBehavior(HookBehaviorTests):
    pass


class TestTallyStructure(HookStructuralTests):
    pass


def test_ready_callback_is_sound():
    """The kernel can call it."""
    assert check_on_session_ready(amplifier_module_hooks_tally) is None


@pytest.mark.asyncio
async def test_hook_registration():
    """Events are counted until the clean-up."""
    coordinator = TestCoordinator()
    cleanup = await mount(coordinator, {"enabled_events": ["tool:pre"]})
    await coordinator.hooks.emit("tool:pre", {"tool_name": "Write"})
    cleanup()
    await coordinator.hooks.emit("tool:pre", {"tool_name": "Write"})
    assert coordinator.get_capability("tally").counts == {"tool:pre": 1}


@pytest.mark.asyncio
async def test_recorder():
    """A recorder keeps events as pairs."""
    recorder = EventRecorder()
    await recorder.record("tool:pre", {"tool_name": "Write"})
    assert recorder.get_events()[0][0] == "tool:pre"

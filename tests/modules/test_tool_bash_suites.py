"""The tools of tool-bash keep the contract of their kind, alone, under chaos, and in a whole session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.modules.bash_world import BashSession

import amplifier_module_tool_bash
from amplifier_core import AmplifierSession
from amplifier_core.message_models import ToolSpec
from amplifier_core.testing import EventRecorder, MockCoordinator
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from amplifier_kit.chaos.suites import ToolChaosTests
from amplifier_module_context_simple import mount as mount_context
from amplifier_module_loop_basic import mount as mount_loop
from amplifier_module_provider_mock import mount as mount_provider
from amplifier_module_tool_bash import mount, on_session_ready
from amplifier_module_tool_bash.events import SANDBOX_DEGRADED

pytestmark = pytest.mark.slow  # real processes have to begin and end


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool without a working directory takes that of the process, and looks for secrets in all of it."""
    monkeypatch.chdir(tmp_path)


class OfThisModule:
    """Tests of the module."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_tool_bash.__file__ is not None
        return Path(amplifier_module_tool_bash.__file__).parent


class OneTool(OfThisModule):
    """Tests of one tool of the module, in a folder of its own."""

    tool: ClassVar[str]

    @pytest.fixture
    async def tool_module(self, coordinator: MockCoordinator, tmp_path: Path) -> Any:
        coordinator.register_capability("session.working_dir", str(tmp_path))
        end = await mount(coordinator)
        yield coordinator.get_mounted("tools")[self.tool]
        await end()


class TestBash(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Running commands."""

    tool = "bash"


class TestBashJobs(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Looking after jobs."""

    tool = "bash_jobs"


class TestUnderChaos(OfThisModule, ToolChaosTests):
    """Both under every fault."""

    sample_input = {"command": "echo hi", "action": "list"}


class TestJobsUnderChaos(OfThisModule, ToolChaosTests):
    """The same with commands in the background."""

    sample_input = {"command": "sleep 0.2", "run_in_background": True, "action": "stop", "job_id": "job_1"}


async def test_the_validator_finds_nothing() -> None:
    """The module passes every check that authors are offered."""
    assert amplifier_module_tool_bash.__file__ is not None
    result = await ToolValidator().validate(Path(amplifier_module_tool_bash.__file__).parent)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_two_tools_are_mounted_with_their_schemas(tmp_path: Path) -> None:
    """Names and input are those that prompts and plans know."""
    async with BashSession(tmp_path) as session:
        specs = [ToolSpec.from_tool(tool) for tool in session.coordinator.get_mounted("tools").values()]
    assert {spec.name: (spec.parameters["required"], list(spec.parameters["properties"])) for spec in specs} == {
        "bash": (["command"], ["command", "timeout", "run_in_background"]),
        "bash_jobs": (["action"], ["action", "job_id", "from_start"]),
    }


WRONG: list[dict[str, Any]] = [
    {"timeout": 0},
    {"safety_profile": "lax"},
    {"sandbox": "on"},
    {"safety_overrides": {"permit": []}},
    {"max_concurrent": 0},
]


@pytest.mark.parametrize("config", WRONG)
async def test_a_config_that_means_nothing_is_refused(tmp_path: Path, config: dict[str, Any]) -> None:
    """Wrong values stop the module at once; keys of others are the kernel's to tell."""
    with pytest.raises(ValueError, match="1 validation error"):
        async with BashSession(tmp_path, **config):
            raise AssertionError
    async with BashSession(tmp_path, unknown=1):
        pass


async def test_without_the_tool_there_is_nothing_to_tell() -> None:
    """A session in which somebody else has taken the name is left alone."""
    coordinator, seen = MockCoordinator(), EventRecorder()
    coordinator.hooks.register(SANDBOX_DEGRADED, seen)
    await on_session_ready(coordinator)
    assert seen.get_events() == []


MOUNTS = {"loop": mount_loop, "context": mount_context, "provider": mount_provider, "bash": mount}


class Loader:
    """Knows the modules of these tests."""

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        async def mount_with_config(coordinator: Any) -> Any:
            return await MOUNTS[module_id](coordinator, config)

        return mount_with_config


async def test_an_agent_runs_commands(tmp_path: Path) -> None:
    """In a whole session the model sees output, exit codes and refusals, and calls beside each other work."""
    commands = ["echo hi", "exit 2", "sudo id"]
    calls = [{"name": "bash", "arguments": {"command": command}} for command in commands]
    plan = {
        "session": {"orchestrator": "loop", "context": "context"},
        "providers": [{"module": "provider", "config": {"script": [{"tool_calls": calls}, "Done."]}}],
        "tools": [{"module": "bash", "config": {"sandbox": "off"}}],
    }
    session = AmplifierSession(plan, loader=Loader())
    session.coordinator.register_capability("session.working_dir", str(tmp_path))
    async with session:
        assert await session.execute("Do it.") == "Done."
        messages = await session.coordinator.get("context").get_messages()
    assert [message["content"][:69] for message in messages if message["role"] == "tool"] == [
        '{"stdout": "hi\\n", "stderr": "", "returncode": 0}',
        'Error: Exit code 2\n\n{"stdout": "", "stderr": "", "returncode": 2}',
        "Refused by the safety profile 'strict': it runs as another user ('sud",
    ]

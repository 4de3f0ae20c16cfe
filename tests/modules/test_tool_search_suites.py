"""The search tools keep the contract of their kind, alone, under chaos, and in a whole session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.modules.search_world import SearchSession

import amplifier_module_tool_search
from amplifier_core import AmplifierSession
from amplifier_core.message_models import ToolSpec
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from amplifier_kit.chaos.suites import ToolChaosTests
from amplifier_module_context_simple import mount as mount_context
from amplifier_module_loop_basic import mount as mount_loop
from amplifier_module_provider_mock import mount as mount_provider
from amplifier_module_tool_search import mount


class OfThisModule:
    """Tests of the module."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_tool_search.__file__ is not None
        return Path(amplifier_module_tool_search.__file__).parent


class OneTool(OfThisModule):
    """Tests of one tool of the module, in a folder of its own."""

    tool: ClassVar[str]

    @pytest.fixture
    async def tool_module(self, coordinator: MockCoordinator, tmp_path: Path) -> Any:
        coordinator.register_capability("session.working_dir", str(tmp_path))
        await mount(coordinator)
        return coordinator.get_mounted("tools")[self.tool]


class TestGrep(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Searching in files."""

    tool = "grep"


class TestGlob(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Searching for files."""

    tool = "glob"


@pytest.mark.slow
class TestUnderChaos(OfThisModule, ToolChaosTests):
    """Both under every fault."""

    sample_input = {"pattern": "*.py", "path": "."}

    @pytest.fixture(autouse=True)
    def in_a_small_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)


async def test_the_validator_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module passes every check that authors are offered."""
    monkeypatch.chdir(tmp_path)
    assert amplifier_module_tool_search.__file__ is not None
    result = await ToolValidator().validate(Path(amplifier_module_tool_search.__file__).parent)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_both_tools_are_mounted_with_their_schemas(tmp_path: Path) -> None:
    """Names and input are those that prompts and plans know."""
    session = await SearchSession(tmp_path).begin()
    specs = [ToolSpec.from_tool(tool) for tool in session.coordinator.get_mounted("tools").values()]
    options = ["-i", "-n", "-A", "-B", "-C", "glob", "type", "multiline", "head_limit", "offset", "include_ignored"]
    assert {spec.name: list(spec.parameters["properties"]) for spec in specs} == {
        "grep": ["pattern", "path", "output_mode", *options],
        "glob": ["pattern", "path", "type", "exclude", "include_ignored"],
    }
    assert [spec.parameters["required"] for spec in specs] == [["pattern"], ["pattern"]]


MOUNTS = {"loop": mount_loop, "context": mount_context, "provider": mount_provider, "search": mount}


class Loader:
    """Knows the modules of these tests."""

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        async def mount_with_config(coordinator: Any) -> Any:
            return await MOUNTS[module_id](coordinator, config)

        return mount_with_config


async def test_an_agent_searches(tmp_path: Path) -> None:
    """In a whole session the model sees what was found, and why something was not."""
    (tmp_path / "a.py").write_text("needle\n")
    (tmp_path / ".env").write_text("needle=secret")
    calls = [
        ("grep", {"pattern": "needle"}),
        ("glob", {"pattern": "*"}),
        ("grep", {"pattern": "needle", "path": ".env"}),
    ]
    script = [{"tool_calls": [{"name": name, "arguments": given}]} for name, given in calls]
    plan = {
        "session": {"orchestrator": "loop", "context": "context"},
        "providers": [{"module": "provider", "config": {"script": [*script, "Done."]}}],
        "tools": [{"module": "search", "config": {}}],
    }
    session = AmplifierSession(plan, loader=Loader())
    session.coordinator.register_capability("session.working_dir", str(tmp_path))
    async with session:
        assert await session.execute("Look.") == "Done."
        messages = await session.coordinator.get("context").get_messages()
    found, listed, refused = [message["content"] for message in messages if message["role"] == "tool"]
    assert '"files":["a.py"]' in found.replace(" ", "")
    assert '"path":"a.py"' in listed.replace(" ", "")
    assert refused.startswith("Not allowed to read ")
    assert "/.env: secrets are kept there." in refused

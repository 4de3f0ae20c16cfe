"""The file tools keep the contract of their kind, alone, under chaos, and in a whole session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.modules.filesystem_world import FileSession

import amplifier_module_tool_filesystem
from amplifier_core import AmplifierSession
from amplifier_core.message_models import ToolSpec
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation import ToolValidator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from amplifier_kit.chaos.suites import ToolChaosTests
from amplifier_module_context_simple import mount as mount_context
from amplifier_module_loop_basic import mount as mount_loop
from amplifier_module_provider_mock import mount as mount_provider
from amplifier_module_tool_filesystem import mount

TOOLS = ("read_file", "write_file", "edit_file", "apply_patch")


class OfThisModule:
    """Tests of the module."""

    @pytest.fixture
    def module_path(self) -> Path:
        assert amplifier_module_tool_filesystem.__file__ is not None
        return Path(amplifier_module_tool_filesystem.__file__).parent


class OneTool(OfThisModule):
    """Tests of one tool of the module, in a folder of its own."""

    tool: ClassVar[str]

    @pytest.fixture
    async def tool_module(self, coordinator: MockCoordinator, tmp_path: Path) -> Any:
        coordinator.register_capability("session.working_dir", str(tmp_path))
        await mount(coordinator)
        return coordinator.get_mounted("tools")[self.tool]


class TestReadFile(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Reading."""

    tool = "read_file"


class TestWriteFile(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Writing."""

    tool = "write_file"


class TestEditFile(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Editing."""

    tool = "edit_file"


class TestApplyPatch(OneTool, ToolBehaviorTests, ToolStructuralTests):
    """Patching."""

    tool = "apply_patch"


@pytest.mark.slow
class TestUnderChaos(OfThisModule, ToolChaosTests):
    """All four under every fault."""


@pytest.mark.slow
class TestUnderChaosWithInputThatWorks(OfThisModule, ToolChaosTests):
    """The same with input that does something."""

    sample_input = {
        "file_path": "chaos.txt",
        "content": "text\n",
        "old_string": "text",
        "new_string": "text\ntext",
        "patch": "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: chaos.txt\n*** End Patch",
    }

    @pytest.fixture
    def amplifier_module_config(self) -> dict[str, Any]:
        return {"require_read": False}


async def test_the_validator_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module passes every check that authors are offered."""
    monkeypatch.chdir(tmp_path)
    assert amplifier_module_tool_filesystem.__file__ is not None
    result = await ToolValidator().validate(Path(amplifier_module_tool_filesystem.__file__).parent)
    assert [check.message for check in result.checks if not check.passed] == []


async def test_four_tools_are_mounted_with_their_schemas(tmp_path: Path) -> None:
    """Names and required input are those that prompts and plans know."""
    session = await FileSession(tmp_path).begin()
    specs = [ToolSpec.from_tool(tool) for tool in session.coordinator.get_mounted("tools").values()]
    assert {spec.name: spec.parameters["required"] for spec in specs} == {
        "read_file": ["file_path"],
        "write_file": ["file_path", "content"],
        "edit_file": ["file_path"],
        "apply_patch": ["patch"],
    }
    properties = {spec.name: list(spec.parameters["properties"]) for spec in specs}
    assert properties == {
        "read_file": ["file_path", "offset", "limit"],
        "write_file": ["file_path", "content"],
        "edit_file": ["file_path", "old_string", "new_string", "replace_all", "edits"],
        "apply_patch": ["patch"],
    }


MOUNTS = {"loop": mount_loop, "context": mount_context, "provider": mount_provider, "files": mount}


class Loader:
    """Knows the modules of these tests."""

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        async def mount_with_config(coordinator: Any) -> Any:
            return await MOUNTS[module_id](coordinator, config)

        return mount_with_config


def plan(script: list[Any], config: dict[str, Any]) -> dict[str, Any]:
    return {
        "session": {"orchestrator": "loop", "context": "context"},
        "providers": [{"module": "provider", "config": {"script": script}}],
        "tools": [{"module": "files", "config": config}],
    }


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": arguments}]}


async def test_an_agent_works_on_files(tmp_path: Path) -> None:
    """In a whole session an agent reads, edits and is refused, and the model sees each result."""
    folder = FileSession(tmp_path).folder
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / ".env").write_text("KEY=secret")
    script = [
        call("edit_file", file_path="a.txt", old_string="one", new_string="two"),
        call("read_file", file_path="a.txt"),
        call("edit_file", file_path="a.txt", old_string="one", new_string="two"),
        call("read_file", file_path=".env"),
        "Done.",
    ]
    session = AmplifierSession(plan(script, {}), loader=Loader())
    session.coordinator.register_capability("session.working_dir", str(tmp_path))
    async with session:
        assert await session.execute("Change it.") == "Done."
        messages = await session.coordinator.get("context").get_messages()
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert [result.partition(",")[0].partition(":")[0][:40] for result in results] == [
        f"{folder}/a.txt is there already"[:40],
        '{"file_path"',
        '{"file_path"',
        f"Not allowed to read {folder}/.env"[:40],
    ]
    assert "secret" not in "".join(results).replace("secrets are kept there", "").replace("'allow_secrets'", "")
    assert (tmp_path / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("config", [{"io_timeout": 0}, {"allowed_write_paths": ["*"]}, {"allow_secrets": "yes, all"}])
async def test_a_config_that_means_nothing_is_refused(tmp_path: Path, config: dict[str, Any]) -> None:
    """Wrong values stop the module at once."""
    with pytest.raises(ValueError, match="1 validation error|2 validation errors"):
        await FileSession(tmp_path, **config).begin()
    assert issubclass(ModuleLoadError, ValueError)

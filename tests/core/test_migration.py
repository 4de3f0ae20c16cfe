"""What is different for users of the existing package: the page and its tests agree; names, models and plans.

``docs/migration.md`` names a test for every difference. Those about hooks, sessions and the loader are in the sibling
files ``test_migration_*.py``.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any
from unittest.mock import NonCallableMock

import pytest

import amplifier_core
from amplifier_core import interfaces, kernel_events, loader, module_sources
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import ALL_EVENTS
from amplifier_core.message_models import ToolCall, ToolSpec
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.session import AmplifierSession
from amplifier_core.testing import (
    EventRecorder,
    FakeClock,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedOrchestrator,
    SequentialIds,
    TestCoordinator,
)
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_core.utils.truncate import redact_config, redact_secrets
from amplifier_core.validation.mount_plan import MountPlanValidator

PAGE = Path(__file__).parents[2] / "docs/migration.md"
THE_CHECK_ITSELF = "test_the_page_and_the_tests_name_the_same_differences"


def names_of_tests() -> list[str]:
    """Names of the tests in this file and its siblings, without the check of the page."""
    trees = [
        ast.parse(file.read_text(encoding="utf-8")) for file in sorted(Path(__file__).parent.glob("test_migration*.py"))
    ]
    functions = [
        node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [function.name for function in functions if function.name.startswith("test_")]


def test_the_page_and_the_tests_name_the_same_differences() -> None:
    """Every row of the page ends with its test, every test has exactly one row."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| what |")]
    named = [re.findall(r"`(test_\w+)` \|$", row) for row in rows]
    assert [row for row, names in zip(rows, named, strict=True) if len(names) != 1] == []
    assert sorted(name for names in named for name in names) == sorted(set(names_of_tests()) - {THE_CHECK_ITSELF})


@pytest.mark.slow
def test_the_bare_import_loads_nothing_else() -> None:
    """After the import neither a room of the kernel nor pydantic is loaded; asking for a name loads it."""
    script = (
        "import sys, amplifier_core\n"
        "print([name for name in sys.modules if name.startswith(('amplifier_core.', 'pydantic'))])\n"
        "print(amplifier_core.HookResult.__module__, amplifier_core.events.TOOL_PRE)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "amplifier_core.models tool:pre"]


def test_every_name_is_one_object_under_all_its_paths() -> None:
    """There is one session class, and one of everything else, whichever path it is imported by."""
    assert amplifier_core.AmplifierSession is AmplifierSession
    assert amplifier_core.ModuleCoordinator is ModuleCoordinator
    assert loader.ModuleValidationError is module_sources.ModuleValidationError
    assert loader.AmplifierModuleLoader is loader.ModuleLoader


def test_the_rust_names_are_aliases_of_python_classes() -> None:
    """The flag says that there is no engine; old imports still work."""
    assert amplifier_core.RUST_AVAILABLE is False
    assert amplifier_core.RustSession is amplifier_core.AmplifierSession
    assert amplifier_core.RustHookRegistry is amplifier_core.HookRegistry
    assert amplifier_core.RustCoordinator is amplifier_core.ModuleCoordinator
    assert amplifier_core.RustCancellationToken is amplifier_core.CancellationToken


@pytest.mark.parametrize("name", ["_engine", "_collect_helper", "_async_compat", "_grpc_gen", "loader_grpc"])
def test_the_rooms_of_the_engine_are_gone(name: str) -> None:
    """What existed only to reach the engine or other languages cannot be imported."""
    assert importlib.util.find_spec(f"amplifier_core.{name}") is None


def test_private_helpers_of_sessions_and_loader_are_gone() -> None:
    """``_session_aenter``, ``_get_module_metadata`` and ``_ModuleDiscoveryError`` have no successor under that name."""
    session_init = importlib.import_module("amplifier_core._session_init")
    assert not hasattr(session_init, "_session_aenter")
    assert not hasattr(loader.ModuleLoader, "_get_module_metadata")
    assert not hasattr(loader, "_ModuleDiscoveryError")


def test_only_pydantic_and_typing_extensions_are_required() -> None:
    """click, PyYAML and tomli do not come along any more."""
    needed = [text for text in requires("amplifier-core") or [] if "extra ==" not in text]
    assert sorted(re.split(r"[^\w-]", text)[0] for text in needed) == ["pydantic", "typing-extensions"]


def test_new_events_are_announced_on_a_channel() -> None:
    """``ALL_EVENTS`` stays the closed list; the kernel's own additions are contributed as those of any module are."""
    session = AmplifierSession({"session": {"orchestrator": "loop-x", "context": "context-x"}})
    (contributor,) = session.coordinator.channels["observability.events"]
    assert contributor["callback"]() == ["session:config", "module:config_unknown", "module:cleanup_failed"]
    assert len(ALL_EVENTS) == 43
    assert set(kernel_events.KERNEL_EVENTS).isdisjoint(ALL_EVENTS)


def test_config_in_events_is_redacted_by_the_last_words_of_a_key() -> None:
    """Configuration that is told to hooks loses more secrets than ``redact_secrets``, which is as it was, takes."""
    config = {"auth_token": "s", "url": "https://me:pw@host/x", "max_tokens": 5}
    assert redact_secrets(config) == config
    assert redact_config(config) == {"auth_token": "[REDACTED]", "url": "https://[REDACTED]@host/x", "max_tokens": 5}


def test_protocols_can_be_checked_at_run_time() -> None:
    """``isinstance`` works, and a tool needs no schema."""

    class Tool:
        name = "t"
        description = "d"

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            return ToolResult()

    assert isinstance(Tool(), interfaces.Tool)
    assert not isinstance(object(), interfaces.Tool)
    assert not isinstance(Tool(), interfaces.Provider)


def test_a_tool_spec_is_made_from_either_kind_of_schema() -> None:
    """``input_schema`` and ``get_schema()`` give the same spec."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}

    class OldTool:
        name, description, input_schema = "t", "d", schema

    class NewTool:
        name, description = "t", "d"

        def get_schema(self) -> dict[str, Any]:
            return schema

    assert ToolSpec.from_tool(OldTool()) == ToolSpec.from_tool(NewTool())
    assert ToolSpec.from_tool(OldTool()).parameters == schema


def test_is_error_means_no_success() -> None:
    """A result made with ``is_error`` is a failure; before, the unknown key was ignored."""
    assert ToolResult(is_error=True, output="no such file").model_dump() == {
        "success": False,
        "output": "no such file",
        "error": None,
    }


def test_a_tool_call_reads_its_arguments_as_input() -> None:
    """``input`` is another name of ``arguments`` and no field of its own."""
    call = ToolCall(id="1", name="t", arguments={"a": 1})
    assert call.input is call.arguments
    assert "input" not in call.model_dump()


def test_one_function_turns_anything_into_json_data() -> None:
    """What events no longer do is offered to whoever writes them to disk."""
    assert to_jsonable({"when": float("nan"), ("a",): {1}, "object": AmplifierSession}) == {
        "when": "NaN",
        "('a',)": [1],
        "object": "<class 'amplifier_core.session.AmplifierSession'>",
    }


def test_the_plan_validator_accepts_what_sessions_accept() -> None:
    """Modules may be named by a bare id, with their config at the top level; checks come in reading order."""
    plan = {
        "session": {"orchestrator": "loop-x", "context": "context-x"},
        "orchestrator": {"config": {"rounds": 3}},
        "tools": ["tool-x"],
    }
    result = MountPlanValidator().validate(plan)
    assert (result.passed, result.warnings, result.format_errors()) == (True, [], "No errors")
    broken = MountPlanValidator().validate({"session": {}, "tools": 3, "providers": 4})
    assert [check.name for check in broken.errors] == [
        "session_orchestrator_present",
        "session_context_present",
        "providers_type",
        "tools_type",
    ]


async def test_fakes_are_plain_recordings() -> None:
    """The fakes are no ``unittest.mock`` objects; the names of it that tests use most are there."""
    tool = MockTool(name="t", description="d", return_value="out")
    result = await tool.execute({"a": 1})
    assert (result.output, tool.call_count, tool.last_input) == ("out", 1, {"a": 1})
    tool.execute.assert_called_once_with({"a": 1})
    assert not isinstance(tool.execute, NonCallableMock)
    assert not hasattr(tool.execute, "mock_calls")


async def test_the_mock_context_obeys_the_contract() -> None:
    """It sets and clears messages for real."""
    context = MockContextManager()
    assert isinstance(context, interfaces.ContextManager)
    await context.set_messages([{"role": "user", "content": "a"}])
    assert await context.get_messages() == [{"role": "user", "content": "a"}]
    await context.clear()
    assert context.messages == []


async def test_the_mock_coordinator_refuses_until_told() -> None:
    """Its approval system gives an answer that means something: no."""
    coordinator = MockCoordinator()
    ask = HookResult(action="ask_user", approval_prompt="sure?")
    assert (await coordinator.process_hook_result(ask, "x:y")).reason == "User denied: sure?"
    coordinator.approval_system.answer = "Allow"
    assert (await coordinator.process_hook_result(ask, "x:y")).action == "continue"


async def test_the_event_recorder_is_a_registry() -> None:
    """It keeps events, asks handlers registered with it, and can itself be registered as a handler."""
    recorder = EventRecorder()
    recorder.register("x:y", lambda event, data: HookResult(action="deny", reason="no"))
    assert (await recorder.emit("x:y", {"a": 1})).reason == "no"
    coordinator = ModuleCoordinator()
    coordinator.hooks.register("z:z", recorder)
    await coordinator.hooks.emit("z:z", {})
    assert [event for event, _ in recorder.get_events()] == ["x:y", "z:z"]


async def test_the_scripted_orchestrator_works_inside_a_session() -> None:
    """It takes ``coordinator=`` and leaves ``session:start`` and ``session:end`` to the session."""
    recorder, context = EventRecorder(), MockContextManager()
    turn: Any = ScriptedOrchestrator(["hello"]).execute
    assert await turn("hi", context, {}, {}, recorder, coordinator=ModuleCoordinator()) == "hello"
    assert [event for event, _ in recorder.events] == ["prompt:submit", "prompt:complete"]


async def test_new_fakes_stand_in_for_provider_time_and_ids() -> None:
    """A coordinator by its other name, a provider, a clock and ids."""
    coordinator = TestCoordinator(clock=FakeClock(), new_id=SequentialIds())
    coordinator.mount("providers", provider := MockProvider(["hello"]))
    assert coordinator.get_mounted("providers") == {"mock": provider}
    assert isinstance(provider, interfaces.Provider)
    assert (coordinator.timestamp(), coordinator.new_id()) == ("2025-01-01T00:00:00+00:00", "id-1")

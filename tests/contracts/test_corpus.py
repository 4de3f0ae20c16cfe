"""Modules as other people write them: each is mounted in a session, validated, and passes its own tests, unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from amplifier_core import AmplifierSession
from amplifier_core.loader import ModuleLoader
from amplifier_core.validation import (
    ContextValidator,
    HookValidator,
    OrchestratorValidator,
    ProviderValidator,
    ToolValidator,
)

CORPUS = Path(__file__).parent / "corpus"
BROKEN = CORPUS / "broken"
VALIDATORS: dict[str, Any] = {
    "provider": ProviderValidator,
    "tool": ToolValidator,
    "hook": HookValidator,
    "orchestrator": OrchestratorValidator,
    "context": ContextValidator,
}


class Entry(NamedTuple):
    """A repository of the corpus."""

    module_id: str
    kind: str
    names: tuple[str, ...] = ()
    """Under which names it mounts, where it mounts by name."""
    config: dict[str, Any] = {}

    @property
    def folder(self) -> Path:
        """Where it is."""
        conventional = CORPUS / f"amplifier-module-{self.module_id}"
        return conventional if conventional.exists() else CORPUS / self.module_id


ENTRIES = [
    Entry("tool-dice", "tool", ("roll_dice",), {"seed": 1}),
    Entry("tool-shelf", "tool", ("shelf_put", "shelf_take"), {"capacity": 2}),
    Entry("my-tool", "tool", ("my-tool",)),
    Entry("provider-parrot", "provider", ("parrot",), {"api_key": "k"}),
    Entry("provider-fixed", "provider", ("fixed",), {"text": "42"}),
    Entry("hooks-tally", "hook"),
    Entry("hooks-guard", "hook", (), {"denied": ["rm"]}),
    Entry("loop-five", "orchestrator"),
    Entry("loop-open", "orchestrator"),
    Entry("context-ledger", "context"),
    Entry("my-context", "context"),
]
BY_ID = {entry.module_id: entry for entry in ENTRIES}
USUAL = {
    "orchestrator": "loop-open",
    "context": "context-ledger",
    "provider": "provider-parrot",
    "tool": "tool-dice",
    "hook": "hooks-tally",
}

# What the suites have to say about each broken module; tests that are not named here have to pass.
EXPECTED: dict[str, dict[str, str]] = {
    "tool-raising": {
        "test_execute_returns_tool_result": r"raised KeyError: 'path'; return ToolResult\(success=False",
        "test_tool_result_has_required_fields": "raised KeyError: 'path'",
        "test_invalid_input_returns_error_result": "crashed with KeyError: 'path'. Look at the input first",
    },
    "tool-nameless": {
        "test_tool_has_name": "The tool's name is empty: the model calls the tool by it",
        "test_tool_has_description": "The tool's description is empty",
        "test_execute_returns_tool_result": "returned str, expected ToolResult",
        "test_tool_result_has_required_fields": "lacks success, output, error; return a ToolResult",
        "test_invalid_input_returns_error_result": "returned str; return ToolResult",
        "test_structural_validation": "- tool_name: .*name should not be empty",
    },
    "tool-sync": {
        "test_structural_validation": r"(?s)- mount_signature: mount\(\) should be async.*- on_session_ready_async: ",
    },
    "tool-leaky": dict.fromkeys(
        [
            "test_mount_succeeds",
            "test_tool_has_name",
            "test_tool_has_description",
            "test_tool_has_execute_method",
            "test_execute_returns_tool_result",
            "test_tool_result_has_required_fields",
            "test_invalid_input_returns_error_result",
        ],
        "Cleaning up after .* failed: LeakyTool.close raised AttributeError: .* A clean-up must not raise",
    ),
    "provider-keyless": {
        **dict.fromkeys(
            [
                "test_mount_succeeds",
                "test_get_info_returns_valid_provider_info",
                "test_list_models_returns_list",
                "test_provider_has_name_attribute",
                "test_parse_tool_calls_returns_list",
            ],
            "mounted no provider, nor did it return one. .*define a fixture 'amplifier_module_config'",
        ),
        "test_structural_validation": "No provider was mounted",
    },
    "provider-partial": {
        "test_mount_succeeds": "is no provider: it lacks parse_tool_calls. Add what is missing",
        "test_get_info_returns_valid_provider_info": "returned dict, expected ProviderInfo",
        "test_list_models_returns_list": "has str in its list, expected ModelInfo only",
        "test_parse_tool_calls_returns_list": "no attribute 'parse_tool_calls'",
        "test_structural_validation": r"does not implement Provider interface \(missing parse_tool_calls\)",
    },
    "hooks-chatty": {
        "test_handler_returns_hook_result": "(?s)Handler 'talk' answered 'tool:pre' with str .*return a HookResult",
        "test_cleanup_does_not_raise": "The clean-up raised RuntimeError: not now; it must not",
    },
    "loop-mute": {
        "test_execute_returns_string": r"returned an empty text although the provider had answered",
        "test_execute_with_empty_prompt": "with an empty prompt returned NoneType, expected text",
        "test_orchestrator_uses_provider": r"ended without a call of provider\.complete\(\)",
        "test_orchestrator_updates_context": "left no message in the context",
    },
    "context-forgetful": {
        "test_multiple_messages": r"ends with \['third'\] after \['first', 'second', 'third'\] were added",
        "test_clear_removes_messages": r"1 messages are left after clear\(\)",
        "test_internal_should_compact_returns_bool": r"_should_compact\(\) gave str, expected True or False",
        "test_internal_compact_does_not_crash": r"_compact_internal\(\) with one message crashed with TypeError",
        "test_add_invalid_message_does_not_crash": "crashed with AttributeError: .*Refuse it: raise ValueError",
        "test_get_messages_never_returns_none": r"get_messages\(\) gave NoneType for an empty context; return \[\]",
    },
}


@pytest.fixture(autouse=True)
def forget_imports() -> Iterator[None]:
    """Leaves the import system as it was."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("amplifier_module_", "my_")):
            del sys.modules[name]


class CorpusResolver:
    """Resolves ids to the folders of the corpus, as an application would to its sources."""

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
        folder = BY_ID[module_id].folder

        class Source:
            def resolve(self) -> Path:
                return folder

        return Source()


def plan_with(entry: Entry) -> dict[str, Any]:
    """A plan of corpus modules in which ``entry`` has the place of its kind."""
    chosen = {kind: BY_ID[module_id] for kind, module_id in USUAL.items()} | {entry.kind: entry}
    specs = {kind: {"module": each.module_id, "config": each.config} for kind, each in chosen.items()}
    return {
        "session": {"orchestrator": specs["orchestrator"], "context": specs["context"]},
        "providers": [specs["provider"]],
        "tools": [specs["tool"]],
        "hooks": [specs["hook"]],
    }


def run_tests(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the tests in ``folder`` as their author would, with the package installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "src")])}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "-q", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_repository_of_the_corpus_is_tested() -> None:
    """A folder that is added has to be named here."""
    assert {entry.folder for entry in ENTRIES} == {file.parent for file in CORPUS.glob("*/pyproject.toml")}
    assert {BROKEN / f"amplifier-module-{name}" for name in EXPECTED} == set(BROKEN.glob("amplifier-module-*"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.module_id)
async def test_a_module_serves_in_a_session(entry: Entry) -> None:
    """It is loaded from its folder, mounted beside modules of other authors, and a turn runs; nothing is reported."""
    session = AmplifierSession(plan_with(entry))
    session.coordinator.mount("module-source-resolver", CorpusResolver())
    async with session:
        answer = await session.execute("Say hello")
        (mounted,) = [each for each in session.report.mounted if each.module_id == entry.module_id]
        assert (mounted.kind, mounted.names) == (entry.kind, entry.names)
        messages = await session.coordinator.get("context").get_messages()
    assert answer == ("42" if entry.module_id == "provider-fixed" else "Say hello")
    assert [message["role"] for message in messages] == ["user", "assistant"]
    report = session.report
    assert (report.failed, report.skipped, report.unknown_keys, report.cleanup_errors) == ([], [], [], [])


async def test_conventional_names_are_found_in_search_paths() -> None:
    """Without a resolver, folders named after their modules are enough."""
    session = AmplifierSession(plan_with(BY_ID["tool-shelf"]))
    session.coordinator.loader = ModuleLoader(session.coordinator, search_paths=[CORPUS])
    async with session:
        tally, shelf = (session.coordinator.get_capability(name) for name in ("tally", "shelf.notes"))
        assert await session.execute("Say hello") == "Say hello"
        assert tally.ready
        assert shelf.is_open
    assert not shelf.is_open
    assert tally.counts["provider:request"] == 1


async def test_a_provider_without_its_key_is_skipped() -> None:
    """The session goes on with the other one, and the report tells."""
    plan = plan_with(BY_ID["provider-fixed"])
    plan["providers"].insert(0, {"module": "provider-parrot", "config": {}})
    session = AmplifierSession(plan)
    session.coordinator.mount("module-source-resolver", CorpusResolver())
    async with session:
        assert await session.execute("Say hello") == "42"
    assert [problem.module_id for problem in session.report.skipped] == ["provider-parrot"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.module_id)
async def test_a_module_is_valid(entry: Entry) -> None:
    """Its repository passes the validator of its kind, without a warning."""
    result = await VALIDATORS[entry.kind]().validate(entry.folder, config=entry.config)
    assert [f"{check.name}: {check.message}" for check in result.errors + result.warnings] == []


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.module_id)
def test_a_modules_own_tests_pass(entry: Entry) -> None:
    """Its author's test run ends well, with the suites among the tests."""
    done = run_tests(entry.folder, "-rA", "--tb=short")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"::test_structural_validation$", done.stdout, re.MULTILINE)
    assert re.search(r"::test_mount_succeeds$", done.stdout, re.MULTILINE)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What one run over all broken modules says: by module and test, the message, which is empty for a pass."""
    report = tmp_path_factory.mktemp("broken") / "report.xml"
    done = run_tests(BROKEN, f"--junit-xml={report}")
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, dict[str, str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        module = case.get("classname", "").partition(".")[0].removeprefix("amplifier-module-")
        told = "".join(f"{problem.get('message')}\n{problem.text}" for problem in case)
        tests = found.setdefault(module, {})
        tests[case.get("name", "")] = tests.get(case.get("name", ""), "") + told
    return found


@pytest.mark.slow
@pytest.mark.parametrize("module", EXPECTED)
def test_the_suites_say_what_is_broken(verdicts: dict[str, dict[str, str]], module: str) -> None:
    """Exactly the tests of the broken promises fail, each with the message that tells the author what to change."""
    told = {test: message for test, message in verdicts[module].items() if message}
    assert told.keys() == EXPECTED[module].keys()
    unclear = {test: told[test] for test, message in EXPECTED[module].items() if not re.search(message, told[test])}
    assert unclear == {}

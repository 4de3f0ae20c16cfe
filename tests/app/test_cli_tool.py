"""``amplifier tool``: list, info and invoke, with hooks and permissions as an agent has them."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.app.command import Command
from tests.app.run_world import write_bundle
from tests.app.test_inspector_modules import write_module

from amplifier.inspector.arguments import arguments_of
from amplifier.inspector.tool_call import Answer, DeniedProblem, invoke
from amplifier.problems import UsageProblem
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import HookResult, ToolResult

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield Command(tmp_path, monkeypatch, capsys)


@pytest.fixture
def bundle(command: Command) -> str:
    return write_bundle(command.work, ["Hello."], **FILES)


def test_tools_are_listed_with_their_modules(command: Command, bundle: str) -> None:
    """As a table with one sentence each, and as JSON with all of it."""
    result = command("tool", "list", "-B", bundle)
    assert result.code == 0
    rows = [line.split()[:2] for line in result.out.splitlines()[1:]]
    assert ["read_file", "tool-filesystem"] in rows
    listed = json.loads(command("tool", "list", "-B", bundle, "--json").out)
    assert [each["name"] for each in listed] == sorted(each["name"] for each in listed)


def test_a_tool_tells_what_it_takes(command: Command, bundle: str) -> None:
    """Its description, and the schema of its input."""
    told = json.loads(command("tool", "info", "read_file", "-B", bundle, "--json").out)
    assert "file_path" in told["parameters"]["properties"]
    assert command("tool", "info", "read_file", "-B", bundle).out.startswith("read_file\n\nReads a file")


def test_settings_of_a_folder_that_nobody_trusts_do_not_count(command: Command, bundle: str) -> None:
    """A clone cannot allow itself to write."""
    (command.work / ".amplifier").mkdir()
    (command.work / ".amplifier" / "settings.yaml").write_text("permissions: {mode: bypass}\n")
    args = ("tool", "invoke", "write_file", "-B", bundle, "file_path=a.txt", "content=1")
    refused = command(*args)
    assert (refused.code, "do not count" in refused.err) == (1, True)
    assert command(*args, "--trust").code == 0


def test_a_tool_may_come_from_a_source(command: Command, tmp_path: Path) -> None:
    """As a session has it."""
    body = "coordinator.register_capability('x', 1); await coordinator.mount('tools', Greeting())"
    package = write_module(tmp_path, "tool-sourced", body)
    tool = "\n\nclass Greeting:\n    name, description = 'greet', 'Greets.'\n\n    async def execute(self, input):\n"
    with (package / "__init__.py").open("a") as file:
        file.write(f"{tool}        return 'hello'\n")
    sourced = {"module": "tool-sourced", "source": str(package.parent)}
    bundle = write_bundle(command.work, ["Hello."], tools=[sourced])
    assert command("tool", "invoke", "greet", "-B", bundle).out == "hello\n"


def test_what_does_not_mount_is_told(command: Command) -> None:
    """The other tools are there all the same."""
    bundle = write_bundle(
        command.work, ["Hello."], tools=["tool-todo", {"module": "tool-web", "config": {"nothing": 1}}]
    )
    assert command("tool", "list", "-B", bundle).code == 0
    wrong = {"module": "tool-filesystem", "config": {"allowed_write_paths": 7}}
    broken = write_bundle(command.work, ["Hello."], name="broken", tools=["tool-todo", wrong])
    result = command("tool", "list", "-B", broken)
    assert (result.code, "tool-filesystem" in result.err, "todo" in result.out) == (0, True, True)


def test_a_tool_is_called_as_an_agent_calls_it(command: Command, bundle: str, tmp_path: Path) -> None:
    """What needs asking is refused where nobody is there; a mode allows it; arguments come in several forms."""
    write = ("tool", "invoke", "write_file", "-B", bundle)
    refused = command(*write, "file_path=a.txt", "content=1")
    assert (refused.code, "The call is not allowed" in refused.err, (command.work / "a.txt").exists()) == (
        1,
        True,
        False,
    )
    allowed = command(*write, "file_path=a.txt", "content=1", "--permission-mode", "accept-edits")
    assert (allowed.code, (command.work / "a.txt").read_text()) == (0, "1")
    given = tmp_path / "input.json"
    given.write_text('{"file_path": "a.txt"}')
    read = command("tool", "invoke", "read_file", "-B", bundle, "-i", f"@{given}", "--json")
    assert json.loads(read.out)["success"] is True
    failed = command("tool", "invoke", "read_file", "-B", bundle, "--input", '{"file_path": "none.txt"}')
    assert (failed.code, failed.out, "the tool failed: " in failed.err) == (1, "", True)


def test_input_comes_from_standard_input(command: Command, bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a dash."""
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"file_path": "."}'))
    assert command("tool", "invoke", "read_file", "-B", bundle, "-i", "-").code == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("read_fil",), "did you mean 'read_file'?"),
        (("xyz",), "There is no tool 'xyz'."),
        (("read_file",), "The tool needs file_path."),
        (("read_file", "file_path"), "'file_path' is no argument"),
        (("read_file", "file_path=.", "limt=1"), "did you mean 'limit'?"),
        (("read_file", "file_path=.", "zzzzzz=1"), "The tool has no argument 'zzzzzz'."),
        (("read_file", "-i", "{"), "The input is no JSON"),
        (("read_file", "-i", "[]"), "The input must be a JSON object."),
        (("read_file", "-i", "@nowhere"), "nowhere cannot be read"),
    ],
)
def test_mistakes_are_told(command: Command, bundle: str, args: tuple[str, ...], told: str) -> None:
    """With what the tool takes."""
    result = command("tool", "invoke", "-B", bundle, *args)
    assert (result.code, result.out, told in result.err) == (2, "", True)


def test_a_session_that_cannot_be_set_up_is_told(command: Command) -> None:
    """The kernel says why."""
    session = {"orchestrator": {"module": "loop-basic", "config": {"max_iterations": "x"}}, "context": "context-simple"}
    bundle = write_bundle(command.work, ["Hello."], session=session)
    result = command("tool", "list", "-B", bundle)
    assert (result.code, "The session cannot be set up" in result.err) == (1, True)


class Session:
    """A session with one tool, as far as a call needs one."""

    def __init__(self, answer: Any) -> None:
        self.coordinator = ModuleCoordinator()
        self.calls: list[dict[str, Any]] = []
        self.events: list[str] = []
        self._answer = answer
        self.coordinator.hooks.tap(self._note)

    name = "greet"
    description = "Greets."

    async def execute(self, input: dict[str, Any]) -> Any:
        self.calls.append(input)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    async def mounted(self) -> Session:
        await self.coordinator.mount("tools", self)
        return self

    def on(self, event: str, result: HookResult) -> None:
        async def answer(_: str, __: dict[str, Any]) -> HookResult:
            return result

        self.coordinator.hooks.register(event, answer, name=f"on {event}")

    async def _note(self, event: str, data: dict[str, Any]) -> None:
        self.events.append(event)


async def test_hooks_change_what_runs_and_what_comes_back() -> None:
    """What guards judged runs; a changed result, in either form, is the answer."""
    session = await Session(ToolResult(output="hello")).mounted()
    session.on("tool:pre", HookResult(action="modify", data={"tool_name": "greet", "tool_input": {"who": "B"}}))
    answer = await invoke(session, "greet", {"who": "A"})
    assert (answer[:3], session.calls, session.events) == (
        (True, "hello", None), [{"who": "B"}], ["tool:pre", "tool:post"],
    )  # fmt: skip
    session.on(
        "tool:post", HookResult(action="modify", data={"result": {"success": False, "error": {"message": "no"}}})
    )
    assert (await invoke(session, "greet", {}))[:3] == (False, "no", "no")
    other = await Session({"plain": 1}).mounted()
    other.on("tool:post", HookResult(action="modify", data={"tool_result": ToolResult(output="other")}))
    assert (await invoke(other, "greet", {})).output == "other"


async def test_what_a_tool_raises_is_an_answer_that_hooks_are_told() -> None:
    """As ``tool:error``."""
    session = await Session(ValueError("broken")).mounted()
    session.on("tool:error", HookResult())
    answer = await invoke(session, "greet", {})
    assert isinstance(answer, Answer)
    assert (answer.success, answer.error, session.events) == (False, "ValueError: broken", ["tool:pre", "tool:error"])


async def test_a_refusal_says_why() -> None:
    """With the reason of the hook, if it has one."""
    session = await Session("never").mounted()
    session.on("tool:pre", HookResult(action="deny"))
    with pytest.raises(DeniedProblem) as caught:
        await invoke(session, "greet", {})
    assert (caught.value.kind, session.calls) == ("denied", [])


@pytest.mark.slow
def test_as_a_process(command: Command, bundle: str) -> None:
    """A call that is allowed, and one that is not."""
    assert command.process("tool", "invoke", "read_file", "file_path=.", "-B", bundle).code == 0
    refused = command.process("tool", "invoke", "write_file", "file_path=a", "content=b", "-B", bundle)
    assert (refused.code, "not allowed" in refused.err) == (1, True)
    assert command.process("tool", "info", "nothing", "-B", bundle).code == 2


OPEN: dict[str, Any] = {"properties": {"n": {"type": "integer"}, "t": {"type": "string"}}, "additionalProperties": True}


def test_words_are_read_by_the_schema() -> None:
    """Where a text is wanted it is one; else JSON, and a text where it is none. Words count more than the JSON."""
    given = arguments_of('{"n": 1, "kept": 2}', ["n=3", "t=4", "x=[1]", "y=word"], OPEN)
    assert given == {"n": 3, "kept": 2, "t": "4", "x": [1], "y": "word"}


def test_a_closed_schema_takes_nothing_else() -> None:
    """Whether it is typed or JSON; a tool without arguments says so."""
    with pytest.raises(UsageProblem) as caught:
        arguments_of('{"x": 1}', [], {"additionalProperties": False})
    assert (caught.value.message, caught.value.hint) == ("The tool has no argument 'x'.", "It takes: nothing.")

"""The demo turn: a session on real modules, from the prompt to the load report."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from amplifier.__main__ import main
from amplifier.demo import context, loop, provider, tool, transcript
from amplifier.demo.loader import EmbeddedLoader, Mount
from amplifier.demo.turn import mount_plan, run_turn
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import PROMPT_SUBMIT, PROVIDER_REQUEST, TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.models import HookResult
from amplifier_core.module_sources import ModuleNotFoundError
from amplifier_core.session import AmplifierSession


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with three lines of Python in two files, as the current one."""
    (tmp_path / "one.py").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "two.py").write_text("no newline at the end", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "three.py").write_text("hidden\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mounts(**replaced: Mount) -> dict[str, Mount]:
    """The demo's modules, some of them replaced: ``hook=…`` is mounted in the place of the transcript."""
    return {
        "loop-demo": loop.mount,
        "context-list": context.mount,
        "provider-scripted": replaced.get("provider", provider.mount),
        "tool-count-lines": replaced.get("tool", tool.mount),
        "hooks-transcript": replaced.get("hook", partial(transcript.mount, write=lambda _: None)),
    }


async def turn_with(prompt: str = "count", **replaced: Mount) -> tuple[str, list[dict[str, Any]]]:
    """The answer of a turn and the messages it leaves."""
    async with AmplifierSession(mount_plan(), loader=EmbeddedLoader(mounts(**replaced))) as session:
        answer = await session.execute(prompt)
        return answer, await session.coordinator.get("context").get_messages()


def hook_on(event: str, result: HookResult) -> Mount:
    """A hook module that answers ``event`` with ``result``."""

    async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        coordinator.hooks.register(event, lambda *_: result)

    return mount


async def test_a_turn_tells_prompt_call_result_answer_and_report(tree: Path) -> None:
    """The transcript has every step in order, and all five modules are reported as mounted."""
    lines: list[str] = []
    assert await run_turn("How many lines are here?", lines.append) is True
    result = {"path": ".", "suffix": ".py", "files": 2, "lines": 3, "largest": {"one.py": 2, "inner/two.py": 1}}
    assert lines == [
        "prompt  How many lines are here?",
        "model   I count them.",
        'call    count_lines {"path": "."}',
        f"result  {json.dumps(result)}",
        "answer  There are 2 .py files with 3 lines below '.'. The largest: one.py (2), inner/two.py (1). "
        "(Scripted answer: no model was asked.)",
        "",
        "report  mounted: orchestrator loop-demo",
        "report  mounted: context context-list",
        "report  mounted: provider provider-scripted as scripted",
        "report  mounted: tool tool-count-lines as count_lines",
        "report  mounted: hook hooks-transcript",
    ]


async def test_a_directory_in_the_prompt_is_the_one_that_is_counted(tree: Path) -> None:
    """The script takes the first word that is a directory."""
    answer, _ = await turn_with("How much is in inner?")
    assert answer.startswith("There are 1 .py files with 1 lines below 'inner'.")


async def test_every_call_in_the_conversation_has_its_result(tree: Path) -> None:
    """The context holds prompt, call, result and answer, joined by the call's id."""
    _, messages = await turn_with()
    call = messages[1]["content"][1]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert (call["type"], call["id"], call["name"]) == ("tool_call", messages[2]["tool_call_id"], "count_lines")


@pytest.mark.parametrize("event", [PROMPT_SUBMIT, PROVIDER_REQUEST])
async def test_a_denied_step_ends_the_turn_with_the_reason(tree: Path, event: str) -> None:
    """Without prompt or model there is no turn; the answer says who refused."""
    answer, _ = await turn_with(hook=hook_on(event, HookResult(action="deny", reason="not today")))
    assert answer == "Denied: not today"


async def test_a_denied_tool_call_is_not_run_and_the_model_is_told(tree: Path) -> None:
    """The denial is the tool's result; the turn goes on."""
    answer, messages = await turn_with(hook=hook_on(TOOL_PRE, HookResult(action="deny", reason="hands off")))
    assert messages[2]["content"] == "Denied: hands off"
    assert answer.startswith("The tool did not give a count, it said: Denied: hands off")


async def test_modified_arguments_are_what_the_tool_gets(tree: Path) -> None:
    """A hook's ``modify`` of ``tool:pre`` decides what is executed."""
    result = HookResult(action="modify", data={"tool_input": {"path": "inner"}})
    answer, _ = await turn_with(hook=hook_on(TOOL_PRE, result))
    assert "below 'inner'" in answer


async def test_an_injection_reaches_the_model_in_this_request(tree: Path) -> None:
    """An ephemeral injection is in the request and not in the conversation."""
    seen: list[list[str | list[Any]]] = []

    class Watching(provider.ScriptedProvider):
        async def complete(self, request: ChatRequest, **kwargs: Any) -> Any:
            seen.append([message.content for message in request.messages])
            return await super().complete(ChatRequest(messages=[Message(role="tool", content="seen")]))

    async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        await coordinator.mount("providers", Watching())

    hint = HookResult(action="inject_context", context_injection="be brief", ephemeral=True)
    _, messages = await turn_with(hook=hook_on(PROVIDER_REQUEST, hint), provider=mount)
    assert seen == [["count", "be brief"]]
    assert "be brief" not in [message["content"] for message in messages]


async def test_a_tool_that_raises_is_an_event_and_a_result(tree: Path) -> None:
    """``tool:error`` instead of ``tool:post``, and the model reads what happened."""
    seen: list[tuple[str, Any]] = []

    class Broken(tool.CountLinesTool):
        async def execute(self, input: dict[str, Any]) -> Any:
            raise OSError("disk on fire")

    async def mount_tool(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", Broken())

    async def mount_hook(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        for event in (TOOL_POST, TOOL_ERROR):
            coordinator.hooks.register(event, lambda event, data: seen.append((event, data["error"])))

    _, messages = await turn_with(tool=mount_tool, hook=mount_hook)
    assert seen == [(TOOL_ERROR, {"type": "OSError", "msg": "disk on fire"})]
    assert messages[2]["content"] == "OSError: disk on fire"


async def test_an_unknown_tool_is_answered_with_those_there_are(tree: Path) -> None:
    """A call for a tool that is not mounted gets a result that helps the model."""

    class Misnamed(tool.CountLinesTool):
        name = "other"

    async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", Misnamed(), name="mounted_as")

    _, messages = await turn_with(tool=mount)
    assert messages[2]["content"] == "No tool 'other'; mounted: mounted_as"


async def test_a_model_that_never_answers_is_stopped(tree: Path) -> None:
    """The number of rounds is limited, and the answer says how to raise it."""

    class Asking(provider.ScriptedProvider):
        async def complete(self, request: ChatRequest, **kwargs: Any) -> Any:
            return await super().complete(request.model_copy(update={"messages": request.messages[:1]}))

    async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        await coordinator.mount("providers", Asking())

    answer, _ = await turn_with(provider=mount)
    assert answer == "There is no answer after 8 rounds; raise 'max_rounds' of the loop."


async def test_a_cancelled_session_is_not_asked_for_an_answer(tree: Path) -> None:
    """A cancellation before the model is asked ends the turn."""

    async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
        coordinator.hooks.register(PROMPT_SUBMIT, lambda *_: coordinator.request_cancel())

    answer, _ = await turn_with(hook=mount)
    assert answer == "Cancelled."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "missing"}, "'missing' is not a directory; give one that exists, such as '.'"),
        ({"path": 3}, "'path' and 'suffix' must be strings, got 3 and '.py'"),
    ],
)
async def test_the_tool_refuses_what_it_cannot_count(tree: Path, arguments: dict[str, Any], message: str) -> None:
    """A wrong argument is a failed result with a sentence, not an exception."""
    result = await tool.CountLinesTool().execute(arguments)
    assert (result.success, result.error) == (False, {"message": message})


async def test_an_unknown_module_is_named_with_those_there_are() -> None:
    """The embedded loader says what it has."""
    with pytest.raises(
        ModuleNotFoundError, match=r"Module 'tool-x' is not embedded here\. Use one of: tool-count-lines"
    ):
        await EmbeddedLoader({"tool-count-lines": tool.mount}).load("tool-x")


def test_the_command_runs_a_turn(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``amplifier PROMPT`` prints the transcript and ends with 0."""
    assert main(["Count, please"]) == 0
    assert capsys.readouterr().out.startswith("prompt  Count, please\n")


def test_the_command_refuses_an_empty_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run for nothing; the message says what to do."""
    with pytest.raises(SystemExit) as caught:
        main([" "])
    assert caught.value.code == 2
    assert "the prompt is empty: say what to do" in capsys.readouterr().err


def test_the_command_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` names the distribution's version."""
    assert (main(["--version"]), capsys.readouterr().out) == (0, "amplifier 3.0.0\n")

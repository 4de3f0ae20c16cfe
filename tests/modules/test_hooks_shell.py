"""Command hooks: what the user's commands are told, what they answer, and what becomes of it, with real processes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

import amplifier_module_hooks_shell as module
from amplifier_core import AmplifierSession, HookResult, ToolResult
from amplifier_core.events import (
    CONTEXT_PRE_COMPACT,
    ORCHESTRATOR_COMPLETE,
    PROMPT_SUBMIT,
    SESSION_END,
    SESSION_RESUME,
    SESSION_START,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
    USER_NOTIFICATION,
)
from amplifier_core.testing import TestCoordinator

# Nearly every test starts processes.
pytestmark = pytest.mark.slow

CALL: dict[str, Any] = {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_call_id": "call-1"}


def one(moment: str, *commands: str, matcher: str = "", **settings: Any) -> dict[str, Any]:
    """A config with these commands for one moment."""
    hooks = [{"type": "command", "command": command} for command in commands]
    return {"hooks": {moment: [{"matcher": matcher, "hooks": hooks}]}, **settings}


def answering(answer: dict[str, Any]) -> str:
    """A command that answers with JSON."""
    return f"cat <<'END'\n{json.dumps(answer)}\nEND"


async def mounted(config: dict[str, Any], folder: Path | None = None) -> TestCoordinator:
    """A coordinator with the module, working in ``folder``."""
    coordinator = TestCoordinator()
    if folder is not None:
        coordinator.register_capability("session.working_dir", str(folder))
    await module.mount(coordinator, config)
    return coordinator


async def emit(config: dict[str, Any], event: str = TOOL_PRE, data: dict[str, Any] | None = None) -> HookResult:
    """The answer of the hooks of ``config`` to one event."""
    return await (await mounted(config)).hooks.emit(event, CALL if data is None else data)


TOLD = [
    (TOOL_PRE, CALL, "PreToolUse", {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_use_id": "call-1"}),
    (
        TOOL_POST,
        {**CALL, "result": {"success": True}, "tool_result": ToolResult(output="x")},
        "PostToolUse",
        {
            "tool_name": "bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": "call-1",
            "tool_response": {"success": True},
        },
    ),
    (
        TOOL_POST,
        {"tool_name": "bash", "tool_result": {"output": "x"}},
        "PostToolUse",
        {"tool_name": "bash", "tool_response": {"output": "x"}},
    ),
    (
        TOOL_ERROR,
        {"tool_name": "bash", "error": {"msg": "no"}},
        "PostToolUseFailure",
        {"tool_name": "bash", "error": {"msg": "no"}},
    ),
    (PROMPT_SUBMIT, {"prompt": "Hi"}, "UserPromptSubmit", {"prompt": "Hi"}),
    (ORCHESTRATOR_COMPLETE, {"status": "success"}, "Stop", {"status": "success", "stop_hook_active": False}),
    (
        ORCHESTRATOR_COMPLETE,
        {"status": "success", "parent_id": "p"},
        "SubagentStop",
        {"status": "success", "stop_hook_active": False},
    ),
    (SESSION_START, {}, "SessionStart", {"source": "startup"}),
    (SESSION_RESUME, {}, "SessionStart", {"source": "resume"}),
    (SESSION_END, {"status": "completed"}, "SessionEnd", {"reason": "completed"}),
    (CONTEXT_PRE_COMPACT, {"message_count": 7}, "PreCompact", {"message_count": 7, "trigger": "auto"}),
    (USER_NOTIFICATION, {"message": "Look", "level": "info"}, "Notification", {"message": "Look", "level": "info"}),
]


@pytest.mark.parametrize(("event", "data", "moment", "fields"), TOLD, ids=[f"{row[2]} {row[0]}" for row in TOLD])
async def test_a_command_is_told_what_happens(
    event: str, data: dict[str, Any], moment: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    """Its standard input is one JSON object with the common fields and those of the moment."""
    coordinator = await mounted(one(moment, "cat > told.json"), tmp_path)
    await coordinator.hooks.emit(event, data)
    common = {"session_id": "test-session", "cwd": str(tmp_path), "hook_event_name": moment}
    assert json.loads((tmp_path / "told.json").read_text()) == {**common, **fields}


async def test_the_transcript_is_told_where_it_is_known(tmp_path: Path) -> None:
    """A context with a path has a transcript there; that of another session is not told."""

    class Context:
        path = Path("/tmp/transcript.jsonl")

    coordinator = await mounted(one("UserPromptSubmit", "cat > told.json"), tmp_path)
    vars(coordinator)["get"] = lambda point: Context()
    await coordinator.hooks.emit(PROMPT_SUBMIT, {"prompt": "Hi"})
    assert json.loads((tmp_path / "told.json").read_text())["transcript_path"] == "/tmp/transcript.jsonl"
    await coordinator.hooks.emit(PROMPT_SUBMIT, {"prompt": "Hi", "session_id": "child"})
    assert "transcript_path" not in json.loads((tmp_path / "told.json").read_text())


@pytest.mark.parametrize(
    ("command", "action", "reason"),
    [
        ("exit 0", "continue", None),
        ("echo fine", "continue", None),
        ("echo no rm here >&2; exit 2", "deny", "no rm here"),
        ("exit 2", "deny", "the hook 'exit 2' blocked it without giving a reason"),
        ('echo \'{"decision": "approve"}\'; echo no >&2; exit 2', "deny", "no"),
        (answering({"decision": "block", "reason": "not today"}), "deny", "not today"),
        (answering({"decision": "approve", "reason": "fine"}), "continue", None),
        (answering({"hookSpecificOutput": {"permissionDecision": "allow"}}), "continue", None),
        (answering({"hookSpecificOutput": {"permissionDecision": "defer"}}), "continue", None),
        (
            answering({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "why"}}),
            "deny",
            "why",
        ),
        (answering({"hookSpecificOutput": {"permissionDecision": "deny"}}), "deny", "a hook blocked it"),
        (
            answering({"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}),
            "deny",
            "a hook blocked it",
        ),
        (answering({"decision": "perhaps"}), "deny", None),
        (answering({"decision": ["block"]}), "deny", None),
        (answering({"hookSpecificOutput": {"updatedInput": "rm"}}), "deny", None),
        (answering({"hookSpecificOutput": "odd", "reason": 7, "systemMessage": None}), "continue", None),
        ("exit 1", "continue", None),
        ("kill -9 $$", "continue", None),
        ("no-such-command-anywhere", "continue", None),
        ("echo '{ not json'", "continue", None),
    ],
)
async def test_exit_codes_and_answers_decide(command: str, action: str, reason: str | None) -> None:
    """Exit code 2 blocks whatever is printed; JSON is obeyed; what cannot be understood in it blocks."""
    result = await emit(one("PreToolUse", command))
    assert result.action == action
    if reason is not None:
        assert result.reason == reason


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo oops >&2; exit 1", "ended with exit code 1: oops"),
        ("exit 3", "ended with exit code 3"),
        ("sleep 100", "did not end within 0.3 s and was stopped"),
        ("echo '{ not json'", "gave an answer that is no JSON: Expecting property name"),
        ("echo '{'; yes", "did not end within 0.3 s and was stopped"),
        (
            "echo '{'; head -c 100000 /dev/zero | tr '\\0' x",
            "gave an answer that is no JSON: it is longer than max_output_bytes",
        ),
    ],
)
async def test_a_command_that_fails_warns_or_blocks(command: str, told: str) -> None:
    """By default the work goes on with a warning; with fail_closed, for all or for one command, it does not."""
    settings: dict[str, Any] = {"timeout": 0.3 if "0.3 s" in told else 60, "max_output_bytes": 1000}
    warned = await emit(one("PreToolUse", command, **settings))
    assert (warned.action, warned.user_message_level, warned.user_message_source) == (
        "continue",
        "warning",
        "hooks-shell",
    )
    assert told in str(warned.user_message)
    closed = await emit(one("PreToolUse", command, fail_closed=True, **settings))
    assert closed.action == "deny"
    assert told in str(closed.reason)
    own = one("PreToolUse", command, **settings)
    own["hooks"]["PreToolUse"][0]["hooks"][0]["on_failure"] = "block"
    assert (await emit(own)).action == "deny"
    own["hooks"]["PreToolUse"][0]["hooks"][0]["on_failure"] = "continue"
    assert (await emit({**own, "fail_closed": True})).action == "continue"


async def test_a_command_that_cannot_be_started_fails(tmp_path: Path) -> None:
    """A working directory that is gone is told, and blocks if the config says so."""
    folder = tmp_path / "gone"
    folder.mkdir()
    coordinator = await mounted(one("PreToolUse", "exit 0", fail_closed=True), folder)
    folder.rmdir()
    result = await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert result.action == "deny"
    assert "could not be started" in str(result.reason)


async def test_a_command_that_takes_too_long_leaves_nothing_behind(tmp_path: Path) -> None:
    """Its own limit counts before that of the config, and what it started is ended with it."""
    config = one("PreToolUse", "sleep 300 & echo $! > pid; wait", timeout=60)
    config["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 2
    coordinator = await mounted(config, tmp_path)
    result = await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert "did not end within 2 s" in str(result.user_message)
    assert not _is_alive(int((tmp_path / "pid").read_text()))


async def test_cancelling_the_work_ends_the_command(tmp_path: Path) -> None:
    """A turn that is cancelled while a command runs does not leave it behind."""
    os.mkfifo(tmp_path / "started")
    coordinator = await mounted(one("PreToolUse", "echo $$ > started; exec sleep 300"), tmp_path)
    work = asyncio.create_task(coordinator.hooks.emit(TOOL_PRE, CALL))
    pid = int(await asyncio.to_thread((tmp_path / "started").read_text))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


async def test_the_user_is_asked_when_a_hook_wants_it() -> None:
    """The question names the tool and the reason; the user's answer counts."""
    answer = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it deletes"}}
    coordinator = await mounted(one("PreToolUse", answering(answer)))
    result = await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert (result.action, result.approval_prompt) == ("ask_user", "A hook asks whether 'bash' may go on: it deletes")
    assert (await coordinator.process_hook_result(result, TOOL_PRE)).action == "deny"


async def test_input_text_and_messages_of_one_answer_all_arrive() -> None:
    """The input is changed, the model gets the text, the user the message; guards judge the changed input."""
    answer = {
        "systemMessage": "changed it",
        "suppressOutput": True,
        "hookSpecificOutput": {"updatedInput": {"command": "ls -l"}, "additionalContext": "Mind the files."},
    }
    coordinator = await mounted(one("PreToolUse", answering(answer)))
    judged: list[Any] = []

    async def judge(event: str, data: dict[str, Any]) -> None:
        judged.append(data["tool_input"])

    coordinator.hooks.register(TOOL_PRE, judge, -100, on_error="deny")
    result = await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert result.action == "inject_context"
    assert result.context_injection == "<system-reminder>\nMind the files.\n</system-reminder>"
    assert result.data is not None
    assert result.data["tool_input"] == {"command": "ls -l"}
    assert (result.user_message, result.user_message_level, result.suppress_output) == ("changed it", "info", True)
    assert judged == [{"command": "ls"}, {"command": "ls -l"}]


async def test_commands_run_once_per_event_and_again_for_data_they_have_not_judged(tmp_path: Path) -> None:
    """Asked again about the same input, or about their own change, they are not run; another's change they judge."""
    answer = {"hookSpecificOutput": {"updatedInput": {"command": "ls -l"}}}
    coordinator = await mounted(one("PreToolUse", f"echo x >> runs; {answering(answer)}"), tmp_path)
    await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert (tmp_path / "runs").read_text() == "x\n"

    async def rewrite(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "tool_input": {"command": "rm"}})

    undo = coordinator.hooks.register(TOOL_PRE, rewrite, 50)
    await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert (tmp_path / "runs").read_text() == "x\n" * 3
    undo()
    await coordinator.hooks.emit(TOOL_PRE, CALL)
    assert (tmp_path / "runs").read_text() == "x\n" * 4


async def test_commands_of_one_event_run_side_by_side_and_the_strictest_wins(tmp_path: Path) -> None:
    """Two that wait for each other both end; of several answers a block counts most, then a question."""
    os.mkfifo(tmp_path / "pipe")
    both = await mounted(one("PreToolUse", "echo x > pipe", "cat pipe > got", timeout=20), tmp_path)
    assert (await both.hooks.emit(TOOL_PRE, CALL)).user_message is None
    assert (tmp_path / "got").read_text() == "x\n"
    ask = answering({"hookSpecificOutput": {"permissionDecision": "ask"}})
    allow = answering({"decision": "approve", "systemMessage": "m"})
    assert (await emit(one("PreToolUse", allow, ask))).action == "ask_user"
    strict = await emit(one("PreToolUse", allow, ask, "echo one >&2; exit 2", "echo two >&2; exit 2"))
    assert (strict.action, strict.reason) == ("deny", "one\ntwo")
    change = [answering({"hookSpecificOutput": {"updatedInput": {"command": word}}}) for word in ("a", "b")]
    conflict = await emit(one("PreToolUse", *change))
    assert (conflict.action, conflict.reason) == ("deny", "hooks want to change the input in different ways")
    assert (await emit(one("PreToolUse", change[0], f"{change[0]}\n"))).action == "modify"


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("", "bash", True),
        ("*", "anything", True),
        ("bash", "bash", True),
        ("Bash", "bash", True),
        ("Write|Edit", "edit_file", True),
        ("Edit", "Editor", False),
        ("ba", "bash", False),
        ("mcp__.*", "mcp__x__y", True),
    ],
)
async def test_a_matcher_matches_the_whole_name_ours_or_that_of_the_convention(
    matcher: str, tool: str, runs: bool
) -> None:
    """Part of a name is no match, and names of other agents for the same tool are understood."""
    result = await emit(one("PreToolUse", "exit 2", matcher=matcher), data={**CALL, "tool_name": tool})
    assert (result.action == "deny") == runs


async def test_a_command_gets_the_name_it_knows(tmp_path: Path) -> None:
    """One matched by the other name, or from a file for other agents, is told the other name."""
    command = "cat >> told.json; echo >> told.json"
    files = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}
    (tmp_path / "settings.json").write_text(json.dumps(files))
    config = {"hooks": one("PreToolUse", command, matcher="Bash")["hooks"], "files": ["settings.json"]}
    await (await mounted(config, tmp_path)).hooks.emit(TOOL_PRE, CALL)
    own = one("PreToolUse", command, matcher="bash|Bash")
    await (await mounted(own, tmp_path)).hooks.emit(TOOL_PRE, CALL)
    names = [json.loads(line)["tool_name"] for line in (tmp_path / "told.json").read_text().splitlines()]
    assert names == ["Bash", "bash"]


async def test_data_never_become_part_of_a_command(tmp_path: Path) -> None:
    """Quotes, substitutions and newlines in what the model wrote arrive as data."""
    evil = "'; touch owned; $(touch owned) `touch owned`\n\"; touch owned #"
    coordinator = await mounted(one("PreToolUse", "cat > told.json"), tmp_path)
    data = {"tool_name": "bash", "tool_input": {"command": evil, evil: 1}, "tool_call_id": evil}
    await coordinator.hooks.emit(TOOL_PRE, data)
    assert not (tmp_path / "owned").exists()
    assert json.loads((tmp_path / "told.json").read_text())["tool_input"] == {"command": evil, evil: 1}


async def test_secrets_of_the_environment_are_kept_from_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They get the rest, their session and project, and what the config allows."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-1234567")
    monkeypatch.setenv("DEPLOY_TOKEN", "t-1234567")
    monkeypatch.setenv("HARMLESS", "yes")
    coordinator = await mounted(one("PreToolUse", "env > env.txt", allow_env=["DEPLOY_TOKEN"]), tmp_path)
    await coordinator.hooks.emit(TOOL_PRE, CALL)
    lines = dict(line.split("=", 1) for line in (tmp_path / "env.txt").read_text().splitlines() if "=" in line)
    assert "OPENAI_API_KEY" not in lines
    assert (lines["DEPLOY_TOKEN"], lines["HARMLESS"]) == ("t-1234567", "yes")
    assert lines["AMPLIFIER_PROJECT_DIR"] == lines["CLAUDE_PROJECT_DIR"] == str(tmp_path)
    assert lines["AMPLIFIER_SESSION_ID"] == "test-session"


@pytest.mark.parametrize(
    ("moment", "event"),
    [("PostToolUse", TOOL_POST), ("PostToolUseFailure", TOOL_ERROR), ("Stop", ORCHESTRATOR_COMPLETE)],
)
async def test_a_block_after_the_fact_is_told_to_the_model(moment: str, event: str) -> None:
    """What has happened cannot be refused, so the reason goes into the conversation."""
    result = await emit(one(moment, "echo lint failed >&2; exit 2"), event)
    assert result.action == "inject_context"
    assert result.context_injection == "<system-reminder>\nlint failed\n</system-reminder>"
    both = answering({"decision": "block", "reason": "r", "hookSpecificOutput": {"additionalContext": "c"}})
    assert (await emit(one(moment, both), event)).context_injection == "<system-reminder>\nc\n\nr\n</system-reminder>"


@pytest.mark.parametrize(("moment", "event"), [("SessionEnd", SESSION_END), ("Notification", USER_NOTIFICATION)])
async def test_a_block_that_reaches_nobody_is_logged(moment: str, event: str, caplog: pytest.LogCaptureFixture) -> None:
    """Where neither the work nor the model can be reached, the log has it."""
    with caplog.at_level(logging.WARNING):
        assert (await emit(one(moment, "echo no >&2; exit 2"), event, {})).action == "continue"
    assert f"A hook refuses '{moment}', which only tells what has happened: no" in caplog.text


async def test_a_compaction_and_a_prompt_can_be_refused() -> None:
    """Both are moments before the fact."""
    assert (await emit(one("PreCompact", "exit 2", matcher="auto"), CONTEXT_PRE_COMPACT, {})).action == "deny"
    assert (await emit(one("PreCompact", "exit 2", matcher="manual"), CONTEXT_PRE_COMPACT, {})).action == "continue"
    assert (await emit(one("UserPromptSubmit", "exit 2"), PROMPT_SUBMIT, {"prompt": "x"})).action == "deny"


async def test_plain_output_at_a_prompt_is_a_text_for_the_model() -> None:
    """What a command prints when a session starts comes with the first prompt, once; at a prompt, with that."""
    config = {
        "hooks": {**one("SessionStart", "echo branch main")["hooks"], **one("UserPromptSubmit", "echo now")["hooks"]}
    }
    coordinator = await mounted(config)
    assert (await coordinator.hooks.emit(SESSION_START, {})).action == "continue"
    first = await coordinator.hooks.emit(PROMPT_SUBMIT, {"prompt": "Hi"})
    second = await coordinator.hooks.emit(PROMPT_SUBMIT, {"prompt": "Hi"})
    assert first.context_injection == "<system-reminder>\nbranch main\n\nnow\n</system-reminder>"
    assert second.context_injection == "<system-reminder>\nnow\n</system-reminder>"


async def test_a_session_start_alone_is_told_with_the_prompt_as_well() -> None:
    """No command for prompts is needed for that."""
    coordinator = await mounted(one("SessionStart", "echo hello", matcher="startup"))
    await coordinator.hooks.emit(SESSION_START, {})
    result = await coordinator.hooks.emit(PROMPT_SUBMIT, {"prompt": "Hi"})
    assert result.context_injection == "<system-reminder>\nhello\n</system-reminder>"


async def test_a_hook_can_stop_the_agent() -> None:
    """``continue: false`` refuses what was asked about and cancels the turn."""
    for answer, reason in (({"continue": False, "stopReason": "enough"}, "enough"), ({"continue": False}, None)):
        coordinator = await mounted(one("PreToolUse", answering(answer)))
        result = await coordinator.hooks.emit(TOOL_PRE, CALL)
        assert result.action == "deny"
        assert reason is None or result.reason == reason
        assert coordinator.cancellation.is_cancelled


async def test_children_are_under_the_same_hooks(tmp_path: Path) -> None:
    """A child session inherits the commands, which are told its own id."""
    parent, child = await mounted(one("PreToolUse", "cat > told.json; exit 2"), tmp_path), TestCoordinator()
    child.hooks.inherit_guards_from(parent.hooks)
    child.hooks.set_default_fields(session_id="child-1", parent_id="test-session")
    assert (await child.hooks.emit(TOOL_PRE, CALL)).action == "deny"
    assert json.loads((tmp_path / "told.json").read_text())["session_id"] == "child-1"


async def test_only_events_with_commands_are_listened_to_and_cleaning_up_ends_it() -> None:
    """Without commands nothing is registered; the clean-up removes everything."""
    assert (await mounted({})).hooks.list_handlers() == {}
    coordinator = TestCoordinator()
    remove = await module.mount(coordinator, one("PreToolUse", "exit 2"))
    assert coordinator.hooks.list_handlers() == {TOOL_PRE: ["hooks-shell"] * 3}
    remove()
    assert (await coordinator.hooks.emit(TOOL_PRE, CALL)).action == "continue"


async def test_what_was_answered_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long session keeps the latest answers only."""
    from amplifier_module_hooks_shell import bridge

    monkeypatch.setattr(bridge, "_MOST_REMEMBERED", 1)
    coordinator = await mounted(one("UserPromptSubmit", "true", matcher="never"))
    for prompt in ("a", "b", "c"):
        assert (await coordinator.hooks.emit(PROMPT_SUBMIT, {"prompt": prompt})).action == "continue"


async def test_a_whole_turn_obeys_the_hooks(tmp_path: Path) -> None:
    """A refused call does not run and the model is told why; feedback on another one is in the conversation."""
    ran: list[Any] = []

    class RunTool:
        name, description = "bash", "Runs."
        input_schema = {"type": "object", "properties": {"command": {"type": "string"}}}

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            ran.append(input)
            return ToolResult(output="done")

    script = [
        {"tool_calls": [{"name": "bash", "arguments": {"command": word}} for word in ("rm -rf x", "ls")]},
        {"text": "Fine."},
    ]
    plan = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [{"module": "provider-mock", "config": {"script": script}}],
    }
    guard = "grep -q 'rm -rf' && { echo 'no rm -rf, please' >&2; exit 2; }; exit 0"
    hooks = {
        **one("PreToolUse", guard, matcher="Bash")["hooks"],
        **one("PostToolUse", "echo lint >&2; exit 2")["hooks"],
    }
    async with AmplifierSession(plan) as session:
        await session.coordinator.mount("tools", RunTool())
        await module.mount(session.coordinator, {"hooks": hooks})
        assert await session.execute("Go") == "Fine."
        messages = await session.coordinator.get("context").get_messages()
    assert ran == [{"command": "ls"}]
    told = [message["content"] for message in messages if message["role"] in ("tool", "user")]
    assert told == ["Go", "Denied: no rm -rf, please", "done", "<system-reminder>\nlint\n</system-reminder>"]

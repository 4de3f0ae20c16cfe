"""What is shown of a session: recorded events give the expected lines, on any terminal, and nothing in a pipe."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import pty
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import amplifier_module_hooks_streaming_ui
from amplifier_core import AmplifierSession, ToolResult
from amplifier_core.events import (
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    LLM_RESPONSE,
    ORCHESTRATOR_COMPLETE,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
    USER_NOTIFICATION,
)
from amplifier_core.testing import RecordingDisplay, TestCoordinator
from amplifier_core.validation import HookValidator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from amplifier_kit.chaos.suites import HookChaosTests
from amplifier_module_hooks_streaming_ui import display as display_file
from amplifier_module_hooks_streaming_ui import mount
from amplifier_module_hooks_streaming_ui.config import StreamingUiConfig, UiSettings
from amplifier_module_hooks_streaming_ui.console import Console, terminal_of
from amplifier_module_hooks_streaming_ui.lines import Line, arguments, outcome, prose
from amplifier_module_hooks_streaming_ui.painting import Terminal, paint, width_of
from amplifier_module_hooks_streaming_ui.rendering import Renderer, label_of

PACKAGE = Path(str(amplifier_module_hooks_streaming_ui.__file__)).parent
Events = list[tuple[str, dict[str, Any]]]
ME: dict[str, Any] = {"session_id": "s-1", "parent_id": None}


def shown(events: Events, terminal: Terminal = Terminal(), **settings: Any) -> list[str]:  # noqa: B008 - unchangeable
    """What a terminal shows of recorded events."""
    renderer = Renderer(UiSettings(**settings))
    rows: list[str] = []
    for event, data in events:
        data = {**ME, **data}
        lines = renderer.end_of_turn(data) if event == ORCHESTRATOR_COMPLETE else renderer.lines(event, data)
        rows += paint(lines, terminal).splitlines()
    return rows


def block(kind: str, text: str) -> Events:
    """The events of one block of an answer."""
    key = "thinking" if kind == "thinking" else "text"
    facts = {"block_type": kind, "block_index": 0}
    return [
        (CONTENT_BLOCK_START, facts),
        (CONTENT_BLOCK_END, {**facts, "block": {"type": kind, key: text}}),
    ]


def call(name: str, call_id: str, given: Any = None, result: Any = None) -> Events:
    """The events of one tool call."""
    facts = {"tool_name": name, "tool_call_id": call_id, "tool_input": given or {}}
    return [(TOOL_PRE, facts), (TOOL_POST, {**facts, "tool_result": result or ToolResult(output="done")})]


async def recorded(script: list[Any], orchestrator: str = "loop-basic") -> Events:
    """The events of a turn that really took place."""
    plan = {
        "session": {"orchestrator": orchestrator, "context": "context-simple"},
        "providers": [{"module": "provider-mock", "config": {"script": script}}],
    }
    events: Events = []

    async def record(event: str, data: dict[str, Any]) -> None:
        events.append((event, data))

    async with AmplifierSession(plan, session_id="s-1") as session:
        session.coordinator.mount("tools", Echo())
        for event in Renderer(UiSettings()).events:
            session.coordinator.hooks.register(event, record)
        await session.execute("Go")
    return events


class Echo:
    name, description = "echo", "Says it again."
    input_schema = {"type": "object"}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        if "fail" in input:
            return ToolResult(success=False, error={"message": "it does not work"})
        if "raise" in input:
            raise RuntimeError("it broke")
        return ToolResult(output=input)


@pytest.mark.slow
@pytest.mark.parametrize("orchestrator", ["loop-basic", "loop-streaming"])
async def test_a_recorded_turn_is_shown(orchestrator: str) -> None:
    """Thinking, text between calls, calls with their results, and one line of usage; the answer is the host's."""
    usage = {"input_tokens": 1_000, "output_tokens": 10, "cache_read_tokens": 500}
    calls = [{"name": "echo", "arguments": {"text": "hi"}, "id": "c1"}, {"name": "echo", "arguments": {"fail": 1}}]
    events = await recorded(
        [
            {"thinking": "First this.", "text": "I look.", "tool_calls": calls[:1], "usage": usage},
            {"tool_calls": [*calls[1:], {"name": "echo", "arguments": {"raise": True}, "id": "c3"}], "usage": usage},
            {"text": "All done.", "usage": usage},
        ],
        orchestrator,
    )
    rows = shown(events)
    parallel = rows.index("> echo [call-1]") if "> echo [call-1]" in rows else 0
    assert rows[:7] == [
        "Thinking…",
        "First this.",
        "I look.",
        "> echo [c1]",
        "  text: hi",
        "✓ echo [c1]",
        '  {"text": "hi"}',
    ]
    assert parallel == 7
    assert sorted(rows[7:-1]) == sorted(
        [
            "> echo [call-1]",
            "  fail: 1",
            "✗ echo [call-1]",
            "  it does not work",
            "> echo [c3]",
            "  raise: true",
            "✗ echo [c3]",
            "  it broke",
        ]
    )
    assert rows[-1] == "Input: 3,000 (50 % cached) | Output: 30 | Total: 3,030"


def test_parts_can_be_left_out() -> None:
    """Thinking, arguments, results and usage each have a setting."""
    events = [*block("thinking", "hm"), *call("bash", "1", {"command": "ls"}), (ORCHESTRATOR_COMPLETE, {})]
    events.insert(0, (PROVIDER_RESPONSE, {"usage": {"input_tokens": 1}}))
    off = {"show_thinking_stream": False, "show_tool_lines": 0, "show_token_usage": False}
    assert shown(events, **off) == ["> bash [1]", "✓ bash [1]"]


def test_usage_is_counted_once_per_call_and_told_once_per_turn() -> None:
    """The provider's report goes before the loop's; a call that only one of them tells is counted, too."""
    usage = {"usage": {"input_tokens": 100, "output_tokens": 1}}
    both = [(PROVIDER_REQUEST, {}), (LLM_RESPONSE, usage), (PROVIDER_RESPONSE, usage)]
    failed = [(PROVIDER_REQUEST, {}), (LLM_RESPONSE, {"usage": None})]
    events = [*both, *failed, (PROVIDER_RESPONSE, usage), (LLM_RESPONSE, usage), (ORCHESTRATOR_COMPLETE, {})]
    line = "Input: 300 | Output: 3 | Total: 303"
    assert shown([*events, (ORCHESTRATOR_COMPLETE, {}), *both, (ORCHESTRATOR_COMPLETE, {})]) == [
        line,
        "Input: 100 | Output: 1 | Total: 101",
    ]


def test_the_last_text_is_left_to_the_host_and_all_others_are_shown() -> None:
    """A text is shown when the turn goes on after it: with another block, a call or a request."""
    events = [
        *block("text", "one"),
        *block("text", "two"),
        (PROVIDER_REQUEST, {}),
        *block("text", "three"),
        *block("thinking", "hm"),
        *block("text", "four"),
        *call("bash", "1"),
        *block("text", "  "),
        *block("text", "the answer"),
        (ORCHESTRATOR_COMPLETE, {}),
        (PROVIDER_REQUEST, {}),
    ]
    assert shown(events) == [
        "one",
        "two",
        "three",
        "Thinking…",
        "hm",
        "four",
        "> bash [1]",
        "✓ bash [1]",
        "  done",
    ]


def test_what_runs_side_by_side_is_told_apart() -> None:
    """Calls have their ids, and agents their names and a part of their ids; texts of one never end up with another."""
    one = {"session_id": "s-1-0123456789abcdef_coder", "parent_id": "s-1"}
    other = {"session_id": "s-1-fedcba9876543210_coder", "parent_id": "s-1"}
    first, second = (call("bash", call_id, {"command": call_id}) for call_id in ("toolu_01AAAAAA", "toolu_01BBBBBB"))
    events: Events = [
        (CONTENT_BLOCK_END, {**one, "block_type": "text", "block": {"text": "from one"}}),
        (CONTENT_BLOCK_END, {**other, "block_type": "text", "block": {"text": "from the other"}}),
        *[(event, {**data, **other}) for event, data in first[:1]],
        *[(event, {**data, **one}) for event, data in second],
        *[(event, {**data, **other}) for event, data in first[1:]],
    ]
    assert shown(events) == [
        "[coder 3210] from the other",
        "[coder 3210] > bash [01AAAAAA]",
        "[coder 3210]   command: toolu_01AAAAAA",
        "[coder cdef] from one",
        "[coder cdef] > bash [01BBBBBB]",
        "[coder cdef]   command: toolu_01BBBBBB",
        "[coder cdef] ✓ bash [01BBBBBB]",
        "[coder cdef]   done",
        "[coder 3210] ✓ bash [01AAAAAA]",
        "[coder 3210]   done",
    ]


@pytest.mark.parametrize(
    ("session_id", "label"), [("a-b_agent", "[agent a-b]"), ("0123456789", "[23456789]"), ("", "[]"), ("_x", "[x]")]
)
def test_a_child_has_a_label_whatever_its_id(session_id: str, label: str) -> None:
    """Ids of other makers are shortened at their beginning, which children share."""
    assert label_of({"session_id": session_id, "parent_id": "p"}) == label


def test_events_of_any_form_are_survived() -> None:
    """Fields may be missing or of another type."""
    odd = [
        (CONTENT_BLOCK_END, {"block_type": "text", "block": SimpleNamespace(text="from an object")}),
        (CONTENT_BLOCK_END, {"block_type": "text", "block": 7}),
        (TOOL_PRE, {"tool_input": [1, "a"]}),
        (TOOL_PRE, {"tool_input": None}),
        (TOOL_POST, {"tool_result": None}),
        (TOOL_POST, {"tool_result": {"success": False, "error": None, "output": {"a": 1}}}),
        (TOOL_POST, {"tool_result": {"success": False, "error": "text"}}),
        (TOOL_ERROR, {"error": "plain"}),
        (TOOL_ERROR, {"error": {"type": "X"}}),
        (USER_NOTIFICATION, {"message": "look", "level": "warning"}),
        (USER_NOTIFICATION, {}),
    ]
    assert shown(odd) == [
        "from an object",
        "> tool",
        '  [1, "a"]',
        "> tool",
        "✓ tool",
        "✗ tool",
        '  {"a": 1}',
        "✗ tool",
        "  text",
        "✗ tool",
        "  plain",
        "✗ tool",
        "look",
        "",
    ]


def test_long_arguments_and_results_are_cut() -> None:
    """So many lines, and a note for the rest."""
    assert [line.text for line in arguments({"a": "1\n2\n3\n4", "b": {"c": [1]}}, 3)] == [
        "a:",
        "  1",
        "  2",
        "... 3 more lines",
    ]
    assert [line.text for line in outcome(ToolResult(output="1\n2"), 1)[1]] == ["1", "... 1 more line"]
    assert [line.text for line in outcome(ToolResult(output={"n": None}), 5)[1]] == ['{"n": null}']
    assert len(prose("x\n" * 500, "plain", 200)) == 201
    assert sum(len(line.text) for line in prose("x" * 1_000_000, "plain", 5)) == 20_000


ATTACKS = {
    "colours": "\x1b[31mred\x1b[0m",
    "clear screen": "\x1b[2J\x1b[Hgone",
    "title": "\x1b]0;owned\x07x",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07x",
    "link": "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\",
    "device control": "\x1bP+q544e\x1b\\x",
    "carriage return": "rm -rf /\rls",
    "backspaces": "rm -rf /\x08\x08\x08\x08\x08\x08\x08\x08ls",
    "8-bit": "\x9b31mred \x9d0;x\x9c",
    "right to left": "\u202etxt.exe",
    "null": "a\x00b",
    "newlines": "a\n\n> sudo [fake]\n✓ sudo [fake]",
    "vertical": "a\x0bb\x0cc\x85d\u2028e",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_control_sequences_of_others_never_reach_a_terminal(attack: str) -> None:
    """Whoever writes model output, tool names, arguments, results or ids: only what we colour ourselves is coloured."""
    evil = ATTACKS[attack]
    events = [
        *block("thinking", evil),
        *block("text", evil),
        *call(evil, evil, {evil: evil, "list": [evil]}, ToolResult(output=evil)),
        *call(evil, evil, evil, ToolResult(success=False, error={"message": evil})),
        (TOOL_ERROR, {"tool_name": evil, "error": {"msg": evil}}),
        (USER_NOTIFICATION, {"message": evil}),
    ]
    child = [(event, {**data, "session_id": evil, "parent_id": "p"}) for event, data in events]
    for terminal in (Terminal(), Terminal(has_colours=True), Terminal(encoding="ascii")):
        rows = shown([*events, *child], terminal)
        text = "\n".join(rows)
        for ours in ("\x1b[2m", "\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[0m"):
            text = text.replace(ours, "") if terminal.has_colours else text
        assert all(char == "\n" or char.isprintable() for char in text)


def test_a_name_with_line_ends_cannot_pretend_to_be_another_call() -> None:
    """Names, ids and keys stay on one line; a result is indented below its call."""
    rows = shown(call("a\n> sudo", "1\n2", {"k\n> sudo": "v"}, ToolResult(output="x\n✓ sudo")))
    assert rows == ["> a > sudo [1 2]", "  k > sudo: v", "✓ a > sudo [1 2]", "  x", "  ✓ sudo"]


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.text(), st.sampled_from(["plain", "quiet", "good", "bad"]), st.booleans())),
    st.integers(20, 60),
)
def test_no_row_is_wider_than_the_terminal(lines: list[tuple[str, Any, bool]], width: int) -> None:
    """Whatever is written, with wide and combining characters, fits; and prose loses nothing but spaces."""
    for text, style, is_prose in lines:
        for line in prose(text, style, 1_000):
            painted = paint([Line(line.text, style, 2, is_prose=is_prose)], Terminal(width))
            assert all(width_of(row) <= max(width, 22) for row in painted.splitlines())
            if is_prose:
                assert "".join(painted.split()) == "".join(line.text.split())


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("👍", 2), ("", 0)])
def test_a_text_is_as_wide_as_it_is_shown(text: str, width: int) -> None:
    """Wide characters take two columns, combining ones none."""
    assert width_of(text) == width


def test_rows_are_broken_at_spaces_where_there_are_any() -> None:
    """A word that is longer than a row is cut."""
    painted = paint([Line("aaa bbbbbbbbbbbbbbbbbbbb cc " + "d" * 25, is_prose=True)], Terminal(20))
    assert painted == "aaa\nbbbbbbbbbbbbbbbbbbbb\ncc\nddddddddddddddddddddd"[:-1] + "\nddddd\n"


def test_what_is_no_prose_is_clipped() -> None:
    """A line that is too long ends in a sign for it, in the terminal's own alphabet."""
    line = Line("x" * 40)
    assert paint([line], Terminal(20)) == "x" * 19 + "…\n"
    assert paint([line], Terminal(20, encoding="ascii")) == "x" * 17 + "...\n"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", "✓ é 漢\n"), ("ascii", "ok ? ?\n"), ("latin-1", "ok é ?\n"), ("no-such", "ok ? ?\n")],
)
def test_a_terminal_gets_only_what_it_can_show(encoding: str, expected: str) -> None:
    """Signs have a plain form, and other characters a stand-in."""
    assert paint([Line("é 漢", "good")], Terminal(encoding=encoding)) == expected


def test_colours_are_ours_and_end_with_their_row() -> None:
    """Each row is coloured for itself; plain and empty ones are not."""
    lines = [Line("a", "good"), Line("b"), Line("", "quiet"), Line("c", "quiet", 2, "[x]")]
    assert paint(lines, Terminal(has_colours=True)) == "\x1b[32m✓ a\x1b[0m\nb\n\n[x]   \x1b[2mc\x1b[0m\n"


class Tty(io.StringIO):
    """A stream that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wishes about colours and width."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("plain_environment")
@pytest.mark.parametrize(
    ("variables", "is_terminal", "has_colours"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colours_are_for_terminals_whose_user_wants_them(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_terminal: bool, has_colours: bool
) -> None:
    """NO_COLOR goes before everything else; a dumb terminal has none."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal_of(Tty() if is_terminal else io.StringIO()).has_colours is has_colours


@pytest.mark.usefixtures("plain_environment")
def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS counts first, then what the system says, else 80."""
    assert terminal_of(io.StringIO()).width == 80
    main, other = pty.openpty()
    with os.fdopen(main), os.fdopen(other, "w") as stream:
        assert terminal_of(stream).width == 80
        subprocess.run(["stty", "columns", "133"], stdin=stream, check=True)
        assert terminal_of(stream).width == 133
        for given, width in (("50", 50), ("0", 133), ("wide", 133)):
            monkeypatch.setenv("COLUMNS", given)
            assert terminal_of(stream).width == width
    assert terminal_of(SimpleNamespace(encoding=None)).encoding == "utf-8"


def test_nothing_is_written_to_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard output is no terminal, it is for the host's own data."""
    Console().show_lines([Line("x")])
    assert capsys.readouterr() == ("", "x\n")


@pytest.mark.usefixtures("plain_environment")
def test_a_person_at_a_terminal_sees_everything_in_one_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal everything goes to standard output, messages of hooks as well."""
    terminal = Tty()
    monkeypatch.setattr(sys, "stdout", terminal)
    console = Console()
    console.show_lines([Line("x")])
    console.show_lines([])
    console.show_message("careful\n\x1b[2Jnow", "warning", "hook:cost")
    assert terminal.getvalue() == "x\n\x1b[31mcareful\x1b[0m\n\x1b[31mnow (hook:cost)\x1b[0m\n"
    assert capsys.readouterr().err == ""


def test_a_console_that_is_gone_is_not_written_to_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A closed stream, a broken pipe and no stream at all disturb nobody."""
    caplog.set_level(logging.INFO)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    monkeypatch.setattr(sys, "stderr", closed)
    console = Console()
    console.show_lines([Line("x")])
    console.show_lines([Line("x")])
    assert len(caplog.messages) == 1
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    Console().show_lines([Line("x")])
    assert len(caplog.messages) == 1


async def test_the_display_of_the_host_is_used_if_there_is_one() -> None:
    """It gets plain text, what belongs together in one message, and failures as warnings."""
    coordinator = TestCoordinator()
    await mount(coordinator, {"ui": {"show_tool_lines": 1, "nonsense": True}, "other": 1})
    for event, data in call("bash", "1", {"a": "x"}, ToolResult(success=False, error={"message": "no"})):
        await coordinator.hooks.emit(event, {**data, "session_id": "p-0000_coder", "parent_id": "p"})
    assert coordinator.display_system.messages == [
        ("[coder 0000] > bash [1]\n[coder 0000]   a: x", "info", "hooks-streaming-ui"),
        ("[coder 0000] ✗ bash [1]\n[coder 0000]   no", "warning", "hooks-streaming-ui"),
    ]


async def test_a_host_without_a_display_gets_the_console_until_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Messages of other hooks are shown there, too; a display that the host sets later is left alone."""
    coordinator = TestCoordinator()
    coordinator.display_system = None
    end = await mount(coordinator)
    await coordinator.hooks.emit(USER_NOTIFICATION, {"message": "hello"})
    display: Any = coordinator.display_system
    display.show_message("hook says", "info", "hook:x")
    assert capsys.readouterr().err == "hello\nhook says (hook:x)\n"
    end()
    assert coordinator.display_system is None
    await coordinator.hooks.emit(USER_NOTIFICATION, {"message": "unheard"})
    end = await mount(coordinator)
    coordinator.display_system = own = RecordingDisplay()
    end()
    assert coordinator.display_system is own
    assert capsys.readouterr() == ("", "")


async def test_without_any_display_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A host may take the display away."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    coordinator.display_system = None
    await coordinator.hooks.emit(USER_NOTIFICATION, {"message": "hello"})
    assert capsys.readouterr() == ("", "")


async def test_a_display_that_fails_or_waits_is_the_hosts_affair(caplog: pytest.LogCaptureFixture) -> None:
    """An async one is awaited; one that raises is told in the log, and the session goes on."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    heard: list[str] = []

    class Slow:
        async def show_message(self, message: str, level: str, source: str) -> None:
            await asyncio.sleep(0)
            heard.append(message)

    coordinator.display_system = Slow()
    await coordinator.hooks.emit(USER_NOTIFICATION, {"message": "hello"})
    coordinator.display_system = SimpleNamespace(show_message=lambda *given: 1 / 0)
    result = await coordinator.hooks.emit(USER_NOTIFICATION, {"message": "hello"})
    assert (heard, result.action) == (["hello"], "continue")
    assert caplog.messages == ["The display of session 'test-session' failed: ZeroDivisionError('division by zero')"]


async def test_the_end_of_a_turn_tells_what_it_cost() -> None:
    """What modules contribute is the session's cost; the turn's is what was added to it."""
    coordinator = TestCoordinator()
    await mount(coordinator)
    cost = {"cost_usd": Decimal("0.01")}
    coordinator.register_contributor("session.cost", "p", lambda: {"cost_usd": str(cost["cost_usd"])})
    for step in ("0", "0.02", "-1"):
        cost["cost_usd"] += Decimal(step)
        await coordinator.hooks.emit(PROVIDER_RESPONSE, {"usage": {"input_tokens": 10, "output_tokens": 1}})
        await coordinator.hooks.emit(ORCHESTRATOR_COMPLETE, {})
    assert [message.partition("Total: 11")[2] for message, _, _ in coordinator.display_system.messages] == [
        " | Turn: $0.0100 | Session: $0.0100",
        " | Turn: $0.0200 | Session: $0.0300",
        "",
    ]


async def test_contributions_that_take_for_ever_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line comes without them."""
    monkeypatch.setattr(display_file, "_COLLECTING_S", 0.01)
    coordinator = TestCoordinator()
    await mount(coordinator)
    coordinator.register_contributor("session.cost", "p", asyncio.Event().wait)
    await coordinator.hooks.emit(PROVIDER_RESPONSE, {"usage": {"input_tokens": 10, "output_tokens": 1}})
    await coordinator.hooks.emit(ORCHESTRATOR_COMPLETE, {})
    assert coordinator.display_system.messages[0][0] == "Input: 10 | Output: 1 | Total: 11"


async def test_a_turn_without_usage_line_asks_nobody() -> None:
    """Where usage is not shown, costs are not collected."""
    coordinator = TestCoordinator()
    await mount(coordinator, {"ui": {"show_token_usage": False}})
    coordinator.register_contributor("session.cost", "p", lambda: pytest.fail("asked"))
    await coordinator.hooks.emit(ORCHESTRATOR_COMPLETE, {})
    assert coordinator.display_system.messages == []


def test_settings_of_the_wrong_form_are_refused() -> None:
    """What stands under ``ui`` has to be settings."""
    with pytest.raises(ValueError, match="ui"):
        StreamingUiConfig.read({"ui": 7})


async def test_children_show_on_their_parents_console(capsys: pytest.CaptureFixture[str]) -> None:
    """Parent and children write to one place, line by line, each with its label."""
    plan = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [
            {
                "module": "provider-mock",
                "config": {
                    "script": [{"tool_calls": [{"name": "echo", "id": "c"}]}, "Done."],
                    "usage": {"input_tokens": 5, "output_tokens": 1},
                },
            }
        ],
        "hooks": [{"module": "hooks-streaming-ui"}],
    }
    async with AmplifierSession(plan, session_id="parent") as parent:
        children = [parent.fork(session_id=f"parent-000{number}_agent") for number in range(2)]
        for session in (parent, *children):
            await session.initialize()
            session.coordinator.mount("tools", Echo())
        await asyncio.gather(*(session.execute("Go") for session in (parent, *children)))
        for child in children:
            await child.cleanup()
    out, err = capsys.readouterr()
    rows = err.splitlines()
    own = ["> echo [c]", "✓ echo [c]", "  {}", "Input: 10 | Output: 2 | Total: 12"]
    for label in ("[agent 0000] ", "[agent 0001] "):
        assert [row.removeprefix(label) for row in rows if row.startswith(label)] == own
    assert [row for row in rows if not row.startswith("[agent")] == own
    assert out == ""


async def test_the_module_is_valid() -> None:
    """The validator has nothing to say."""
    result = await HookValidator().validate(PACKAGE)
    assert (result.passed, result.errors, result.warnings) == (True, [], [])


class Ui:
    """Tests of the module."""

    @pytest.fixture
    def module_path(self) -> Path:
        return PACKAGE


class TestContract(Ui, HookBehaviorTests, HookStructuralTests):
    """The module as a plan without config mounts it."""


@pytest.mark.slow
class TestUnderChaos(Ui, HookChaosTests):
    """The module as a plan without config mounts it, under every fault."""

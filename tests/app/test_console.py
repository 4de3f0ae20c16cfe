"""What a run prints and asks: formats, live text, JSON lines, questions, and nothing that steers a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from amplifier.console.approval import Refusal, TerminalApproval, approval_system, chosen
from amplifier.console.display import StderrDisplay
from amplifier.console.formats import FORMATS
from amplifier.console.lines import lines_from, typed_line
from amplifier.console.plain import escaped, harmless, one_line
from amplifier.console.printers import JsonPrinter, StreamPrinter, TextPrinter, printer_for
from amplifier.console.results import stream_line
from amplifier.problems import TimeoutProblem
from amplifier.runtime.outcome import TurnOutcome, Usage
from amplifier_core import ModuleCoordinator, TextBlock
from amplifier_core.approval import ApprovalTimeoutError

OPTIONS = ["Allow once", "Allow this session", "Allow always", "Deny"]
DONE = TurnOutcome("s-1", "It is red.", "success", usage=Usage(3, 2, "0.01"), model="m", provider="p")


class Page:
    """Collects what is written."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, text: str) -> None:
        self.text += text

    def objects(self) -> list[Any]:
        """The lines as JSON."""
        return [json.loads(line) for line in self.text.splitlines()]


def delta(text: str, session: str = "s-1", kind: str = "text") -> tuple[str, dict[str, Any]]:
    """A piece of an answer."""
    return "llm:stream_block_delta", {"session_id": session, "block_type": kind, "text": text}


def text_printer(*, is_live: bool = False, is_verbose: bool = False) -> tuple[TextPrinter, Page, Page]:
    """A printer with its two pages, begun."""
    out, err = Page(), Page()
    printer = TextPrinter(out, err, is_live=is_live, is_verbose=is_verbose)
    printer.begin("s-1", "m", "p", ["bash"], "/work")
    return printer, out, err


def test_plain_output_is_the_answer_and_nothing_else() -> None:
    """Without a terminal nothing is told of tools; control characters are left out."""
    printer, out, err = text_printer()
    printer.event("tool:pre", {"session_id": "s-1", "tool_name": "bash", "tool_input": {}})
    printer.event(*delta("It is"))
    printer.end(TurnOutcome("s-1", "It is \x1b[31mred.\n", "success"))
    assert (out.text, err.text) == ("It is [31mred.\n", "")


def test_on_a_terminal_the_answer_is_printed_as_it_comes() -> None:
    """Once, with tool calls and failures on the other stream; thinking and pieces of children are not the answer."""
    printer, out, err = text_printer(is_live=True)
    printer.event(*delta("Let me see."))
    printer.event("llm:stream_block_end", {"session_id": "s-1"})
    printer.event("tool:pre", {"session_id": "s-1", "tool_name": "bash", "tool_input": {"command": "ls\x07"}})
    printer.event("tool:pre", {"session_id": "child", "tool_name": "grep", "tool_input": {}})
    printer.event("tool:error", {"session_id": "s-1", "error": "boom\nbang"})
    for piece in (delta("hm", kind="thinking"), delta("no", session="child"), delta("It is "), delta("red.")):
        printer.event(*piece)
    printer.end(DONE)
    assert out.text == "Let me see.\nIt is red.\n"
    assert err.text == '→ bash {"command": "ls\\u0007"}\n  → grep {}\n  ✗ boom bang\n'


def test_an_answer_that_was_not_streamed_is_printed_at_the_end() -> None:
    """So is the second answer after a first that was; an empty one prints nothing."""
    printer, out, _ = text_printer(is_live=True)
    printer.event(*delta("It is red.\n"))
    printer.end(DONE)
    printer.end(DONE)
    printer.end(TurnOutcome("s-1", "", "error"))
    assert out.text == "It is red.\nIt is red.\n"


def test_verbose_output_says_what_is_at_work() -> None:
    """On the stream that is not for data."""
    _, out, err = text_printer(is_verbose=True)
    assert (out.text, err.text) == ("", "session s-1, p m, tools: bash\n")
    page = Page()
    TextPrinter(Page(), page, is_live=False, is_verbose=True).begin("s", None, None, [], "/")
    assert page.text == "session s, provider , tools: none\n"


def test_json_is_one_object_with_stable_keys() -> None:
    """The answer, how it ended, and what it took."""
    page = Page()
    printer = JsonPrinter(page, has_trace=False)
    printer.begin("s-1", "m", "p", [], "/work")
    printer.event("tool:pre", {})
    printer.end(DONE)
    assert page.objects() == [
        {
            "type": "result",
            "version": 1,
            "status": "success",
            "is_error": False,
            "reason": None,
            "response": "It is red.",
            "session_id": "s-1",
            "provider": "p",
            "model": "m",
            "num_turns": 0,
            "num_tool_calls": 0,
            "duration_ms": 0.0,
            "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
            "cost_usd": "0.01",
            "denials": [],
            "exit_code": 0,
            "error": None,
        }
    ]


def test_a_trace_has_every_event() -> None:
    """In order, as JSON whatever they hold."""
    page = Page()
    printer = JsonPrinter(page, has_trace=True)
    printer.event("a:b", {"object": TextBlock(text="x"), "odd": object})
    late = TimeoutProblem("too late", "wait")
    printer.end(TurnOutcome("s-1", "", "error", "timeout", late))
    (result,) = page.objects()
    assert result["trace"][0]["event"] == "a:b"
    assert result["trace"][0]["data"]["object"]["text"] == "x"
    assert (result["error"], result["exit_code"], result["is_error"]) == (late.to_dict(), 124, True)


def test_a_stream_has_a_line_for_what_happens() -> None:
    """First what is at work, last the result; pieces only if wanted."""
    page = Page()
    printer = StreamPrinter(page, has_partials=True)
    printer.begin("s-1", "m", "p", ["bash"], "/work")
    for event, data in (("prompt:submit", {"prompt": "?"}), ("unknown:event", {}), delta("It")):
        printer.event(event, {"session_id": "s-1", "parent_id": None, **data})
    printer.end(DONE)
    assert [line["type"] for line in page.objects()] == ["init", "message", "partial", "result"]
    assert page.objects()[0] == {
        "type": "init", "version": 1, "session_id": "s-1", "model": "m", "provider": "p", "tools": ["bash"],
        "cwd": "/work",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("event", "data", "line"),
    [
        ("prompt:submit", {"prompt": 3}, {"type": "message", "role": "user", "text": "3"}),
        (
            "content_block:end",
            {"block_type": "text", "block": TextBlock(text="hi")},
            {"type": "message", "role": "assistant", "text": "hi"},
        ),
        ("content_block:end", {"block": {"type": "thinking", "thinking": "hm"}}, {"type": "thinking", "text": "hm"}),
        ("content_block:end", {"block": {"type": "tool_call"}}, None),
        ("content_block:end", {"block": {"type": "text", "text": ""}}, None),
        (
            "tool:pre",
            {"tool_call_id": "c", "tool_name": "t", "tool_input": {"a": 1}},
            {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}},
        ),
        (
            "tool:post",
            {"tool_call_id": "c", "tool_name": "t", "result": {"success": False, "output": "x"}},
            {
                "type": "tool_result",
                "id": "c",
                "name": "t",
                "is_error": True,
                "output": {"success": False, "output": "x"},
            },
        ),
        (
            "tool:post",
            {"tool_call_id": "c", "tool_name": "t", "result": "x"},
            {"type": "tool_result", "id": "c", "name": "t", "is_error": False, "output": "x"},
        ),
        (
            "tool:error",
            {"tool_call_id": "c", "tool_name": "t", "error": "boom"},
            {"type": "tool_result", "id": "c", "name": "t", "is_error": True, "output": "boom"},
        ),
        (*delta("x"), None),
    ],
    ids=["prompt", "text", "thinking", "call", "empty", "use", "failed", "done", "error", "piece"],
)
def test_events_become_lines(event: str, data: dict[str, Any], line: dict[str, Any] | None) -> None:
    """Each line says which session it is of."""
    told = stream_line(event, {"session_id": "s", **data}, has_partials=False)
    assert told == (None if line is None else {**line, "session_id": "s", "parent_id": None})


def test_each_format_has_its_printer(capsys: pytest.CaptureFixture[str]) -> None:
    """They write to the streams of the process."""
    kinds = {
        kind: type(printer_for(kind, is_verbose=False, has_partials=False))
        for kind in ("text", "json", "json-trace", "stream-json")
    }
    assert list(kinds.values()) == [TextPrinter, JsonPrinter, JsonPrinter, StreamPrinter]
    printer_for("text", is_verbose=False, has_partials=False).end(DONE)
    assert capsys.readouterr().out == "It is red.\n"


@pytest.mark.parametrize(
    ("status", "problem", "code"),
    [
        ("success", None, 0),
        ("incomplete", None, 0),
        ("error", None, 1),
        ("cancelled", None, 130),
        ("error", TimeoutProblem("late"), 124),
    ],
    ids=["success", "incomplete", "error", "cancelled", "problem"],
)
def test_the_exit_code_follows_from_the_end(status: Any, problem: Any, code: int) -> None:
    """A problem has its own."""
    assert TurnOutcome("s", "", status, problem=problem).exit_code == code


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ("1", "Allow once"),
        ("3\n", "Allow always"),
        ("y", "Allow once"),
        ("Allow this", "Allow this session"),
        ("n", "Deny"),
        ("", "Deny"),
        ("deny", "Deny"),
        ("allow", "Deny: allow"),
        ("9", "Deny: 9"),
        ("use git instead", "Deny: use git instead"),
    ],
)
def test_an_answer_is_an_option_or_a_reason(answer: str, meaning: str) -> None:
    """What is not clearly an allowance is a refusal."""
    assert chosen(answer, OPTIONS) == meaning


async def test_a_question_is_shown_without_anything_that_steers() -> None:
    """With its options numbered; what was typed decides."""
    asked: list[str] = []

    async def ask(question: str) -> str:
        asked.append(question)
        return "2"

    approval = TerminalApproval(ask)
    assert await approval.request_approval("Allow \x1b[2Jrm?", OPTIONS, 5, "deny") == "Allow this session"
    assert asked == [
        "\nAllow [2Jrm?\n\n  1. Allow once\n  2. Allow this session\n  3. Allow always\n  4. Deny\n"
        "(a number, or why not) > "
    ]


async def test_an_edit_is_shown_as_the_change_that_it_makes(tmp_path: Path) -> None:
    """Where a session tells of its calls, a diff takes the place of what the tool was given."""
    (tmp_path / "a.txt").write_text("one\n")
    asked: list[str] = []

    async def ask(question: str) -> str:
        asked.append(question)
        return "1"

    coordinator = ModuleCoordinator()
    coordinator.register_capability("session.working_dir", str(tmp_path))
    approval = TerminalApproval(ask)
    approval.attend(coordinator)
    given = {"file_path": "a.txt", "content": "two\n"}
    call = {"session_id": "s", "tool_call_id": "c", "tool_name": "write_file", "tool_input": given}
    for event in ("tool:pre", "approval:required"):
        await coordinator.hooks.emit(event, call)
    prompt = "Allow 'write_file'?\n\n  {json}\n\nAsked because it may change something.\n"
    for _ in range(2):
        assert await approval.request_approval(prompt, OPTIONS, 5, "deny") == "Allow once"
    choices = "\n\n  1. Allow once\n  2. Allow this session\n  3. Allow always\n  4. Deny\n(a number, or why not) > "
    because = "Asked because it may change something."
    diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two"
    assert asked == [
        f"\nAllow 'write_file'?\n\n{diff}\n\n{because}{choices}",
        f"\nAllow 'write_file'?\n\n  {{json}}\n\n{because}{choices}",
    ]


async def test_nobody_who_answers_is_a_time_out_and_a_closed_terminal_a_refusal() -> None:
    """The kernel then applies its default; at the end of input the answer is no."""

    async def never(question: str) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ApprovalTimeoutError, match="no answer in 0.01 s"):
        await TerminalApproval(never).request_approval("?", OPTIONS, 0.01, "deny")

    async def closed(question: str) -> str:
        raise EOFError

    assert (await TerminalApproval(closed).request_approval("?", OPTIONS, 5, "deny")).startswith("Deny: nobody")


async def test_a_question_that_is_withdrawn_is_answered_with_no() -> None:
    """The next one is asked as usual."""
    is_asked = asyncio.Event()

    async def ask(question: str) -> str:
        if not is_asked.is_set():
            is_asked.set()
            await asyncio.Event().wait()
        return "1"

    approval = TerminalApproval(ask)
    question = asyncio.create_task(approval.request_approval("?", OPTIONS, 5, "allow"))
    await is_asked.wait()
    approval.withdraw()
    assert await question == "Deny: interrupted"
    assert await approval.request_approval("?", OPTIONS, 5, "allow") == "Allow once"


async def test_without_a_terminal_every_question_is_refused_with_a_hint() -> None:
    """The hint names the option that would allow it."""
    system = approval_system()
    assert isinstance(system, Refusal)
    assert "--allowed-tools" in await system.request_approval("?", OPTIONS, 5, "allow")


async def test_on_a_terminal_the_question_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer is a line of standard input; its end is a refusal."""
    reading, writing = os.pipe()

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return reading

    monkeypatch.setattr(sys, "stdin", Terminal())
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    system = approval_system()
    os.write(writing, b"1\n")
    assert await system.request_approval("Sure?", OPTIONS, 5, "deny") == "Allow once"
    assert "Sure?" in error.getvalue()
    os.close(writing)
    assert (await system.request_approval("Sure?", OPTIONS, 5, "deny")).startswith("Deny: nobody")
    os.close(reading)
    assert capsys.readouterr().out == ""


async def test_a_line_is_read_where_loops_cannot_watch_and_where_nothing_can_be_read(tmp_path: Path) -> None:
    """A regular file cannot be watched; a folder, and a terminal that has gone, have no lines."""
    file = tmp_path / "typed"
    file.write_bytes(b"yes\r\n")
    descriptor, folder = os.open(file, os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)
    assert await typed_line(descriptor) == "yes"
    terminal, other_side = os.openpty()
    os.close(other_side)
    for each in (folder, terminal):
        with pytest.raises(EOFError):
            await typed_line(each)
    for each in (descriptor, folder, terminal):
        os.close(each)


async def test_lines_come_one_by_one_and_nobody_has_to_wait_for_them() -> None:
    """The last one needs no end; whoever stops waiting is not kept, and what comes late is let go."""
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n\nthree")
    os.close(writing)
    assert [line async for line in lines_from(reading)] == [b"one", b"two", b"", b"three"]
    os.close(reading)
    reading, writing = os.pipe()
    waiting = asyncio.ensure_future(anext(lines_from(reading)))
    await asyncio.sleep(0.01)
    waiting.cancel()
    os.close(writing)
    await asyncio.sleep(0.01)
    assert waiting.cancelled()
    os.close(reading)


def test_streams_that_are_not_there_are_written_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that was started with both closed."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    for kind in FORMATS:
        printer = printer_for(kind, is_verbose=True, has_partials=True)
        printer.begin("s-1", "m", "p", [], "/work")
        printer.end(DONE)
    StderrDisplay(is_quiet=False).tell("x")
    assert isinstance(approval_system(), Refusal)


def test_messages_of_hooks_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Quiet displays leave information out; the command's own messages are always shown."""
    for display in (StderrDisplay(is_quiet=False), StderrDisplay(is_quiet=True)):
        display.show_message("hello\x1b[0m", "info", "hooks-x")
        display.show_message("careful", "warning")
    StderrDisplay(is_quiet=True).tell("stopping")
    shown = capsys.readouterr()
    warning = "[hook] warning: careful\n"
    assert (shown.out, shown.err) == ("", f"[hooks-x] hello[0m\n{warning}{warning}amplifier: stopping\n")


def test_text_is_made_harmless_and_short() -> None:
    """Line ends and tabs stay; what would turn text around goes."""
    assert harmless("a\tb\nc\x1b\u202e\x85d") == "a\tb\ncd"
    assert (one_line(" a \n b "), one_line("x" * 200, 5)) == ("a b", "xxxx…")
    assert escaped('"\x9b\u202e\ud800ä"') == '"\\u009b\\u202e\\ud800ä"'


async def test_lines_come_as_they_are_written() -> None:
    """Those that are whole, and at last what has no end; an end alone is no line."""
    for written, lines in ((b"a\nb\n", [b"a", b"b"]), (b"a\nb", [b"a", b"b"]), (b"", [])):
        read, write = os.pipe()
        os.write(write, written)
        os.close(write)
        assert [line async for line in lines_from(read)] == lines
        os.close(read)


def test_a_line_that_comes_after_the_end_harms_nobody() -> None:
    """The thread that waits for it finds the loop closed, and goes."""
    read, write = os.pipe()

    async def give_up() -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(anext(lines_from(read)), 0.01)

    asyncio.run(give_up())
    os.write(write, b"late\n")
    for thread in threading.enumerate():
        if thread.name == "amplifier-stdin":
            thread.join(10)
    assert not any(thread.name == "amplifier-stdin" for thread in threading.enumerate())
    os.close(read)
    os.close(write)

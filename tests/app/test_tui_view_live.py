"""The lines that live, the status, and the view that puts all together."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.app.view_recordings import PLAIN, Stage

from amplifier.tui.view.live import live_region
from amplifier.tui.view.theme import Theme
from amplifier.tui.view.transcript import Transcript
from amplifier.tui.view.view import View

ROOT = {"session_id": "root", "parent_id": None}
KID = {"session_id": "kid", "parent_id": "root"}
_FIELDS = [
    "agent",
    "block",
    "block_type",
    "cost_usd",
    "data",
    "delay",
    "duration_ms",
    "before_tokens",
    "error",
    "event",
    "input_tokens",
    "level",
    "message",
    "model",
    "msg",
    "name",
    "output",
    "patch",
    "edits",
    "reason",
    "result",
    "run_id",
    "stdout",
    "sub_session_id",
    "success",
    "text",
    "tool_call_id",
    "tool_input",
    "tool_name",
    "tool_result",
    "usage",
]
_EVENTS = [*Transcript(lambda: 0.0).events, "session:child_event", "llm:response", "execution:start"]


def delta(text: str, kind: str = "text", **more: Any) -> tuple[str, dict[str, Any]]:
    return "llm:stream_block_delta", {**ROOT, "block_type": kind, "text": text, **more}


def pre(number: int, **more: Any) -> tuple[str, dict[str, Any]]:
    given = {"command": f"run {number}"}
    return "tool:pre", {**ROOT, "tool_name": "bash", "tool_call_id": str(number), "tool_input": given, **more}


def test_what_is_being_said_lives_until_it_is_finished() -> None:
    """Then it is printed, once, and lives no more."""
    stage = Stage(40)
    stage.play([delta("# Title\n\nOne **bo")])
    assert (stage.text, stage.view.live_lines()) == ("Title\n", ["", "One **bo"])
    stage.play([delta("ld**\n\nTwo")])
    assert (stage.text, stage.view.live_lines()) == ("Title\n\nOne bold\n", ["", "Two"])
    stage.play([delta("\n")])
    stage.play([("llm:stream_block_end", ROOT)])
    assert (stage.text, stage.view.live_lines()) == ("Title\n\nOne bold\n\nTwo\n", [])


def test_the_region_is_never_higher_than_half_of_the_terminal() -> None:
    """The end of a text is seen; calls come first."""
    stage = Stage(40, 12)
    stage.play([delta("\n".join(f"line {number}  " for number in range(20)))])
    assert stage.view.live_lines() == [f"line {number}" for number in range(14, 20)]
    stage.play([pre(number) for number in range(9)])
    lines = stage.view.live_lines()
    assert len(lines) == 6
    assert lines[-1] == "… 4 more running"
    stage.size = (40, 2)
    assert len(stage.view.live_lines()) == 3


def test_running_calls_show_what_they_write() -> None:
    """The last lines of each, in the rows that are left."""
    stage = Stage(30, 24)
    output = {**ROOT, "tool_name": "bash", "run_id": "r", "text": "one\ntwo\nthree\nfour\n"}
    stage.play([pre(1), ("tool:output", output)], step_s=1.0)
    assert stage.view.live_lines() == ["⠋ bash run 1 · 1.0 s", "  └ two", "    three", "    four"]
    stage.size = (30, 6)
    assert stage.view.live_lines() == ["⠋ bash run 1 · 1.0 s", "  └ four"]
    stage.play([pre(2), pre(3)])
    assert stage.view.live_lines() == ["⠹ bash run 1 · 1.2 s", "⠹ bash run 2 · 0.1 s", "… 1 more running"]


def test_calls_of_an_agent_stand_below_the_one_that_has_sent_it() -> None:
    """Whoever began first; an agent whose call nobody saw stands by itself."""
    stage = Stage(60)
    sent = [pre(number, tool_name="task", tool_input={"agent": f"agent {number}"}) for number in (1, 2)]
    stage.play(sent, step_s=0)
    for number in (1, 2, 3):
        begun = {**ROOT, "agent": "a", "sub_session_id": f"kid {number}", "tool_call_id": str(number)}
        stage.play([("task:agent_spawned", begun)], step_s=0)
    stage.play([("task:agent_spawned", {**ROOT, "sub_session_id": "root", "tool_call_id": "1"})], step_s=0)
    for number in (3, 2, 1):
        stage.play([pre(number, session_id=f"kid {number}", parent_id="root")], step_s=0)
    assert stage.view.live_lines() == [
        "⠋ task agent 1 · 0.0 s",
        "│ ⠋ bash run 1 · a · 0.0 s",
        "⠋ task agent 2 · 0.0 s",
        "│ ⠋ bash run 2 · a 2 · 0.0 s",
        "│ ⠋ bash run 3 · a 3 · 0.0 s",
    ]


def test_what_lives_stands_apart_from_what_is_printed_as_it_will_when_it_is_finished() -> None:
    """A call below calls does not; a thought, words of another kind, and a turn that only works do."""
    stage = Stage(40)
    stage.play([("execution:start", ROOT)], step_s=0)
    stage.view.print_user("Go")
    assert stage.view.live_lines() == ["", "⠋ Working", ""]
    stage.play([pre(1), ("tool:post", {**pre(1)[1], "duration_ms": 10}), pre(2)], step_s=0)
    assert stage.view.live_lines() == ["⠋ bash run 2 · 0.0 s", ""]
    stage.play([("llm:stream_block_start", {**ROOT, "block_type": "text"})], step_s=0)
    assert stage.view.live_lines() == ["⠋ bash run 2 · 0.0 s", ""]
    stage.play([delta("Hm", "thinking")], step_s=0)
    assert stage.view.live_lines()[:2] == ["", "∴ (0.0 s) Hm"]


def test_the_output_of_a_command_of_the_user_stands_apart_from_what_follows() -> None:
    """However little there is of it; nothing that it writes steers the terminal."""
    stage = Stage(40)
    stage.view.print_user("!ls")
    stage.view.print_output("a\x1b[2J.txt\n")
    stage.view.print_output("")
    stage.view.print_user("Go on")
    assert stage.text == "❯ !ls\na.txt\n\n❯ Go on\n"


def test_facts_stand_below_each_other_and_are_not_cut() -> None:
    """A long one can be copied as a whole."""
    stage = Stage(20)
    stage.view.print_facts([("name", "x"), ("kept in", "/a/very/long/path/to/it"), ("odd", "a\nb\x1b[2J")])
    assert stage.text == "\n name     x\n kept in  /a/very/long/path/to/it\n odd      a b\n"


def test_thinking_and_calls_in_the_making_are_one_line() -> None:
    """With the last line of the thought, and how much of the call has come."""
    stage = Stage(40)
    stage.play([("llm:stream_block_start", {**ROOT, "block_type": "thinking"})], step_s=0)
    assert stage.view.live_lines() == ["∴ (0.0 s)"]
    stage.play([delta("First.\n" * 200, "thinking"), delta("Then this", "thinking")], step_s=0)
    assert stage.view.live_lines() == ["∴ (0.0 s) Then this"]
    stage.play([("llm:stream_block_start", {**ROOT, "block_type": "tool_use", "name": "bash"})])
    stage.play([delta("{...}", "tool_use")])
    assert stage.view.live_lines() == ["", "⠹ bash · 5 characters"]
    assert stage.text == "∴ (0.1 s) " + "First. " * 4 + "F…\n"


def test_agents_live_behind_their_gutter_with_their_names() -> None:
    """What they say is one line while it comes, be it prose or code."""
    stage = Stage(40)
    stage.play([("task:agent_spawned", {**ROOT, "agent": "painter", "sub_session_id": "kid"})])
    stage.play([delta("First.\n\nIt is re", **KID)])
    assert stage.view.live_lines() == ["│ painter: It is re"]
    stage.play([delta("d\n\n```\nx = 1", **KID)])
    assert (stage.text, stage.view.live_lines()) == ("", ["│ painter: x = 1"])
    stage.play([("llm:stream_block_end", KID), delta("Hm", "thinking", **KID), pre(1, **KID)])
    stage.play([("llm:stream_block_start", {**KID, "block_type": "text"})])
    assert stage.view.live_lines() == ["", "│ ⠧ bash run 1 · painter · 0.1 s"]
    assert stage.text.startswith("│ painter\n│ First.\n│\n│ It is red\n")


def test_a_turn_in_which_nothing_is_said_yet_is_seen_to_work() -> None:
    """Until it ends."""
    stage = Stage(40)
    assert (stage.view.live_lines(), stage.view.is_working) == ([], False)
    stage.play([("execution:start", ROOT)])
    stage.now += 1.5
    assert (stage.view.live_lines(), stage.view.is_working) == (["⠦ Working", ""], True)
    assert stage.view.status_line() == "1.5 s"
    stage.play([("execution:end", ROOT), ("execution:end", ROOT)])
    assert (stage.view.live_lines(), stage.view.status_line()) == ([""], "1.6 s")


def response(usage: Any, **more: Any) -> tuple[str, dict[str, Any]]:
    return "llm:response", {**ROOT, "usage": usage, **more}


def test_the_status_counts_what_events_tell() -> None:
    """Tokens and cost of all, the context of the session itself."""
    stage = Stage(100)
    stage.view.status(mode="plan", context_window=10_000, branch="main")
    stage.play([("llm:request", {**ROOT, "model": "big"}), ("llm:request", {**ROOT, "model": None})])
    stage.play([response({"input_tokens": 8_000, "output_tokens": 500, "cost_usd": "0.5"})])
    stage.play([response({"input_tokens": 100, "cost_usd": "0.75"}, **KID), response(None)])
    stage.play([response({"cost_usd": "nothing"}, **KID), ("execution:start", KID)])
    assert stage.view.status_line() == "plan · big · context 85% · 8.6k tokens · $1.25 · branch main"
    stage.view.status(branch=None, tokens=2_500_000, cost_usd="0.001", elapsed_s=61, model="small")
    assert stage.view.status_line() == "plan · small · context 85% · 2.50M tokens · $0.0010 · 1:01"
    stage.view.status(nothing=None)


def test_the_mode_is_seen_on_the_narrowest_terminal() -> None:
    """What matters least gives way first."""
    stage = Stage(30)
    stage.view.status(mode="acceptEdits", model="model-1", tokens=500, cost_usd=0)
    assert stage.view.status_line() == "acceptEdits · model-1 · $0.00"
    stage.size = (8, 24)
    assert stage.view.status_line() == "acceptE…"


def test_a_context_that_is_nearly_full_is_coloured() -> None:
    """As a warning."""
    stage = Stage(80, theme=Theme())
    stage.view.status(context_window=100)
    stage.play([response({"input_tokens": 90, "output_tokens": 0})])
    assert "\x1b[33mcontext 90%\x1b[0m" in stage.view.status_line()


def test_a_question_stands_apart_and_is_wrapped_where_words_end() -> None:
    """What it is about stays indented, however long, so that it is not taken for the question's own words."""
    stage = Stage(20)
    post = ("tool:post", {**pre(1)[1], "duration_ms": 10})
    stage.play([post])
    stage.view.print_question(
        "Allow it?\n\n  rm  -rf   some/long/path\n  ls  -l\n\nAsked because it changes something."
    )
    stage.view.print_question("+a\n-b\n c", "diff")
    stage.play([post])
    call = "✓ bash run 1 · 0.0 s\n"
    asked = "Allow it?\n\n  rm  -rf\n    some/long/path\n  ls  -l\n\nAsked because it\nchanges something.\n"
    assert stage.text == f"{call}\n{asked}\n+a\n-b\n c\n\n{call}"


def test_a_turn_that_waits_for_the_user_is_not_shown_to_work() -> None:
    """Nothing counts; calls beside the question are shown where there is room for them."""
    stage = Stage(40)
    stage.view.status(mode="plan")
    stage.play([("execution:start", ROOT)], step_s=0)
    stage.view.wait(True)
    assert (stage.view.live_lines(), stage.view.status_line()) == ([""], "plan")
    stage.play([pre(1)], step_s=0)
    assert stage.view.live_lines() == ["⠋ bash run 1 · 0.0 s", ""]
    stage.size = (40, 8)
    assert stage.view.live_lines() == []
    stage.view.wait(False)
    assert stage.view.live_lines() == ["⠋ bash run 1 · 0.0 s"]
    assert stage.view.status_line() == "plan · 0.0 s"


def test_plain_mode_has_no_lines_that_change() -> None:
    """What begins is told instead, in words."""
    stage = Stage(40, theme=Theme(has_colour=False, is_plain=True))
    stage.play([("execution:start", ROOT), pre(1), delta("Not finished")])
    assert (stage.view.tick(), stage.view.live_lines()) == (False, [])
    assert stage.text == "Running: bash run 1\n"


def test_live_lines_are_laid_out_once_for_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often they are asked for; whatever changes them, and time, has them laid out again."""
    laid_out: list[float] = []

    def counted(*args: Any) -> list[str]:
        laid_out.append(args[3])
        return live_region(*args)

    monkeypatch.setattr("amplifier.tui.view.view.live_region", counted)
    stage = Stage(40)
    stage.play([delta("words")], step_s=0)
    stage.view.live_lines().append("of a caller")
    assert stage.view.live_lines() == ["words"]
    assert len(laid_out) == 1
    for change in (
        lambda: stage.play([delta(" and more")], step_s=0),
        lambda: stage.view.status(mode="plan"),
        lambda: stage.view.set_theme(Theme()),
        lambda: setattr(stage, "size", (20, 10)),
        lambda: setattr(stage, "now", 0.1),
    ):
        before = len(laid_out)
        change()
        assert stage.view.live_lines() == stage.view.live_lines()
        assert len(laid_out) == before + 1


def test_a_tick_tells_whether_to_draw() -> None:
    """After an event, after facts and themes, and while a turn goes on."""
    stage = Stage(40)
    assert stage.view.tick() is False
    stage.play([delta("x")])
    assert (stage.view.tick(), stage.view.tick()) == (True, False)
    stage.view.status(mode="plan")
    assert stage.view.tick()
    stage.view.set_theme(Theme(has_colour=False, is_unfolded=True))
    assert (stage.view.tick(), stage.view.theme.is_unfolded) == (True, True)
    stage.play([("execution:start", ROOT)])
    assert (stage.view.tick(), stage.view.tick()) == (True, True)


def test_the_chat_prints_texts_of_its_own() -> None:
    """What the user said, short messages, and Markdown."""
    stage = Stage(40)
    stage.view.print_user("Hello")
    stage.view.notice("Saved")
    stage.view.notice("Nearly full", "warning")
    stage.view.print_markdown("**Help**\n\n- one\n- two")
    assert stage.text == "❯ Hello\n\n· Saved\n! Nearly full\n\nHelp\n\n • one\n • two\n"


@pytest.mark.parametrize(("count", "found"), [(0, 0), (1, 1), (5, 2)])
def test_folded_blocks_can_be_seen_whole(count: int, found: int) -> None:
    """The last ones, printed again below."""
    stage = Stage(40)
    result = {"result": {"success": True, "output": "all of\nit"}}
    stage.play([delta("Hm.\nSo.", "thinking"), pre(1), ("tool:post", {**pre(1)[1], **result, "duration_ms": 10})])
    stage.text = ""
    assert stage.view.unfold(count) == found
    call = "\n✓ bash run 1 · 2 lines · 0.0 s\n  └ command: run 1\n    all of\n    it\n"
    assert stage.text == ("" if not count else call if count == 1 else f"\n∴ Hm.\n  So.\n{call}")


@pytest.mark.slow
def test_what_is_kept_to_be_unfolded_is_bounded() -> None:
    """The last one is always there, however long; others only as long as all of them are not too much."""
    stage = Stage(40)
    content = "x" * 900_000
    given = {"file_path": "f", "content": content}
    for number in range(5):
        call = {"tool_name": "other", "tool_call_id": str(number), "tool_input": given}
        stage.play([("tool:post", {**ROOT, **call, "result": {"success": True, "output": "y"}, "duration_ms": 1})])
    assert stage.view.unfold(50) == 2
    stage.play([delta("z" * 3_000_000, "thinking"), ("llm:stream_block_end", ROOT)])
    assert stage.view.unfold(50) == 1
    written = {"tool_name": "write_file", "tool_call_id": "w", "tool_input": {**given, "content": "w\n" * 900_000}}
    stage.play([("tool:post", {**ROOT, **written, "duration_ms": 1})])
    assert stage.view.unfold(50) == 1


def test_a_view_knows_what_a_file_held() -> None:
    """Whoever makes it says how to look; without that a written file is shown whole."""
    stage = Stage(40, former=lambda path: "one\ntwo\n")
    given = {"tool_name": "write_file", "tool_input": {"file_path": "f", "content": "one\n2\n"}}
    stage.play([("tool:post", {**ROOT, **given, "duration_ms": 1})])
    assert "    - two\n    + 2\n" in stage.text


def test_events_of_children_come_inside_events_of_their_parents() -> None:
    """They are taken out, and what holds nothing is left alone."""
    stage = Stage(40)
    stage.play([("session:child_event", {**ROOT, "event": "user:notification", "data": {**KID, "message": "hi"}})])
    stage.play([("session:child_event", {**ROOT, "event": "x", "data": None})])
    assert stage.text == "│ agent\n│ · hi\n"


def test_a_view_has_a_look_and_a_clock_by_itself() -> None:
    """Two callables are enough."""
    printed: list[str] = []
    View(printed.append, lambda: (20, 10)).notice("hi")
    assert printed == ["\x1b[2m· hi\x1b[0m\n"]
    assert PLAIN.style("bad") == ""


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(_EVENTS), st.dictionaries(st.sampled_from(_FIELDS), _JUNK, max_size=8)), max_size=4
    )
)
def test_no_event_whatever_it_holds_breaks_the_chat(events: list[tuple[str, dict[str, Any]]]) -> None:
    """Modules of others emit as well, and a field may be missing or of another type."""
    stage = Stage(30, theme=Theme())
    for event, data in events:
        stage.play([(event, {**data, **ROOT})])
        assert len(stage.view.live_lines()) <= 14
    stage.view.unfold(9)


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202eevil\r\x08\x9b1mname\ud800\x00\x1b"
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_whatever_is_called_so_nothing_steers_the_terminal() -> None:
    """Models, modes, agents, tools of servers, files, commands, reasons and errors: by name, alive and printed."""
    stage = Stage(60, 40, Theme())
    kid = {"session_id": HOSTILE, "parent_id": "root"}
    given = {"command": HOSTILE, "file_path": HOSTILE}
    failed = {"result": {"success": False, "output": HOSTILE, "error": {"message": HOSTILE}}}
    stage.view.status(mode=HOSTILE, model=HOSTILE, **{HOSTILE: HOSTILE})
    stage.view.print_user(HOSTILE)
    events: list[tuple[str, dict[str, Any]]] = [
        ("execution:start", {}),
        ("llm:request", {"model": HOSTILE}),
        ("task:agent_spawned", {"agent": HOSTILE, "sub_session_id": HOSTILE}),
        ("llm:stream_block_delta", {"text": HOSTILE, **kid}),
        ("llm:stream_block_start", {"block_type": "tool_use", "name": HOSTILE}),
        ("llm:stream_block_delta", {"block_type": "thinking", "text": HOSTILE}),
        ("llm:stream_block_delta", {"text": f"```{HOSTILE}\n{HOSTILE}\n"}),
        ("tool:pre", {"tool_name": HOSTILE, "tool_call_id": HOSTILE, "tool_input": given, **kid}),
        ("tool:output", {"tool_name": HOSTILE, "tool_call_id": HOSTILE, "text": HOSTILE * 3, **kid}),
        ("tool:post", {"tool_name": HOSTILE, "tool_call_id": HOSTILE, **failed, **kid}),
        ("tool:error", {"tool_name": HOSTILE, "tool_call_id": "2", "error": {"msg": HOSTILE}}),
        ("approval:denied", {"tool_name": HOSTILE, "tool_call_id": "3", "reason": HOSTILE}),
        ("tool:pre", {"tool_name": HOSTILE, "tool_call_id": "3", "tool_input": HOSTILE}),
        ("user:notification", {"message": HOSTILE}),
        ("provider:retry", {"error": HOSTILE}),
    ]
    for event, data in events:
        stage.play([(event, {**ROOT, **data})])
        stage.text += "\n".join((*stage.view.live_lines(), stage.view.status_line())) + "\n"
    stage.view.unfold(50)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", stage.text)
    assert CONTROLS.search(bare) is None
    assert bare.count("evil") + bare.count("name") > len(events)
    assert "owned" not in bare

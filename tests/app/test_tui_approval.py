"""Questions in the chat: what they show, how they are answered, in which order, and what ends them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.app.run_world import calls
from tests.app.tui_world import ChatWorld, until

from amplifier.console.proposal import proposed_diff, text_in
from amplifier.tui.approval import ChatApproval
from amplifier_core.approval import ApprovalTimeoutError

OPTIONS = ["Allow once", "Allow this session", "Allow always", "Deny"]
PROMPT = "Allow 'write_file'?\n\n  {json}\n\nAsked because it may change something.\n  write_file(=a.txt)"


class Desk:
    """An approval with everything it shows, and a clock that can be set."""

    def __init__(self, folder: Path = Path()) -> None:
        self.shown: list[tuple[str, str]] = []
        self.changes: list[bool] = []
        self.now = 10.0
        self.approval = ChatApproval(
            lambda text, kind: self.shown.append((text, kind)),
            lambda: self.changes.append(self.approval.is_asking),
            lambda: folder,
            lambda: self.now,
        )

    def ask(self, prompt: str = "Allow?", timeout: float = 300.0) -> asyncio.Task[str]:
        """Asks in the background."""
        return asyncio.create_task(self.approval.request_approval(prompt, OPTIONS, timeout, "deny"))

    async def until_asked(self) -> None:
        """Lets things go on until a question is there."""
        await until(lambda: self.approval.is_asking)


async def test_a_question_is_shown_whole_with_its_choices_and_answered_in_words() -> None:
    """The prompt is printed without control characters; the choices are there until the answer is."""
    desk = Desk()
    assert desk.approval.lines() == []
    answer = desk.ask("Allow \x1b[31mit?\n\n  rm -rf x\n")
    await desk.until_asked()
    desk.now += 60
    assert desk.approval.lines() == [
        "1 Allow once   2 Allow this session   3 Allow always   4 Deny",
        "a number, y, n, or why not · 4 min left",
    ]
    desk.now += 200
    assert desk.approval.lines()[1] == "a number, y, n, or why not · 40 s left"
    desk.approval.answer("  ")
    assert desk.approval.is_asking
    desk.approval.answer("use git instead")
    desk.approval.answer("1")
    assert await answer == "Deny: use git instead"
    assert desk.shown == [("Allow [31mit?\n\n  rm -rf x\n", "plain"), ("→ Deny: use git instead", "plain")]
    assert (desk.changes, desk.approval.lines()) == ([True, False], [])
    desk.approval.answer("too late")


@pytest.mark.parametrize("width", [10, 20, 40, 60, 61])
async def test_no_choice_is_lost_on_a_narrow_terminal(width: int) -> None:
    """They stand below each other there."""
    desk = Desk()
    answer = desk.ask()
    await desk.until_asked()
    lines = desk.approval.lines(width)
    desk.approval.answer("y")
    await answer
    told = " ".join(" ".join(lines).replace(" · ", " ").split())
    assert told == "1 Allow once 2 Allow this session 3 Allow always 4 Deny a number, y, n, or why not 5 min left"
    assert all(len(line) <= width for line in lines) or width < 26
    assert len(lines) == {10: 6, 20: 6, 40: 3, 60: 3, 61: 2}[width]


async def test_a_key_answers_only_when_the_question_has_been_there_for_a_moment() -> None:
    """A digit that was typed as the question came up is not taken for its answer."""
    desk = Desk()
    assert desk.approval.press("1") is False
    answer = desk.ask()
    await desk.until_asked()
    assert desk.approval.press("2") is False
    desk.now += 1
    assert [desk.approval.press("9"), desk.approval.press("2")] == [False, True]
    assert await answer == "Allow this session"
    assert desk.approval.press("2") is False


async def test_questions_are_asked_one_after_another() -> None:
    """The second waits for the first, which tells how many wait."""
    desk = Desk()
    first, second = desk.ask("first"), desk.ask("second")
    await desk.until_asked()
    await asyncio.sleep(0)
    assert desk.approval.lines()[1].endswith("· 1 more")
    desk.approval.answer("y")
    assert await first == "Allow once"
    await desk.until_asked()
    desk.approval.answer("n")
    assert await second == "Deny"
    assert [text for text, _ in desk.shown] == ["first", "→ Allow once", "second", "→ Deny"]


async def test_an_interrupt_refuses_the_question_and_those_behind_it() -> None:
    """None of them is shown any more; later ones are asked as usual."""
    desk = Desk()
    first, second = desk.ask("first"), desk.ask("second")
    await desk.until_asked()
    desk.approval.withdraw()
    desk.approval.withdraw()
    refusal = "Deny: the user has interrupted"
    assert [await first, await second] == [refusal, refusal]
    assert [text for text, _ in desk.shown] == ["first", f"→ {refusal}"]
    third = desk.ask("third")
    await desk.until_asked()
    desk.approval.answer("1")
    assert await third == "Allow once"
    desk.approval.withdraw()


async def test_no_answer_in_time_is_told_to_whoever_asks() -> None:
    """The question goes away, and the caller decides."""
    desk = Desk()
    with pytest.raises(ApprovalTimeoutError, match=r"no answer in 0\.001 s"):
        await desk.ask(timeout=0.001)
    assert not desk.approval.is_asking


async def test_an_edit_is_shown_as_the_change_that_it_makes(tmp_path: Path) -> None:
    """Where the call is known and the question has the usual form, a diff takes the place of the input."""
    desk = Desk(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    call = {"tool_call_id": "c1", "tool_name": "write_file", "tool_input": {"file_path": "a.txt", "content": "two\n"}}
    await desk.approval.proposals.on_call("tool:pre", call)
    await desk.approval.proposals.on_call("tool:pre", {"tool_call_id": "c2", "tool_input": None})
    await desk.approval.proposals.on_required("approval:required", {"tool_call_id": "c1"})
    answer = desk.ask(PROMPT)
    await desk.until_asked()
    desk.approval.answer("y")
    await answer
    assert desk.shown == [
        ("Allow 'write_file'?", "plain"),
        ("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+two", "diff"),
        ("Asked because it may change something.\n  write_file(=a.txt)", "plain"),
        ("→ Allow once", "plain"),
    ]
    for number in range(300):
        await desk.approval.proposals.on_call("tool:pre", {**call, "tool_call_id": str(number)})
    await desk.approval.proposals.on_required("approval:required", {"tool_call_id": "c1"})
    answer = desk.ask(PROMPT)
    await desk.until_asked()
    desk.approval.answer("y")
    await answer
    assert desk.shown[4] == (PROMPT, "plain")


def worker(*script: Any, **more: Any) -> dict[str, Any]:
    """An agent that does what is scripted."""
    model = {"module": "provider-mock", "config": {"script": list(script)}}
    return {"description": "Works.", "instruction": "You work.", "providers": [model], **more}


@pytest.mark.slow
@pytest.mark.parametrize("hooks", [{}, {"hooks": []}])
async def test_the_edit_of_an_agent_is_shown_as_the_change_that_it_makes(tmp_path: Path, hooks: dict[str, Any]) -> None:
    """As one of the session itself, whether the agent has a guard of its own or its parent's guard asks."""
    edit = {"file_path": "wall.txt", "content": "red\n"}
    look = calls(("read_file", {"file_path": "wall.txt"}))
    script = [calls(("task", {"agent": "painter", "instruction": "Paint"})), "Painted."]
    world = ChatWorld(
        tmp_path,
        script,
        tools=[{"module": "tool-filesystem"}, {"module": "tool-task"}],
        hooks=[{"module": "hooks-approval", "config": {"allow": ["task"]}}],
        agents={"painter": worker(look, calls(("write_file", edit)), "Red.", **hooks)},
    )
    (world.places.working_dir / "wall.txt").write_text("white\n")
    async with world:
        world.chat.submit("Paint it.")
        await world.until(lambda: world.chat.is_asking)
        world.chat.submit("1")
        await world.until(lambda: world.chat.is_idle)
    assert "--- wall.txt\n+++ wall.txt\n@@ -1 +1 @@\n-white\n+red\n" in world.terminal.shown
    assert "It is asked for by the child session" in world.terminal.shown
    assert (world.places.working_dir / "wall.txt").read_text() == "red\n"


async def test_a_refused_call_is_shown_where_it_was_refused(tmp_path: Path) -> None:
    """Before the answer that follows, with the reason, and once."""
    write = calls(("write_file", {"file_path": "note.txt", "content": "hi\n"}))
    world = ChatWorld(
        tmp_path, [write, "As you wish."], tools=[{"module": "tool-filesystem"}], hooks=[{"module": "hooks-approval"}]
    )
    async with world:
        world.chat.submit("Write it.")
        await world.until(lambda: world.chat.is_asking)
        world.chat.submit("not there")
        await world.until(lambda: world.chat.is_idle)
    shown = world.terminal.shown[world.terminal.shown.index("→ Deny") :]
    assert shown.startswith("→ Deny: not there\n\n✗ write_file note.txt\n  └ not approved: not there\n\nAs you wish.\n")
    assert shown.count("write_file") == 1


async def test_calls_of_several_sessions_are_told_apart_by_more_than_their_ids(tmp_path: Path) -> None:
    """A call that could be either of two is shown in words: a wrong change would be worse than none."""
    desk = Desk(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    for session_id in ("k1", "k2"):
        given = {"file_path": "a.txt", "content": f"{session_id}\n"}
        about = {"session_id": session_id, "tool_call_id": "c1", "tool_name": "write_file", "tool_input": given}
        await desk.approval.proposals.on_call("tool:pre", about)
    shown: list[list[tuple[str, str]]] = []
    for session_id in ("k1", "k2", "root"):
        await desk.approval.proposals.on_required("approval:required", {"session_id": session_id, "tool_call_id": "c1"})
        answer = desk.ask(PROMPT)
        await desk.until_asked()
        desk.approval.answer("y")
        await answer
        shown.append([each for each in desk.shown if each[1] == "diff"])
        desk.shown.clear()
    diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+{}"
    assert shown == [[(diff.format("k1"), "diff")], [(diff.format("k2"), "diff")], []]


async def test_the_file_is_the_one_that_the_rule_names(tmp_path: Path) -> None:
    """A tool may have a folder of its own; whoever asks knows it."""
    desk = Desk(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.txt").write_text("own\n")
    call = {"tool_call_id": "c1", "tool_name": "write_file", "tool_input": {"file_path": "a.txt", "content": "two\n"}}
    await desk.approval.proposals.on_call("tool:pre", call)
    await desk.approval.proposals.on_required("approval:required", call)
    answer = desk.ask(PROMPT.replace("=a.txt", f"={tmp_path}/own/a.txt"))
    await desk.until_asked()
    desk.approval.answer("y")
    await answer
    assert desk.shown[1] == ("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-own\n+two", "diff")


EDIT = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
REST = {"old_string": "1 ", "new_string": ""}


@pytest.mark.parametrize(
    ("name", "given", "changed"),
    [
        ("edit_file", EDIT, ["-one one", "+1 one"]),
        ("edit_file", {**EDIT, "replace_all": True}, ["-one one", "+1 1"]),
        ("edit_file", {"file_path": "a.txt", "edits": [EDIT, REST]}, ["-one one", "+one"]),
        ("edit_file", {"file_path": "a.txt", "edits": ["?"]}, None),
        ("edit_file", {**EDIT, "old_string": "nowhere"}, None),
        ("edit_file", {**EDIT, "new_string": None}, None),
        ("edit_file", {"file_path": "binary", "old_string": "x", "new_string": "y"}, None),
        ("write_file", {"file_path": "new.txt", "content": "x\n"}, ["+x"]),
        ("write_file", {"file_path": "a.txt", "content": "one one\n"}, None),
        ("write_file", {"file_path": "binary", "content": "x"}, None),
        ("write_file", {"file_path": 3}, None),
        ("bash", {"command": "ls"}, None),
        ("apply_patch", {"patch": "-a\n+b"}, ["-a", "+b"]),
        ("apply_patch", {"patch": None}, None),
    ],
)  # fmt: skip
def test_a_change_is_told_where_it_can_be(tmp_path: Path, name: str, given: dict[str, Any], changed: Any) -> None:
    """Edits are carried out on a copy; what does not fit is left to the words of the question."""
    (tmp_path / "a.txt").write_text("one one\n")
    (tmp_path / "binary").write_bytes(b"\xff")
    diff = proposed_diff(name, given, tmp_path)
    lines = (
        None
        if diff is None
        else [each for each in diff.split("\n") if each[:1] in "+-" and each[:3] not in ("+++", "---")]
    )
    assert lines == changed


def test_only_texts_of_a_bearable_length_are_read(tmp_path: Path) -> None:
    """A file that is not there is empty; a folder, or a file that is too long, is none."""
    (tmp_path / "long").write_bytes(b"x" * (1 << 20 | 1))
    assert [text_in(tmp_path / "none"), text_in(tmp_path), text_in(tmp_path / "long")] == ["", None, None]

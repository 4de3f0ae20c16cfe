"""Recorded event streams as pages of a terminal: wide, narrow, coloured, read aloud, unfolded."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from tests.app.view_recordings import GOLDEN, PAGES, SCRIPTS, Stage, load, page, record

from amplifier.tui.view.theme import Theme

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("name", PAGES)
def test_a_recording_looks_as_it_should(name: str) -> None:
    """Every page is as it was looked at and kept; ``python -m tests.app.view_recordings`` writes them anew."""
    assert page(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("recording", SCRIPTS)
@pytest.mark.parametrize("width", [12, 20, 40, 133])
def test_no_line_is_wider_than_the_terminal(recording: str, width: int) -> None:
    """Printed or alive, at every moment; and nothing but colours steers the terminal."""
    stage = Stage(width, 10, Theme())
    for event, data in load(recording):
        stage.play([(event, data)])
        lines = stage.view.live_lines()
        assert len(lines) <= 6
        stage.text += "".join(f"{line}\n" for line in lines)
    bare = COLOURS.sub("", stage.text)
    assert CONTROLS.search(bare) is None
    assert [line for line in bare.split("\n") if cell_len(line) > width] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
async def test_recordings_are_what_sessions_do_today(name: str) -> None:
    """A fresh run tells of the same kinds of events in the same sessions."""

    def kinds(events: list[tuple[str, dict[str, object]]]) -> set[tuple[str, object]]:
        return {(str(data.get("event", event)), data.get("child_session_id", "root")) for event, data in events}

    assert kinds(await record(name)) == kinds(load(name))


@pytest.mark.slow
async def test_commands_side_by_side_do_not_swap_what_they_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that began later writes first; at every moment each has lines of its own only."""
    first = "until [ -e go ]; do sleep 0.01; done; echo of-first; sleep 0.2; touch gone"
    second = "echo of-second; sleep 0.2; touch go; until [ -e gone ]; do sleep 0.01; done; echo of-second"
    calls = [{"name": "bash", "arguments": {"command": command}} for command in (first, second)]
    monkeypatch.setitem(SCRIPTS, "swapped", [{"tool_calls": calls}, "Done."])
    stage = Stage(120)
    owners: set[tuple[str, str]] = set()
    for event in await record("swapped"):
        stage.play([event])
        owner = ""
        for line in stage.view.live_lines():
            owner = "first" if "until [ -e go ]" in line else "second" if "touch go" in line else owner
            owners |= {(owner, written) for written in re.findall(r"└ (of-\w+)", line)}
    assert owners == {("first", "of-first"), ("second", "of-second")}

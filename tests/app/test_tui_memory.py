"""What the agent is to keep in mind: files that are shown, edited, and added to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.app.test_tui_board import keyboard
from tests.app.tui_world import ChatWorld

from amplifier.problems import Problem
from amplifier.store.transcript import text_of
from amplifier.tui.commands.memory import spelled_out
from amplifier.tui.input.editor import edit_file
from amplifier.tui.input.plain_board import PlainBoard


def flat(text: str) -> str:
    """``text`` on one line."""
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#use tabs", "/memory add use tabs"),
        ("#  use tabs", "/memory add use tabs"),
        ("## Heading", "## Heading"),
        ("#12 is broken", "#12 is broken"),
        ("#!/bin/sh", "#!/bin/sh"),
        ("# Title\nand more", "# Title\nand more"),
        (" # Title", " # Title"),
        ("#", "#"),
        ("use #tabs", "use #tabs"),
    ],
)
def test_a_line_to_remember_begins_with_a_sign(line: str, expected: str) -> None:
    """Deeper headings, numbers of issues, texts of several lines, and what stands behind a blank are for the agent."""
    assert spelled_out(line) == expected


async def test_a_line_is_added_where_the_user_wants_it(tmp_path: Path) -> None:
    """To the file that is read, or would be; it goes along with the next prompt, so that it holds at once."""
    world = ChatWorld(tmp_path, ["Yes."])
    project, own = world.places.project_dir / "AGENTS.md", world.places.home / "AGENTS.md"
    world.terminal.chosen = [0, 0, 1]
    async with world:
        assert flat(await world.say("#use tabs")) == f"· added to {project}"
        await world.say("# and\x1b two blanks", "#be brief", "Go on.")
        stored = world.chat.talk.opening.setting.stored
        assert stored is not None
        remembered = "".join(f"\n\n<remember>{text}</remember>" for text in ("use tabs", "and two blanks", "be brief"))
        assert text_of(stored.messages()[0]) == f"Go on.{remembered}"
    assert project.read_text() == "- use tabs\n- and two blanks\n"
    assert own.read_text() == "- be brief\n"
    title, choices = world.terminal.offered[0]
    assert title == "Remember: use tabs"
    assert [(each.label, each.note) for each in choices] == [
        ("for this project", str(project)),
        ("for all projects", str(own)),
    ]


async def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """A project may bring one in the place of its file, to a file of the user; for all projects a line can be added."""
    world = ChatWorld(tmp_path, [])
    other, link = world.places.home.parent / "other", world.places.project_dir / "AGENTS.md"
    other.write_text("mine")
    link.symlink_to(other)
    world.terminal.chosen = [0, 1]
    async with world:
        told = f"{link} is a link to {other}, which is no file of the project. → Put a file there."
        assert told in flat(await world.say("#use tabs"))
        assert told in flat(await world.say("/memory edit"))
        await world.say("#be brief")
    assert (other.read_text(), world.terminal.edited) == ("mine", [])
    assert (world.places.home / "AGENTS.md").read_text() == "- be brief\n"


async def test_a_text_stays_as_it_is_before_what_is_added(tmp_path: Path) -> None:
    """A paragraph is followed by an empty line; where there is only a CLAUDE.md, that is the file."""
    world = ChatWorld(tmp_path, [])
    file = world.places.project_dir / "CLAUDE.md"
    file.write_text("# Project\n\nIt is small.\n")
    world.terminal.chosen = [0]
    async with world:
        await world.say("/memory add use tabs")
    assert file.read_text() == "# Project\n\nIt is small.\n\n- use tabs\n"
    assert not (world.places.project_dir / "AGENTS.md").exists()


async def test_who_leaves_the_list_has_the_text_back(tmp_path: Path) -> None:
    """Behind a blank, so that it goes to the agent when it is sent."""
    world = ChatWorld(tmp_path, [])
    async with world:
        assert await world.say("#use tabs") == ""
    assert world.terminal.filled == [" # use tabs"]
    assert not (world.places.project_dir / "AGENTS.md").exists()


async def test_the_files_are_shown_and_edited(tmp_path: Path) -> None:
    """With their sizes; what the command cannot do is told."""
    world = ChatWorld(tmp_path, [])
    file = world.places.project_dir / "AGENTS.md"
    file.write_text("line\n" * 1000)
    async with world:
        shown = await world.say("/memory")
        assert "1,000 lines, about 1,250 tokens" in flat(shown)
        assert "not there" in shown
        assert "from the next session on" in flat(await world.say("/memory edit"))
        assert "'add' is nothing that /memory does." in flat(await world.say("/memory add"))
        assert "keys: vi" in await world.say("/vim")
        assert "tokens in" in await world.say("/usage")
    assert world.terminal.edited == [file]


def editor(folder: Path, text: str) -> str:
    """An editor that writes a text into what it is given."""
    script = folder / "my editor.sh"
    script.write_text(f'#!/bin/sh\nshift\nprintf "{text}" > "$1"\n')
    script.chmod(0o755)
    return f"'{script}' --wait"


async def test_an_editor_opens_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the terminal of the chat; what is printed meanwhile comes afterwards."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "written"))
    async with keyboard() as keys:
        editing = asyncio.create_task(keys.board.edit(tmp_path / "a.md"))
        await asyncio.sleep(0)
        keys.board.write("meanwhile\n")
        keys.board._print()
        assert keys.output.raw == [] or "meanwhile\r\n" not in keys.output.raw
        await editing
        await keys.until(lambda: "meanwhile\r\n" in keys.output.raw)
    board = PlainBoard(keys.told, lambda: asyncio.sleep(0, ""), lambda _: None, lambda: (80, 24))
    await board.edit(tmp_path / "b.md")
    assert [(tmp_path / name).read_text() for name in ("a.md", "b.md")] == ["written", "written"]
    assert board.switch_keys() == "those of the terminal"


@pytest.mark.parametrize(
    ("named", "told"),
    [("false", "ended with code 1"), ("/nowhere/editor", "cannot be started"), ("'", "cannot be started")],
)
def test_an_editor_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, told: str) -> None:
    """It is told which one, and what to do."""
    monkeypatch.setenv("VISUAL", named)
    with pytest.raises(Problem, match=told) as failure:
        edit_file(tmp_path / "a.md")
    assert failure.value.hint == "Name another one in $EDITOR."


async def test_keys_are_switched() -> None:
    """To vi, where Esc ends the inserting, and back."""
    async with keyboard() as keys:
        assert keys.board.switch_keys() == "vi"
        keys.pipe.send_text("\x1b")
        await keys.until(lambda: keys.board.app.vi_state.input_mode.value == "vi-navigation")
        assert keys.board.switch_keys() == "emacs"
        await keys.type("x\r", "submit x")

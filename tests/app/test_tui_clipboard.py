"""The clipboard: which program takes a text on which system, and what the command copies."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from tests.app.test_tui_board import Keyboard
from tests.app.tui_world import ChatWorld

from amplifier.problems import Problem
from amplifier.tui import clipboard
from amplifier.tui.chat import Chat
from amplifier.tui.clipboard import no_clipboard, system_clipboard
from amplifier.tui.view.theme import Theme

LINUX: dict[str, str] = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
PROGRAMS = ("pbcopy", "clip.exe", "wl-copy", "xclip", "xsel", "tmux")


def program(folder: Path, name: str, does: str = "/bin/cat > {target}") -> Path:
    """A program of that name, and the file into which it puts what it gets."""
    target = folder / f"{name}.txt"
    (folder / name).write_text(f'#!/bin/sh\necho "$@" > {folder}/{name}.args\n{does.format(target=target)}\n')
    (folder / name).chmod(0o755)
    return target


@pytest.mark.parametrize(
    ("environ", "platform", "expected", "arguments"),
    [
        ({}, "darwin", "pbcopy", ""),
        ({}, "win32", "clip.exe", ""),
        ({"WSL_INTEROP": "/run/x", **LINUX}, "linux", "clip.exe", ""),
        (LINUX, "linux", "wl-copy", ""),
        ({"DISPLAY": ":0"}, "linux", "xclip", "-selection clipboard"),
        ({"TMUX": "/tmp/x"}, "linux", "tmux", "load-buffer -w -"),
        ({"TMUX": "/tmp/x", "SSH_TTY": "/dev/pts/1", **LINUX}, "linux", "tmux", "load-buffer -w -"),
    ],
)  # fmt: skip
async def test_the_program_of_the_system_is_taken(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    platform: str,
    expected: str,
    arguments: str,
) -> None:
    """By what kind of screen there is; on another machine only tmux, which hands it on to the terminal."""
    files = {name: program(tmp_path, name) for name in PROGRAMS}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await system_clipboard(environ, platform)("grün\n") == expected
    encoding = "utf-16" if expected == "clip.exe" else "utf-8"
    assert files[expected].read_bytes().decode(encoding) == "grün\n"
    assert (tmp_path / f"{expected}.args").read_text().strip() == arguments
    assert [name for name, file in files.items() if file.exists()] == [expected]


async def test_where_one_fails_the_next_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends with an error, one that cannot be started, and one that never ends."""
    monkeypatch.setattr(clipboard, "_LIMIT_S", 0.05)
    program(tmp_path, "wl-copy", "exit 1")
    (tmp_path / "xclip").write_text("no program")
    program(tmp_path, "xsel", "exec /bin/sleep 1000")
    monkeypatch.setenv("PATH", str(tmp_path))
    copy = system_clipboard(LINUX, "linux", lambda name: str(tmp_path / name))
    assert await copy("text") is None


@pytest.mark.parametrize("environ", [{}, {"SSH_CONNECTION": "x", **LINUX}])
async def test_there_may_be_no_program(environ: dict[str, str]) -> None:
    """Then the terminal is asked."""
    assert await system_clipboard(environ, "linux")("text") is None
    assert await no_clipboard("text") is None


async def test_too_much_is_not_offered_to_the_terminal() -> None:
    """A part of it would be taken for the whole."""
    with create_pipe_input() as pipe:
        keys = Keyboard(pipe)
        assert keys.board.copy("x" * 74_000).startswith("offered to the terminal (OSC 52)")
        with pytest.raises(Problem, match="takes 74,000 bytes for its clipboard; this has 74,001"):
            keys.board.copy("x" * 74_001)
    assert len(keys.output.raw) == 1


ANSWERS = ["One.", "```py\nfirst()\n```\nand\n~~~~\n```\nsecond\n~~~~\nend.", "Three."]


async def test_answers_and_code_are_copied(tmp_path: Path) -> None:
    """The last one, one before, the last block of code; what there is not is told."""
    world = ChatWorld(tmp_path, ANSWERS)
    async with world:
        await world.say("first", "second", "third")
        shown = await world.say("/copy")
        assert shown.strip() == "· 6 characters: with the terminal"
        await world.say("/copy 2", "/copy code", "/copy 3")
        assert "There is no answer '4'." in await world.say("/copy 4")
        assert "There is no answer 'x'." in await world.say("/copy x")
    assert world.terminal.copied == ["Three.", ANSWERS[1], "```\nsecond\n", "One."]


async def test_a_long_line_of_marks_is_searched_in_no_time(tmp_path: Path) -> None:
    """It begins no block, however many blocks it could begin; the answer before has one."""
    world = ChatWorld(tmp_path, [ANSWERS[1], "`" * 60_000])
    async with world:
        await world.say("first", "second")
        before = time.process_time()
        await world.say("/copy code")
        assert time.process_time() - before < 1
    assert world.terminal.copied == ["```\nsecond\n"]


async def test_there_may_be_no_code(tmp_path: Path) -> None:
    """A block that is not closed goes to the end of its answer."""
    world = ChatWorld(tmp_path, ["One.", "```\nopen"])
    async with world:
        assert "There is no block of code" in await world.say("first", "/copy code")
        await world.say("second", "/copy code")
    assert world.terminal.copied == ["open"]


async def test_the_program_comes_before_the_terminal(tmp_path: Path) -> None:
    """It is told which one has it."""
    world = ChatWorld(tmp_path, [])
    taken: list[str] = []

    async def take(text: str) -> str:
        taken.append(text)
        return "wl-copy"

    chat = Chat(world.open, world.places, lambda chat: world.terminal, Theme(), clipboard=take)
    assert await chat.copy("text") == "in the clipboard (wl-copy)"
    assert (taken, world.terminal.copied) == (["text"], [])

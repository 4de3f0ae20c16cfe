"""The bottom of the terminal, driven by keys: what is sent, stopped, completed, folded, put aside and printed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from tests.app.tui_world import until

from amplifier.tui.input.board import Board
from amplifier.tui.input.completion import ChatCompleter

ESC, ENTER, CTRL_C, CTRL_D, SHIFT_TAB = "\x1b", "\r", "\x03", "\x04", "\x1b[Z"


class Output(DummyOutput):
    """Keeps what is written as it is."""

    def __init__(self) -> None:
        self.raw: list[str] = []

    def write_raw(self, data: str) -> None:
        self.raw.append(data)


class Told:
    """Writes down what the keys mean."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_asking = False
        self.is_busy = False
        self.takes_digits = True

    def submit(self, text: str) -> None:
        self.said.append(f"submit {text}")

    def press(self, digit: str) -> bool:
        self.said.append(f"press {digit}")
        return self.takes_digits

    def interrupt(self) -> bool:
        if self.is_busy:
            self.said.append("interrupt")
        return self.is_busy

    def escape(self) -> None:
        self.said.append("escape")

    def cancel(self) -> None:
        self.said.append("cancel")

    def cycle_mode(self) -> None:
        self.said.append("mode")

    def unfold(self) -> int:
        self.said.append("unfold")
        return 0

    def leave(self) -> None:
        self.said.append("leave")

    def live_lines(self) -> list[str]:
        return ["\x1b[32mlive\x1b[0m"]

    def status_line(self) -> str:
        return "standing"

    def choices(self) -> list[str]:
        return ["1 yes"] if self.is_asking else []

    def lost(self) -> None:
        self.said.append("lost")


class Keyboard:
    """A board with a pipe in the place of the keyboard."""

    def __init__(self, pipe: PipeInput, **options: Any) -> None:
        self.told, self.output, self.pipe = Told(), Output(), pipe
        self.history = InMemoryHistory()
        completer = ChatCompleter(lambda: {"help": "Helps.", "hooks": "Hooks."}, lambda word: ["src/main.py"])
        self.board = Board(self.told, completer, self.history, terminal_in=pipe, terminal_out=self.output, **options)

        self.board.app.timeoutlen = self.board.app.ttimeoutlen = 0.01

    async def type(self, keys: str, expected: str) -> None:
        """Presses keys, and waits until something was said."""
        self.pipe.send_text(keys)
        await self.until(lambda: expected in self.told.said)

    async def until(self, condition: Any) -> None:
        """Lets things go on until something is the case."""
        await until(condition)


@asynccontextmanager
async def keyboard(**options: Any) -> AsyncIterator[Keyboard]:
    with create_pipe_input() as pipe:
        keys = Keyboard(pipe, **options)
        running = asyncio.create_task(keys.board.run())
        await keys.until(lambda: keys.board.app.is_running)
        try:
            yield keys
        finally:
            keys.board.leave()
            await running
            keys.board.leave()


async def test_enter_sends_and_other_keys_make_lines() -> None:
    """Ctrl-J, Alt+Enter and a backslash before Enter begin another line; what was sent is in the history."""
    async with keyboard() as keys:
        await keys.type(f"one\ntwo{ESC}{ENTER}three\\{ENTER}four{ENTER}", "submit one\ntwo\nthree\nfour")
        assert keys.board.buffer.text == ""
        assert list(keys.history.get_strings()) == ["one\ntwo\nthree\nfour"]


@pytest.mark.parametrize("mark", ["!", "/", "#"])
async def test_a_command_in_a_folded_paste_is_none(mark: str) -> None:
    """Nobody has seen it; behind a mark that was typed, it is what the mark says."""
    text = mark + "\n".join(map(str, range(30)))
    async with keyboard() as keys:
        keys.pipe.send_text(f"\x1b[200~{text}\x1b[201~")
        await keys.until(lambda: keys.board.buffer.text == "[Pasted #1: 30 lines]")
        await keys.type(ENTER, f"submit  {text}")
        keys.pipe.send_text(f"{mark}\x1b[200~{text}\x1b[201~")
        await keys.until(lambda: keys.board.buffer.text == f"{mark}[Pasted #2: 30 lines]")
        await keys.type(ENTER, f"submit {mark}{text}")
        assert list(keys.history.get_strings()) == [f" {text}", f"{mark}{text}"]


async def test_a_paste_is_folded_until_it_is_sent() -> None:
    """The line shows a word for it; the text is sent and kept whole."""
    text = "\n".join(map(str, range(30)))
    async with keyboard() as keys:
        keys.pipe.send_text(f"\x1b[200~{text}\x1b[201~")
        await keys.until(lambda: keys.board.buffer.text == "[Pasted #1: 30 lines]")
        await keys.type(ENTER, f"submit {text}")
        assert list(keys.history.get_strings()) == [text]


async def test_an_image_that_is_dropped_on_the_line_is_mentioned(tmp_path: Path) -> None:
    """Its path comes as a paste; in a command of the shell it stays a path."""
    image = tmp_path / "My Shot.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n")
    async with keyboard() as keys:
        keys.pipe.send_text(f"see \x1b[200~'{image}'\x1b[201~")
        await keys.until(lambda: keys.board.buffer.text == f'see @"{image}" ')
        await keys.type(f"here{ENTER}", f'submit see @"{image}" here')
        keys.pipe.send_text(f"!file \x1b[200~'{image}'\x1b[201~")
        await keys.until(lambda: keys.board.buffer.text == f"!file '{image}'")
        assert list(keys.history.get_strings()) == [f'see @"{image}" here']


async def test_keys_with_a_meaning_are_told() -> None:
    """Esc and Ctrl-C stop or go back, Ctrl-D leaves, Shift+Tab changes the mode, Ctrl-O unfolds."""
    async with keyboard(has_colour=False) as keys:
        for pressed, expected in (
            (CTRL_C, "cancel"),
            (CTRL_D, "leave"),
            (SHIFT_TAB, "mode"),
            ("\x0f", "unfold"),
            (ESC, "escape"),
        ):
            await keys.type(pressed, expected)
        keys.pipe.send_text(f"typed{ESC}")
        await keys.until(lambda: keys.board.buffer.text == "typed")
        await keys.until(lambda: not keys.board.app.key_processor.key_buffer)
        keys.pipe.send_text(CTRL_C)
        await keys.until(lambda: keys.board.buffer.text == "")
        keys.told.is_busy = True
        await keys.type(f"typed{CTRL_C}", "interrupt")
        assert keys.board.buffer.text == "typed"
        assert keys.told.said == ["cancel", "leave", "mode", "unfold", "escape", "interrupt"]


async def test_vi_keys_have_escape_for_themselves_first() -> None:
    """In vi mode the first Esc ends the inserting, and the next one has the meaning of the chat."""
    async with keyboard(is_vi=True) as keys:
        keys.told.is_busy = True
        keys.pipe.send_text(ESC)
        await keys.until(lambda: keys.board.app.vi_state.input_mode.value == "vi-navigation")
        assert keys.told.said == []
        await keys.type(ESC, "interrupt")


async def test_a_question_takes_digits_and_has_the_line_for_itself() -> None:
    """What was being typed is put aside and comes back; a digit that is no answer is typed; answers are not kept."""
    async with keyboard() as keys:
        keys.pipe.send_text("half a sen")
        await keys.until(lambda: keys.board.buffer.text == "half a sen")
        keys.told.is_asking = True
        keys.board.write("May it?\n")
        assert keys.output.raw == []
        keys.board.put_aside()
        # Its choices are not seen before it is.
        assert keys.output.raw == ["May it?\r\n"]
        keys.board.put_aside()
        await keys.type("1", "press 1")
        keys.told.takes_digits = False
        keys.pipe.send_text("2 times no")
        await keys.type(ENTER, "submit 2 times no")
        assert list(keys.history.get_strings()) == []
        keys.told.is_asking = False
        keys.board.take_back()
        keys.board.take_back()
        assert keys.board.buffer.text == "half a sen"


async def test_commands_are_completed() -> None:
    """Tab takes the first of the suggestions, and Enter then closes the menu before it sends."""
    async with keyboard() as keys:
        keys.pipe.send_text("/he")
        await keys.until(lambda: keys.board.buffer.complete_state is not None)
        keys.pipe.send_text("\t")
        await keys.until(lambda: keys.board.buffer.text == "/help ")
        keys.pipe.send_text(ENTER)
        await keys.until(lambda: keys.board.buffer.complete_state is None)
        assert keys.told.said == []
        await keys.type(ENTER, "submit /help ")


async def test_an_editor_gets_the_whole_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folded paste is written out for the editor, and what the editor leaves is in the line."""
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nwc -l < "$1" > "$1.n"; cat "$1.n" > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with keyboard() as keys:
        text = "x\n" * 30
        keys.pipe.send_text(f"\x1b[200~{text}\x1b[201~")
        await keys.until(lambda: keys.board.buffer.text.startswith("[Pasted"))
        keys.pipe.send_text("\x18\x05")
        await keys.until(lambda: keys.board.buffer.text.strip() == "30")
        assert keys.told.said == []


async def test_lines_are_printed_above_in_one_go() -> None:
    """While it runs, what is written soon after another is printed together; before and after, at once."""
    with create_pipe_input() as pipe:
        keys = Keyboard(pipe)
        keys.board.write("before\n")
        assert keys.output.raw == ["before\r\n"]
        running = asyncio.create_task(keys.board.run())
        await keys.until(lambda: keys.board.app.is_running)
        keys.board.write("one\n")
        keys.board.write("two\n")
        await keys.until(lambda: "one\r\ntwo\r\n" in keys.output.raw)
        keys.board.write("cleared\n")
        keys.board.clear_screen()
        keys.board.copy("text")
        keys.board.write("last\n")
        keys.board.leave()
        await running
        keys.board.write("after\n")
    shown = [each for each in keys.output.raw if each]
    assert shown == ["before\r\n", "one\r\ntwo\r\n", "\x1b]52;c;dGV4dA==\x07", "last\r\n", "after\r\n"]
    assert keys.board.size() == (80, 40)


async def test_an_error_ends_it() -> None:
    """Whoever runs the board gets the error with which it was left."""
    with create_pipe_input() as pipe:
        keys = Keyboard(pipe)
        running = asyncio.create_task(keys.board.run())
        await keys.until(lambda: keys.board.app.is_running)
        keys.board.leave(RuntimeError("broken"))
        with pytest.raises(RuntimeError, match="broken"):
            await running


async def test_it_can_be_put_into_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-Z gives the terminal back to the shell."""
    async with keyboard() as keys:
        asked: list[str] = []
        monkeypatch.setattr(keys.board.app, "suspend_to_background", lambda: asked.append("suspend"))
        keys.pipe.send_text("\x1a")
        await keys.until(lambda: bool(asked))
        assert asked == ["suspend"]


async def test_a_terminal_that_has_gone_is_told_once_and_written_to_no_more() -> None:
    """What cannot be shown is not tried again and again; its size is then a usual one."""
    async with keyboard() as keys:

        def fail(*args: Any) -> Any:
            raise OSError(5, "Input/output error")

        vars(keys.output)["get_size"] = fail
        assert keys.board.size() == (80, 24)
        vars(keys.output)["write_raw"] = fail
        keys.board.write("something\n")
        await keys.until(lambda: "lost" in keys.told.said)
        keys.board.write("more\n")
        assert keys.told.said.count("lost") == 1


async def test_an_end_that_cannot_be_drawn_is_an_end() -> None:
    """Where drawing fails as the board is left, it is left all the same."""
    with create_pipe_input() as pipe:
        keys = Keyboard(pipe)

        async def fail(**options: Any) -> None:
            raise OSError(5, "Input/output error")

        keys.board.app.run_async = fail  # type: ignore[method-assign]
        await keys.board.run()
        await keys.board.run()
        assert keys.told.said == ["lost"]

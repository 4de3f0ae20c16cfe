"""The chat: what is typed becomes turns, commands and answers; what happens is shown; one can always stop and leave."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from amplifier.console.proposal import text_in
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.runtime.outcome import TurnOutcome
from amplifier.runtime.prompts import names_images, prompt_of
from amplifier.runtime.signals import HUNG_UP, TERMINATED
from amplifier.store import StoredSession
from amplifier.tui.approval import ChatApproval
from amplifier.tui.clipboard import Copier, no_clipboard
from amplifier.tui.commands.all_commands import commands_in, require_command, split_line
from amplifier.tui.commands.command import Command
from amplifier.tui.commands.memory import spelled_out
from amplifier.tui.commands.sessions import recap
from amplifier.tui.commands.written import skills_prompt, told
from amplifier.tui.input.shell import ShellCommand
from amplifier.tui.picker import Choice
from amplifier.tui.talk import Opener, Talk
from amplifier.tui.terminal import Terminal
from amplifier.tui.view.theme import Theme
from amplifier.tui.view.view import View

logger = logging.getLogger(__name__)

_TICK_S = 0.1
_TWICE_S = 1.5
"""Two keys within this time belong together."""


class Chat:
    """One chat, from its first line to its last; listens to the terminal, and is the desk of its commands."""

    def __init__(
        self,
        opener: Opener,
        places: Places,
        make_terminal: Callable[[Chat], Terminal],
        theme: Theme,
        clock: Callable[[], float] = time.monotonic,
        clipboard: Copier = no_clipboard,
    ) -> None:
        self._clipboard = clipboard
        self._places = places
        self._theme = theme
        self._clock = clock
        self._inputs: asyncio.Queue[str] = asyncio.Queue()
        self._running: Literal["turn", "command"] | ShellCommand | None = None
        self._for_agent: list[str] = []
        """Output of commands of the user, and what became of files, for the next prompt."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._pressed: dict[str, float] = {}
        self._exit_code = 0
        self._terminal = make_terminal(self)
        self.view = View(self._terminal.write, self._terminal.size, theme, former=self._former)
        self.approval = ChatApproval(self.view.print_question, self._on_question, lambda: self._folder, clock)
        self.talk = Talk(opener, self.view, self.approval, skills_prompt)

    async def run(self, first: str | None = None, resumed: StoredSession | None = None) -> int:
        """Talks until the user leaves; gives the exit code. Raises ``Problem`` where no session can be opened."""
        try:
            await self.talk.open(resumed)
            await self._greet(resumed)
            if first is not None:
                self._inputs.put_nowait(first)
            await self._talk_until_left()
            self._say_goodbye()
        finally:
            await self.talk.close()
        return self._exit_code

    async def _talk_until_left(self) -> None:
        worker = asyncio.create_task(self._work())
        worker.add_done_callback(self._on_worker_done)
        tasks = (worker, asyncio.create_task(self._tick()))
        try:
            self._listen_to_signals()
            await self._terminal.run()
        finally:
            for task in (*tasks, *self._tasks):
                task.cancel()
            await asyncio.gather(*tasks, *self._tasks, return_exceptions=True)
            self._ignore_signals()

    # What the terminal tells.

    def submit(self, text: str) -> None:
        """Takes a line: an answer, a command, something for the agent now, or something for later."""
        if self.approval.is_asking:
            self.approval.answer(text)
        elif not text.strip():
            return
        elif self.is_idle:
            self._inputs.put_nowait(text)
        else:
            self._submit_while_busy(text.rstrip())

    def _submit_while_busy(self, text: str) -> None:
        line = spelled_out(text)
        command = self.commands.get(split_line(line)[0]) if line.startswith("/") else None
        if command is not None and command.is_quick:
            self._begin(self._carried_out(text))
        elif self._running == "turn" and not line.startswith(("/", "!")) and self._steers(text):
            self.view.print_user(text)
            self.notice("the agent hears this before its next step")
        else:
            self._inputs.put_nowait(text)
            # A turn in which all is said takes but a moment to end.
            if self.view.is_working or self._running != "turn":
                self.notice(f"comes next: {text.splitlines()[0]}")

    def _steers(self, text: str) -> bool:
        """Says something to the running turn, if it can hear it; images can only begin a turn."""
        return self.view.is_working and not names_images(text, self._folder) and self.talk.steer(text)

    @property
    def is_idle(self) -> bool:
        """Whether nothing goes on, and nothing waits."""
        return self._running is None and self._inputs.empty()

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self.approval.is_asking

    def press(self, digit: str) -> bool:
        """A digit on an empty line; whether it has answered the question."""
        return self.approval.press(digit)

    def interrupt(self) -> bool:
        """Stops what goes on; whether anything did."""
        if isinstance(self._running, ShellCommand):
            self._running.stop()
            return True
        if self._running != "turn":
            return False
        is_immediate = self.talk.stop()
        self.notice("stopping at once …" if is_immediate else "finishing the current step; once more stops at once …")
        return True

    def escape(self) -> None:
        """Esc while nothing goes on: the second one goes back in the conversation."""
        if self._is_second("escape"):
            self._inputs.put_nowait("/rewind")

    def cancel(self) -> None:
        """Ctrl-C while nothing goes on: the second one leaves."""
        if self._is_second("cancel"):
            self.leave()
        else:
            self.notice("Ctrl-C again, or Ctrl-D, leaves")

    def cycle_mode(self) -> None:
        """Goes on to the next mode."""
        self._begin(self.talk.next_mode())

    def lost(self) -> None:
        """The terminal has gone."""
        self.leave(HUNG_UP)

    def live_lines(self) -> list[str]:
        """What still changes."""
        return self.view.live_lines()

    def status_line(self) -> str:
        """How things stand."""
        return self.view.status_line()

    def choices(self) -> list[str]:
        """The choices of a question."""
        return self.approval.lines(self._terminal.size()[0])

    # What commands use.

    @property
    def terminal(self) -> Terminal:
        """Where the chat is."""
        return self._terminal

    @property
    def commands(self) -> dict[str, Command]:
        """Every command that can be called now, by name."""
        return commands_in(self._places)

    def say(self, markdown: str) -> None:
        """Shows a text."""
        self.view.print_markdown(markdown)

    def notice(self, text: str) -> None:
        """Shows a short message."""
        self.view.notice(text)

    def prefill(self, text: str) -> None:
        """Puts a text into the input line."""
        self._terminal.prefill(text)

    async def choose(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Has the user choose; a question of the agent comes before."""
        chosen = await self._terminal.choose(title, choices, start)
        if chosen is None and self.is_asking:
            self.notice("the agent asks first; call the command again afterwards")
        return chosen

    def tell_agent(self, text: str) -> None:
        """Has a text go along with what is said next."""
        self._for_agent.append(text)

    async def copy(self, text: str) -> str:
        """Gives a text to the clipboard of the system, or of the terminal where there is no program for the former."""
        program = await self._clipboard(text)
        return self._terminal.copy(text) if program is None else f"in the clipboard ({program})"

    def clear_screen(self) -> None:
        """Empties the screen."""
        self._terminal.clear_screen()
        self.view.begin_page()

    def unfold(self) -> int:
        """Shows what was folded last, whole."""
        return self.view.unfold()

    def leave(self, exit_code: int = 0) -> None:
        """Ends the chat; what goes on is stopped."""
        self._exit_code = exit_code
        if self._running == "turn":
            self.talk.runtime.stop(True)
        self._terminal.leave()

    # What goes on.

    async def _work(self) -> None:
        while True:
            text = await self._inputs.get()
            self._running = "command"
            try:
                await self._carried_out(text)
            finally:
                self._running = None
                self._listen_to_signals()
                self._terminal.refresh()

    async def _carried_out(self, text: str) -> None:
        """Does what a line says; what fails is told, and the chat goes on."""
        try:
            await self._carry_out(text)
        except Problem as problem:
            self._tell(problem)
        except Exception as error:
            logger.debug("A line of the chat failed", exc_info=True)
            self._tell(Problem(f"An error inside the chat: {type(error).__name__}: {error}", "Please report it."))

    async def _carry_out(self, text: str) -> None:
        line = spelled_out(text)
        name, argument = split_line(line)
        if line.startswith("!") and len(line) > 1:
            await self._run_shell(line[1:].strip())
            return
        self.view.print_user(text)
        if line.startswith("/") and "/" not in name:
            said = await require_command(name, self.commands).work(self, argument)
            if said is not None:
                # A command may come with the project, from anybody; files that go along are named by the user.
                await self._take_turn(said, argument)
        else:
            await self._take_turn(text)

    async def _take_turn(self, text: str, own: str | None = None) -> None:
        prompt = await asyncio.to_thread(prompt_of, text, self._folder, own=own)
        for image in prompt.images:
            self.notice(image.label)
        for warning in prompt.warnings:
            self.view.notice(warning, "warning")
        prompt = prompt.followed_by(self._for_agent)
        self._for_agent.clear()
        self._running = "turn"
        self._conclude(await self.talk.ask(prompt))

    async def _run_shell(self, line: str) -> None:
        self.view.print_user(f"!{line}")
        command = ShellCommand(line, self._folder, self.view.print_output)
        self._running = command
        self._for_agent.append(await command.run())

    def _conclude(self, outcome: TurnOutcome) -> None:
        problem = outcome.problem
        if problem is not None and problem.exit_code in (TERMINATED, HUNG_UP):
            self.leave(problem.exit_code)
        elif problem is not None and outcome.status != "cancelled":
            self._tell(problem)
        elif outcome.status == "cancelled":
            self.view.notice("stopped; say what to do instead", "warning")
        elif outcome.status == "incomplete":
            self.view.notice(f"the work is not finished ({outcome.reason})", "warning")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            if self.view.tick() or self.approval.is_asking:
                self._terminal.refresh()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Does something beside what goes on."""

        async def done() -> None:
            try:
                await work
            except Problem as problem:
                self._tell(problem)

        task = asyncio.get_running_loop().create_task(done())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _on_worker_done(self, worker: asyncio.Task[None]) -> None:
        if not worker.cancelled():
            self._terminal.leave(worker.exception())

    # What is shown.

    async def _greet(self, resumed: StoredSession | None) -> None:
        for warning in told(self._places):
            self.view.notice(warning, "warning")
        if resumed is not None:
            await recap(self)
        name, _ = self.talk.provider
        self.notice(f"{self.talk.model or 'the default model'} of {name}; /help tells what you can do")

    def _say_goodbye(self) -> None:
        stored = self.talk.opening.setting.stored
        if stored is not None and stored.messages():
            self.notice(f"to go on: amplifier resume {stored.short_id}")

    def _tell(self, problem: Problem) -> None:
        hint = f" → {problem.hint}" if problem.hint else ""
        self.view.notice(f"{problem.message}{hint}", "error")

    def _on_question(self) -> None:
        self.view.wait(self.approval.is_asking)
        if self.approval.is_asking:
            self._terminal.put_aside()
        else:
            self._terminal.take_back()
        self._terminal.refresh()

    @property
    def _folder(self) -> Path:
        return self.talk.opening.setting.working_dir

    def _former(self, path: str) -> str | None:
        return text_in(self._folder / path)

    # Keys and signals.

    def _is_second(self, key: str) -> bool:
        now, before = self._clock(), self._pressed.get(key, float("-inf"))
        is_second = now - before <= _TWICE_S
        self._pressed[key] = float("-inf") if is_second else now
        return is_second

    def _listen_to_signals(self) -> None:
        """Between turns; a turn has its own way with signals."""
        loop = asyncio.get_running_loop()
        wanted = {
            "SIGINT": self.cancel,
            "SIGTERM": lambda: self.leave(TERMINATED),
            "SIGHUP": lambda: self.leave(HUNG_UP),
        }
        with suppress(NotImplementedError, ValueError, RuntimeError):
            for name, handler in wanted.items():
                loop.add_signal_handler(getattr(signal, name), handler)

    def _ignore_signals(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError, RuntimeError):
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                loop.remove_signal_handler(getattr(signal, name))

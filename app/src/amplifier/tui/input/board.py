"""The bottom of the terminal: lines that still change, the choices of a question, and the line in which one types.

What is finished is printed above and belongs to the terminal, with its scrollback and its selection. Nothing is drawn
again but these few lines.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.application.current import get_app_session, set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, ThreadedCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import ConditionalKeyBindings
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from amplifier.problems import Problem
from amplifier.tui.input.chooser import Chooser
from amplifier.tui.input.editor import edit_file
from amplifier.tui.input.keys import Keys, bindings
from amplifier.tui.input.modified_keys import asking_for_keys, keys_as_ever
from amplifier.tui.input.pastes import Pastes
from amplifier.tui.picker import Choice, Picker

_PRINT_EVERY_S = 0.03
_MENU_ROWS = 8
_MOST_INPUT_ROWS = 12
_MOST_CLIPBOARD = 74_000
_HELP = "install pbcopy, wl-copy, xclip or xsel, or use /export"
_USUAL_SIZE = (80, 24)
_PLAIN = "bg:default fg:default noreverse"
_CHOSEN = "bg:default fg:default reverse"
# The colours of the terminal itself, so that it reads on a light and on a dark ground.
_STYLES = {
    "completion-menu": _PLAIN,
    "completion-menu.completion": _PLAIN,
    "completion-menu.completion.current": _CHOSEN,
    "completion-menu.meta.completion": f"{_PLAIN} dim",
    "completion-menu.meta.completion.current": f"{_CHOSEN} nodim",
    "scrollbar.background": _PLAIN,
    "scrollbar.button": _CHOSEN,
}
_COMMANDS = ("!", "/", "#")
"""What begins with one of these is no prompt."""


class Listener(Keys, Protocol):
    """Who is told what the user does, and knows what is to be seen."""

    def submit(self, text: str) -> None:
        """The user has sent a line."""
        ...

    def live_lines(self) -> list[str]:
        """The lines that still change."""
        ...

    def choices(self) -> list[str]:
        """The choices of a question, if there is one."""
        ...

    def status_line(self) -> str:
        """How things stand, for above the input."""
        ...

    def lost(self) -> None:
        """The terminal has gone; nothing can be shown any more."""
        ...


class Board:
    """The bottom of one terminal; lives as long as the chat."""

    def __init__(
        self,
        listener: Listener,
        completer: Completer,
        history: History,
        *,
        is_vi: bool = False,
        has_colour: bool = True,
        tells_keys: bool = False,
        terminal_in: Input | None = None,
        terminal_out: Output | None = None,
    ) -> None:
        """``tells_keys`` is for a terminal that may be asked to tell Shift+Enter from Enter."""
        self._listener = listener
        self._pastes = Pastes()
        self._printed: list[str] = []
        self._is_print_due = False
        self._is_lost = False
        self._draft: str | None = None
        self._lent: set[asyncio.Future[Any]] = set()
        """What has the terminal instead: an editor."""
        self.buffer = Buffer(
            multiline=True,
            # Looking for files must not hold up the keys.
            completer=ThreadedCompleter(completer),
            complete_while_typing=True,
            history=history,
            tempfile_suffix=".md",
        )
        self._chooser = Chooser(self.size, has_colour=has_colour)
        search = SearchToolbar()
        own = bindings(listener, self.buffer, self._pastes, self._send, self._lend)
        output = terminal_out or get_app_session().output
        self.app: Application[None] = Application(
            layout=self._layout(search),
            # What is pressed in a picker is for it alone.
            key_bindings=ConditionalKeyBindings(own, ~self._chooser.is_open),
            editing_mode=EditingMode.VI if is_vi else EditingMode.EMACS,
            style=Style.from_dict(_STYLES),
            color_depth=None if has_colour else ColorDepth.DEPTH_1_BIT,
            min_redraw_interval=0.04,
            erase_when_done=True,
            input=terminal_in,
            output=asking_for_keys(output) if tells_keys else output,
        )
        # Esc alone has a meaning here, so it cannot wait long for what else may come.
        self.app.timeoutlen = 0.3
        self.app.ttimeoutlen = 0.05

    async def run(self) -> None:
        """Shows itself until ``leave`` is called; the terminal is as before then, whatever happened."""
        try:
            # Signals are the affair of the chat, and so are errors of its tasks.
            with keys_as_ever(self.app.input):
                await self.app.run_async(handle_sigint=False, set_exception_handler=False)
        except OSError:
            self._lose()
        finally:
            self._lent.clear()
            self._print()

    def leave(self, error: BaseException | None = None) -> None:
        """Ends ``run``, with an error if there is one."""
        if self.app.is_running and self.app.future is not None and not self.app.future.done():
            if error is None:
                self.app.exit()
            else:
                self.app.exit(exception=error)

    def write(self, text: str) -> None:
        """Prints whole lines above; may be called before and after ``run`` as well."""
        if self._is_lost:
            return
        self._printed.append(text)
        if not self.app.is_running:
            self._print()
        elif not self._is_print_due:
            self._is_print_due = True
            asyncio.get_running_loop().call_later(_PRINT_EVERY_S, self._print)

    def refresh(self) -> None:
        """Draws the lines at the bottom again, soon."""
        self.app.invalidate()

    def prefill(self, text: str) -> None:
        """Puts a text into the input line."""
        self.buffer.text = text
        self.buffer.cursor_position = len(text)
        self.refresh()

    async def choose(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Has the user choose; what is being typed waits below. A question comes before, and ends it."""
        if self._listener.is_asking:
            return None
        return await self._chooser.choose(Picker(title, choices, start), self.app)

    def put_aside(self) -> None:
        """Keeps what is being typed for later, and empties the line, for the answer to a question."""
        # The question is to be seen before its choices are.
        self._print()
        self._chooser.cancel()
        if self._draft is None:
            self._draft = self.buffer.text
            self.buffer.reset()

    def take_back(self) -> None:
        """Puts what was kept back into the line."""
        if self._draft is not None:
            draft, self._draft = self._draft, None
            self.prefill(draft)

    def copy(self, text: str) -> str:
        """Asks the terminal to put a text into its clipboard; nobody can know whether it does."""
        data = text.encode("utf-8", "replace")
        if len(data) > _MOST_CLIPBOARD:
            raise Problem(
                f"The terminal takes {_MOST_CLIPBOARD:,} bytes for its clipboard; this has {len(data):,}.",
                "/export writes the conversation into a file.",
            )
        self.app.output.write_raw(f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07")
        self.app.output.flush()
        return f"offered to the terminal (OSC 52); if it does not take them, {_HELP}"

    async def edit(self, path: Path) -> None:
        """Gives the terminal to the editor."""
        with set_app(self.app):
            work = asyncio.ensure_future(run_in_terminal(lambda: edit_file(path), in_executor=True))
        self._lend(work)
        await work

    def switch_keys(self) -> str:
        """Goes over to the other keys."""
        is_vi = self.app.editing_mode == EditingMode.VI
        self.app.editing_mode = EditingMode.EMACS if is_vi else EditingMode.VI
        return "emacs" if is_vi else "vi"

    def clear_screen(self) -> None:
        """Empties the screen; the scrollback stays."""
        self._printed.clear()
        self.app.renderer.clear()
        self._draw()

    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal; of one that has gone, what most have."""
        try:
            size = self.app.output.get_size()
        except OSError:
            return _USUAL_SIZE
        return size.columns, size.rows

    def _send(self) -> None:
        shown = self.buffer.text
        text = self._pastes.unfolded(shown)
        if text.startswith(_COMMANDS) and not shown.startswith(_COMMANDS):
            # The mark is in a folded paste, where nobody sees it: behind a blank, all of it is for the agent.
            text = f" {text}"
        if not self._listener.is_asking:
            # Answers to questions are not worth being found again.
            self.buffer.text = text
            self.buffer.append_to_history()
        self.buffer.reset()
        self._listener.submit(text)

    def _lend(self, work: asyncio.Future[Any]) -> None:
        """Prints nothing until somebody else, who has the terminal, is done."""
        self._lent.add(work)
        work.add_done_callback(self._take_over)

    def _take_over(self, work: asyncio.Future[Any]) -> None:
        self._lent.discard(work)
        self._print()

    def _print(self) -> None:
        self._is_print_due = False
        if self._lent:
            return
        text = "".join(self._printed)
        self._printed.clear()
        if not text:
            return
        try:
            self._put_above(text)
        except OSError:
            self._lose()

    def _put_above(self, text: str) -> None:
        output = self.app.output
        if self.app.is_running:
            # What is at the bottom is taken away, and drawn again below what is printed.
            self.app.renderer.erase()
        output.write_raw(text.replace("\n", "\r\n"))
        output.flush()
        if self.app.is_running:
            self._draw()

    def _lose(self) -> None:
        """Stops showing anything: what cannot be written would fail, be told, and fail again."""
        if not self._is_lost:
            self._is_lost = True
            self._listener.lost()

    def _draw(self) -> None:
        # At once: until it is drawn, the terminal would give a paste line by line, and each would be sent.
        with set_app(self.app):
            self.app.renderer.render(self.app, self.app.layout)

    def _layout(self, search: SearchToolbar) -> Layout:
        listener = self._listener
        field = Window(
            BufferControl(self.buffer, search_buffer_control=search.control),
            height=self._field_height,
            wrap_lines=True,
            dont_extend_height=True,
        )
        is_asking = Condition(lambda: bool(listener.choices()))
        has_status = Condition(lambda: bool(listener.status_line()))
        line = VSplit([Window(FormattedTextControl("❯ "), width=2, dont_extend_height=True), field])
        body = HSplit(
            [
                ConditionalContainer(_lines(listener.live_lines), Condition(lambda: bool(listener.live_lines()))),
                ConditionalContainer(_lines(listener.choices), is_asking),
                self._chooser.container,
                ConditionalContainer(_lines(lambda: [listener.status_line()]), has_status & ~self._chooser.is_open),
                ConditionalContainer(line, ~self._chooser.is_open),
                search,
            ]
        )
        menu = Float(CompletionsMenu(max_height=_MENU_ROWS, scroll_offset=1), xcursor=True, ycursor=True)
        return Layout(FloatContainer(body, [menu]), focused_element=field)

    def _field_height(self) -> Dimension:
        least = _MENU_ROWS + 1 if self.buffer.complete_state is not None else 1
        return Dimension(min=least, max=max(least, min(_MOST_INPUT_ROWS, self.size()[1] // 2)))


def _lines(lines: Callable[[], list[str]]) -> Window:
    def shown() -> Any:
        return ANSI("\n".join(lines()))

    return Window(FormattedTextControl(shown), dont_extend_height=True, wrap_lines=False)

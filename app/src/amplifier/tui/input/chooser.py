"""The picker at the bottom of the terminal: its lines, the field in which one types, and its keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys as KeyNames
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    VSplit,
    Window,
)

from amplifier.tui.picker import MOST_ROWS, Picker

_MOST = 1_000_000_000


class Chooser:
    """The place of pickers in one layout; shown while one is open, which is at most one at a time."""

    def __init__(self, size: Callable[[], tuple[int, int]], *, has_colour: bool) -> None:
        self._size = size
        self._has_colour = has_colour
        self._picker = Picker("", [])
        self._is_open = False
        self._close: Callable[[int | None], None] = lambda chosen: None
        self.is_open = Condition(lambda: self._is_open)
        self._field = Buffer(multiline=False, on_text_changed=self._narrow)
        self._control = BufferControl(self._field, key_bindings=self._bindings())
        self.container = ConditionalContainer(self._body(), self.is_open)

    async def choose(self, picker: Picker, app: Application[Any]) -> int | None:
        """Shows a picker until something is chosen; ``None`` where nothing is. An open one is left for it."""
        answer: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self.open(picker, app, lambda chosen: None if answer.done() else answer.set_result(chosen))
        try:
            return await answer
        finally:
            if self._picker is picker:
                # Nobody waits for the choice any more.
                self.cancel()

    def open(self, picker: Picker, app: Application[Any], done: Callable[[int | None], None]) -> None:
        """Shows a picker; ``done`` gets what is chosen as soon as it is, so that the next key is for others again."""
        self.cancel()
        before = app.layout.current_window

        def close(chosen: int | None) -> None:
            self._is_open = False
            app.layout.focus(before)
            app.invalidate()
            done(chosen)

        self._picker, self._close, self._is_open = picker, close, True
        self._field.reset()
        app.vi_state.input_mode = InputMode.INSERT
        app.layout.focus(self._control)
        app.invalidate()

    def cancel(self) -> None:
        """Leaves the picker that is open, if one is."""
        if self._is_open:
            self._close(None)

    def _narrow(self, field: Buffer) -> None:
        self._picker.narrow(field.text)

    def _body(self) -> HSplit:
        prompt = Window(FormattedTextControl("? "), width=2, dont_extend_height=True)
        field = Window(self._control, height=1, dont_extend_height=True)
        listed = Window(FormattedTextControl(self._shown), dont_extend_height=True, wrap_lines=False)
        return HSplit([listed, VSplit([prompt, field])])

    def _shown(self) -> Any:
        return ANSI("\n".join(self._picker.lines(self._size(), has_colour=self._has_colour)))

    def _bindings(self) -> KeyBindings:
        bound = KeyBindings()
        moves = {
            "up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -MOST_ROWS, "pagedown": MOST_ROWS,
            "home": -_MOST, "end": _MOST,
        }  # fmt: skip
        for key, by in moves.items():
            bound.add(key)(self._mover(by))
        for key in ("escape", "c-c", "c-d", "c-g"):
            bound.add(key, eager=True)(self._leave)
        bound.add("enter")(self._take)
        bound.add(KeyNames.BracketedPaste)(self._paste)
        return bound

    def _mover(self, by: int) -> Callable[[KeyPressEvent], None]:
        def move(event: KeyPressEvent) -> None:
            self._picker.move(by)

        return move

    def _leave(self, event: KeyPressEvent) -> None:
        self.cancel()

    def _take(self, event: KeyPressEvent) -> None:
        if self._picker.chosen is not None:
            self._close(self._picker.chosen)

    def _paste(self, event: KeyPressEvent) -> None:
        self._field.insert_text(" ".join(event.data.split()))

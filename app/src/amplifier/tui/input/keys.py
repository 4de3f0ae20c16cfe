"""The keys of the input line beside those that every line has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_completions, vi_mode, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys as KeyNames

from amplifier.runtime.prompts import dropped_images, mention_of
from amplifier.tui.input.pastes import Pastes

Lend = Callable[[asyncio.Future[Any]], None]
"""Told of somebody who has the terminal until a work is done."""


class Keys(Protocol):
    """Who is told of keys with a meaning for the chat."""

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        ...

    def press(self, digit: str) -> bool:
        """A digit on an empty line; whether it has answered the question."""
        ...

    def interrupt(self) -> bool:
        """Esc or Ctrl-C; whether there was anything to stop."""
        ...

    def escape(self) -> None:
        """Esc on an empty line while nothing goes on."""
        ...

    def cancel(self) -> None:
        """Ctrl-C on an empty line while nothing goes on."""
        ...

    def cycle_mode(self) -> None:
        """Shift+Tab."""
        ...

    def unfold(self) -> int:
        """Ctrl-O."""
        ...

    def leave(self) -> None:
        """Ctrl-D on an empty line."""
        ...


def bindings(keys: Keys, buffer: Buffer, pastes: Pastes, send: Callable[[], None], lend: Lend) -> KeyBindings:
    """The keys that the chat adds; ``send`` is what Enter does, ``lend`` is told of an editor."""
    bound = KeyBindings()
    is_empty = Condition(lambda: not buffer.text)
    _bind_editing(bound, buffer, pastes, send, lend)
    _bind_answers(bound, keys, buffer, is_empty)
    _bind_stops(bound, keys, buffer, is_empty)
    _bind_views(bound, keys)
    return bound


def _bind_editing(bound: KeyBindings, buffer: Buffer, pastes: Pastes, send: Callable[[], None], lend: Lend) -> None:
    @bound.add("enter")
    def _send(event: KeyPressEvent) -> None:
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None
        elif buffer.document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.newline()
        else:
            send()

    @bound.add("escape", "enter")
    @bound.add("c-j")
    def _newline(event: KeyPressEvent) -> None:
        buffer.newline()

    @bound.add(KeyNames.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        # A path behind ``!`` or in a command is for that; anywhere else an image is there to be seen.
        images = [] if buffer.text.startswith(("!", "/")) else dropped_images(event.data)
        buffer.insert_text("".join(f"{mention_of(path)} " for path in images) or pastes.folded(event.data))

    @bound.add("c-x", "c-e")
    def _edit(event: KeyPressEvent) -> None:
        whole = pastes.unfolded(buffer.text)
        buffer.text = whole
        lend(buffer.open_in_editor())

    @bound.add("c-z")
    def _suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()


def _bind_answers(bound: KeyBindings, keys: Keys, buffer: Buffer, is_empty: Condition) -> None:
    is_asking = Condition(lambda: keys.is_asking)

    def press(event: KeyPressEvent) -> None:
        if not keys.press(event.data):
            buffer.insert_text(event.data)

    for digit in "123456789":
        bound.add(digit, filter=is_asking & is_empty)(press)


def _bind_stops(bound: KeyBindings, keys: Keys, buffer: Buffer, is_empty: Condition) -> None:
    # In vi mode Esc goes from inserting to commanding first.
    is_free_escape = ~vi_mode | vi_navigation_mode

    @bound.add("escape", filter=is_free_escape)
    def _escape(event: KeyPressEvent) -> None:
        if not keys.interrupt() and not buffer.text:
            keys.escape()

    @bound.add("c-c")
    def _cancel(event: KeyPressEvent) -> None:
        if keys.interrupt():
            return
        if buffer.text:
            buffer.reset()
        else:
            keys.cancel()

    @bound.add("c-d", filter=is_empty)
    def _leave(event: KeyPressEvent) -> None:
        keys.leave()


def _bind_views(bound: KeyBindings, keys: Keys) -> None:
    @bound.add("s-tab", filter=~has_completions)
    def _cycle(event: KeyPressEvent) -> None:
        keys.cycle_mode()

    @bound.add("c-o")
    def _unfold(event: KeyPressEvent) -> None:
        keys.unfold()

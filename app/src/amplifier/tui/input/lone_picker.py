"""A picker on a terminal on which nothing else is yet: before the chat begins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from amplifier.tui.input.numbered_list import NumberedList
from amplifier.tui.picker import Choice, Picker


async def pick(title: str, choices: Sequence[Choice], *, has_colour: bool) -> int | None:
    """Draws the choices at the bottom until one is chosen, and takes them away again."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import HSplit, Layout

    from amplifier.tui.input.chooser import Chooser
    from amplifier.tui.input.modified_keys import keys_as_ever

    def size() -> tuple[int, int]:
        found = app.output.get_size()
        return found.columns, found.rows

    def begin() -> None:
        chooser.open(Picker(title, choices), app, lambda chosen: app.exit(result=chosen))

    chooser = Chooser(size, has_colour=has_colour)
    app: Application[int | None] = Application(layout=Layout(HSplit([chooser.container])), erase_when_done=True)
    # A chat that was killed could not take back that keys are reported.
    with keys_as_ever(app.input):
        return await app.run_async(pre_run=begin)


async def pick_in_lines(
    title: str, choices: Sequence[Choice], read: Callable[[], Coroutine[Any, Any, str]], write: Callable[[str], None]
) -> int | None:
    """Lists the choices, and reads lines until one is chosen; where there are no more lines, nothing is."""
    listed = NumberedList(Picker(title, choices), write)
    try:
        while not listed.take(await read()):
            pass
    except EOFError:
        return None
    return listed.chosen

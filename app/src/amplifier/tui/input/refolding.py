"""Terminals that fold lines anew when they become narrower: what was drawn takes more rows then than it was drawn in.

The renderer goes up by the rows that it has drawn, and would leave the first ones behind. Where lines stay as they are,
as in xterm, going up further would erase what is finished, so it is done only for terminals that are known to fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Screen

_FOLDING_VARIABLES = ("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION", "WEZTERM_PANE")
_FOLDING_TERMS = ("alacritty", "contour", "foot", "rio", "tmux", "wezterm", "xterm-ghostty", "xterm-kitty")
_FOLDING_PROGRAMS = ("Apple_Terminal", "ghostty", "iTerm.app", "vscode", "WarpTerminal", "WezTerm")


def folds_lines(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is known to fold lines anew."""
    return (
        any(environ.get(name) for name in _FOLDING_VARIABLES)
        or environ.get("TERM", "").startswith(_FOLDING_TERMS)
        or environ.get("TERM_PROGRAM") in _FOLDING_PROGRAMS
    )


def keep_clean(app: Application[Any]) -> None:
    """Has ``app`` take away all that it has drawn when the terminal has become narrower."""
    renderer, erase, output = app.renderer, app.renderer.erase, app.output

    def erase_all(leave_alternate_screen: bool = True) -> None:
        screen = renderer.last_rendered_screen
        if screen is not None:
            cursor = screen.get_cursor_position(app.layout.current_window)
            output.cursor_up(_further_rows(screen, cursor.x, cursor.y, output.get_size().columns))
        erase(leave_alternate_screen)

    renderer.erase = erase_all


def _further_rows(screen: Screen, x: int, y: int, columns: int) -> int:
    """The rows that lines above the cursor, and the beginning of its own, take beyond one each."""
    above = (max(0, _used(screen, row) - 1) // columns for row in range(y))
    return sum(above) + x // columns


def _used(screen: Screen, row: int) -> int:
    cells = screen.data_buffer[row].items()
    return max((place + cell.width for place, cell in cells if cell.char.strip()), default=0)

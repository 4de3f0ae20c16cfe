"""A terminal that becomes narrower folds what was drawn; nothing of it is left behind."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import DummyOutput
from tests.app.run_world import calls, write_bundle
from tests.app.test_tui_terminal import Pane
from tests.app.tui_world import until

from amplifier.tui.input.refolding import folds_lines, keep_clean


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "linux"}, False),
        ({}, False),
        ({"TMUX": "/tmp/tmux,1,0"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, True),
    ],
)
def test_only_terminals_that_are_known_to_fold_are_taken_for_such(environ: dict[str, str], expected: bool) -> None:
    """Elsewhere finished lines would be erased, which is worse than a line that stays."""
    assert folds_lines(environ) is expected


class Output(DummyOutput):
    """A terminal of which the size can be changed."""

    def __init__(self) -> None:
        self.columns = 40
        self.ups: list[int] = []

    def get_size(self) -> Size:
        return Size(rows=20, columns=self.columns)

    def cursor_up(self, amount: int) -> None:
        self.ups.append(amount)


@pytest.mark.parametrize(("columns", "further"), [(40, 0), (80, 0), (20, 2), (12, 3)])
async def test_what_is_taken_away_is_as_high_as_it_was_folded(columns: int, further: int) -> None:
    """Lines above the cursor, with wide characters, and the line of the cursor up to it."""
    output = Output()
    lines = ["x" * 30, "", "日本" * 6, "short"]
    field = Window(FormattedTextControl("y" * 39, focusable=True), height=1)
    above = [Window(FormattedTextControl(line), height=1) for line in lines]
    with create_pipe_input() as pipe:
        app: Application[None] = Application(Layout(HSplit([*above, field])), input=pipe, output=output)
        keep_clean(app)
        running = asyncio.create_task(app.run_async())
        await until(lambda: app.renderer.last_rendered_screen is not None)
        output.columns = columns
        output.ups.clear()
        app.renderer.erase()
        first = list(output.ups)
        app.renderer.erase()
        app.exit()
        await running
    assert first == [further, 4]


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    made = Pane(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_however_the_terminal_is_resized_there_is_one_status_line(pane: Pane) -> None:
    """One size after another while nothing goes on, and while a command writes."""
    busy = 'for i in $(seq 1 50); do echo "line $i of what is shown while the command runs"; sleep 0.05; done'
    tools: dict[str, Any] = {"tools": [{"module": "tool-bash", "config": {"sandbox": "off"}}]}
    # With an empty screen below the chat, a terminal that folds may move the chat itself into the scrollback.
    script = ["\n\n".join(["Long."] * 30) + "\n\nWide.", calls(("bash", {"command": busy})), "Done."]
    pane.start("-B", write_bundle(pane.work, script, **tools))
    pane.until("/help")

    def settled(columns: int, rows: int) -> str:
        """What is to be seen once it is drawn for that size."""
        pane.resize(columns, rows)
        time.sleep(0.5)  # a terminal in a terminal tells of its size when it finds time to
        return pane.screen(with_scrollback=True)

    pane.type("first")
    pane.until(r"Wide\.[^❯]*mock-model")
    for columns, rows in ((60, 30), (40, 30), (100, 30), (20, 12), (80, 5), (80, 30), (20, 7), (120, 30)):
        assert len(re.findall(r"(?m)^mock-model(?! of)", settled(columns, rows))) == 1
    pane.type("second")
    pane.until("line 5 of")
    for columns in (70, 45, 100):
        settled(columns, 30)
    pane.until(r"Done\.[^❯]*mock-model")
    shown = pane.screen(with_scrollback=True)
    assert len(re.findall(r"(?m)^mock-model(?! of)", shown)) == 1
    assert len(re.findall("line 50 of", shown)) == 1

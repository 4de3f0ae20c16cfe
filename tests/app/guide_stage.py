"""A terminal in which a scene of the guide is played: the real command, keys sent, the screen taken with its colours.

What differs from run to run and from machine to machine is put on one form: where the home is, how long things took.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.app.run_world import write_bundle

LIMIT_S = 30.0
_TMUX_S = 30.0
_ENDING_S = 2.0
_POLL_S = 0.05
_CALM_S = 0.4
"""A screen that has not changed for so long is finished."""
_SHOWN_HOME = "/home/me"
_SPINNERS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_DURATION = re.compile(r"\b\d\.\d s\b")
_LEFT = re.compile(r"\b\d min left\b")
_SHORT_ID = re.compile(r"(?:(?<=· )|(?<=resume ))[0-9a-f]{8}\b")
_SHOWN_IDS = ("6f2d81c4", "b07e53a9", "19c4d2f6")
SESSION = "6f2d81c4-0b1e-4c2f-9f0a-3f5f8f1f7a10"
"""The id of the session of a chat."""


class SceneError(Exception):
    """A scene did not go as it was written; tells what the terminal showed."""


class Frame(NamedTuple):
    """One look at the terminal: its lines with escape sequences, and where the cursor is, column and row."""

    lines: list[str]
    cursor: tuple[int, int] | None


class Stage:
    """A terminal, a home and a project; lives as long as its scene."""

    def __init__(self, home: Path, columns: int, rows: int) -> None:
        self.project = home / "project"
        self.project.mkdir()
        self._home = home
        self._size = ("-x", str(columns), "-y", str(rows))

    def file(self, name: str, text: str) -> None:
        """Puts a file into the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def agent(self, script: list[Any], **sections: Any) -> None:
        """Makes a bundle whose model answers from ``script`` the one that is used."""
        config = self._home / ".amplifier"
        config.mkdir()
        model = {"script": script, "model": "scripted", "usage": {"input_tokens": 5200, "output_tokens": 180}}
        provider = {"module": "provider-mock", "config": model}
        bundle = write_bundle(config, [], name="demo", **{"providers": [provider], **sections})
        (config / "settings.yaml").write_text(f"bundle:\n  active: {bundle}\n", encoding="utf-8")

    def start(self, *args: str, unseen: tuple[str, ...] = ()) -> None:
        """Calls the command, as if it had been typed at a shell without the options that are ``unseen``."""
        typed = shlex.join(["amplifier", *args]).replace("'", '"')
        called = shlex.join([sys.executable, "-m", "amplifier", *args, *unseen])
        kept = "sh -c 'echo $$ > ~/.pid; exec \"$@\"' sh"
        line = f"printf '%s\\n' {shlex.quote(f'$ {typed}')}; {kept} {called}; echo > ~/.over; exec cat"
        self._tmux("new-session", "-d", *self._size, "sh", "-c", line)

    def chat(self) -> None:
        """Opens a chat, and waits until it listens."""
        self.start(unseen=("chat", "--session-id", SESSION))
        self.until(r"(?m)^❯")

    def keys(self, *keys: str) -> None:
        """Presses keys by their names in tmux."""
        self._tmux("send-keys", *keys)

    def write(self, text: str) -> None:
        """Types a text."""
        self._tmux("send-keys", "-l", text)

    def say(self, text: str) -> None:
        """Types a text and sends it."""
        self.write(text)
        self.keys("Enter")

    def until(self, pattern: str) -> None:
        """Waits until the screen shows something; soon gives up on a command that has ended."""
        deadline = time.monotonic() + LIMIT_S
        while not re.search(pattern, shown := self._tmux("capture-pane", "-p")):
            if time.monotonic() > deadline:
                raise SceneError(f"{pattern!r} does not come up. The terminal shows:\n{shown.rstrip()}")
            if (self._home / ".over").exists():
                deadline = min(deadline, time.monotonic() + _ENDING_S)
            time.sleep(_POLL_S)

    def frame(self, pattern: str, *durations: str) -> Frame:
        """The screen once it shows something and has become calm; what it says took time, took the given times."""
        self.until(pattern)
        deadline = time.monotonic() + LIMIT_S
        taken = self._look(durations)
        since = time.monotonic()
        while time.monotonic() - since < _CALM_S:
            if time.monotonic() > deadline:
                raise SceneError("The screen does not become calm. It shows:\n" + "\n".join(taken.lines))
            time.sleep(_POLL_S)
            now = self._look(durations)
            if now != taken:
                taken, since = now, time.monotonic()
        return taken

    def close(self) -> None:
        """Ends the command, so that it writes no more, then the terminal."""
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):  # it may have ended, or not begun
            process = int((self._home / ".pid").read_text())
            os.kill(process, signal.SIGTERM)
            deadline = time.monotonic() + _ENDING_S
            while time.monotonic() < deadline:
                time.sleep(_POLL_S)
                os.kill(process, 0)
            os.kill(process, signal.SIGKILL)
        with contextlib.suppress(SceneError):
            self._tmux("kill-server")

    def _look(self, durations: tuple[str, ...]) -> Frame:
        column, row, is_shown = self._tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").split()
        lines = self._steady(self._tmux("capture-pane", "-e", "-p"), durations).rstrip("\n").split("\n")
        return Frame(lines, (int(column), int(row)) if is_shown == "1" else None)

    def _steady(self, screen: str, durations: tuple[str, ...]) -> str:
        """The screen as it would be in the home of the docs; the paths are equally long, so all stays in its place."""
        home = str(self._home)
        for real, shown in ((home, _SHOWN_HOME), (home.replace("/", "-"), _SHOWN_HOME.replace("/", "-"))):
            screen = screen.replace(real, shown)
        screen = re.sub(f"[{_SPINNERS}]", _SPINNERS[2], screen)
        screen = _LEFT.sub("5 min left", screen)
        ids = dict(zip(dict.fromkeys(_SHORT_ID.findall(screen)), _SHOWN_IDS, strict=False))
        screen = _SHORT_ID.sub(lambda found: ids.get(found.group(), _SHOWN_IDS[0]), screen)
        told = iter(durations)
        last = durations[-1] if durations else "0.4 s"
        return _DURATION.sub(lambda _: next(told, last), screen)

    def _tmux(self, *args: str) -> str:
        variables = {
            "HOME": str(self._home),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "PYTHONUTF8": "1",
            "AMPLIFIER_MANAGED_SETTINGS": "/nowhere",
        }
        done = subprocess.run(
            ["tmux", "-S", str(self._home / ".tmux"), "-f", os.devnull, *args],
            cwd=self.project, env=variables, capture_output=True, text=True, check=False, timeout=_TMUX_S,
        )  # fmt: skip
        if done.returncode:
            raise SceneError(f"tmux {shlex.join(args)}: {done.stderr.strip()}")
        return done.stdout


@contextmanager
def stage(columns: int, rows: int) -> Iterator[Stage]:
    """A stage in a home of its own; nothing is left of either."""
    home = _fresh_home()
    try:
        made = Stage(home, columns, rows)
        try:
            yield made
        finally:
            made.close()
    finally:
        while home.exists():  # the shell may still be writing down that the command is over
            shutil.rmtree(home, ignore_errors=True)


def _fresh_home() -> Path:
    """A folder whose path is as long as the one that is shown in its place."""
    parent = Path("/tmp")
    letters = len(_SHOWN_HOME) - len(str(parent)) - 1
    while True:
        home = parent / "".join(random.choices(string.ascii_lowercase, k=letters))
        with contextlib.suppress(FileExistsError):
            home.mkdir(mode=0o700)
            return home

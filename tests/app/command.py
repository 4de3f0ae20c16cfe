"""The command for tests: in this process, where coverage sees it, and as a process of its own, as users have it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from amplifier.cli.main import main


class Result(NamedTuple):
    """What a call of the command did."""

    code: int
    out: str
    err: str


class Command:
    """The command with a home and a working directory of its own, and none of the surroundings' variables."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.work.mkdir()
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(self.work)
        for name in surroundings():
            monkeypatch.delenv(name, raising=False)
        for name, value in self.variables.items():
            monkeypatch.setenv(name, value)

    @property
    def variables(self) -> dict[str, str]:
        """The variables that make a home of its own."""
        none = str(self.work.parent / "no-managed-settings.yaml")
        return {"AMPLIFIER_HOME": str(self.home), "AMPLIFIER_MANAGED_SETTINGS": none, "COLUMNS": "80"}

    def __call__(self, *args: str) -> Result:
        """Calls the command in this process."""
        self._capsys.readouterr()
        code = main(args)
        shown = self._capsys.readouterr()
        return Result(code, shown.out, shown.err)

    def process(self, *args: str, stdin: bytes = b"", **variables: str) -> Result:
        """Calls the command as a process, without a terminal."""
        done = subprocess.run(
            [sys.executable, "-m", "amplifier", *args],
            input=stdin,
            capture_output=True,
            cwd=self.work,
            env=environment() | self.variables | variables,
            check=False,
            timeout=60,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def settings(self, text: str) -> Path:
        """Writes the user's settings."""
        self.home.mkdir(exist_ok=True)
        file = self.home / "settings.yaml"
        file.write_text(text, encoding="utf-8")
        return file


def surroundings() -> list[str]:
    """Variables of this process that the command would look at."""
    names = ("NO_COLOR", "FORCE_COLOR", "TERM", "EDITOR", "VISUAL", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    return [name for name in os.environ if name.startswith("AMPLIFIER") or name in names]


def environment() -> dict[str, str]:
    """The variables of this process without those that the command would look at."""
    without = surroundings()
    return {name: value for name, value in os.environ.items() if name not in without}

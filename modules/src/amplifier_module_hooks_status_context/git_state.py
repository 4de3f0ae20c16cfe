"""The state of a git repository, read without running anything that the repository names.

A repository's own config can name programs for git to run: monitors, filters, signature checkers, transports. Whoever
can write a file there must not get a program run by a mere look, so all of them are switched off. Everything here
blocks, and is called in a thread.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_MOST_BYTES = 1 << 20
_FILTERS = re.compile(r"filter\.(?P<driver>.*)\.(clean|smudge|process|required)", re.DOTALL | re.IGNORECASE)
_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.untrackedCache": "false",
    "log.showSignature": "false",
    "status.submoduleSummary": "false",
    "maintenance.auto": "false",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_MAIN_NAMES = ("main", "master")


@dataclass(frozen=True, slots=True)
class GitState:
    """What is known of a repository; paths are sorted, and ``commits`` has the latest first."""

    branch: str = ""
    main_branch: str = ""
    changed: tuple[tuple[str, str], ...] = ()
    """State and path of each changed file."""
    untracked: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    is_complete: bool = True
    """Whether all changes are in here; there may be more than anybody wants to read."""


class GitTimeoutError(Exception):
    """Git did not answer in time."""


def read_git_state(folder: Path, *, commits: int, untracked: bool, timeout_s: float) -> GitState | None:
    """The state of the repository that ``folder`` belongs to; ``None`` where there is none, or no git.

    Raises ``GitTimeoutError`` when it takes too long.
    """
    program = _git_outside(folder)
    if program is None:
        return None
    git = _Git(program, folder, time.monotonic() + timeout_s)
    names = git.run("config", "--list", "--name-only", "-z")
    # A filter that is not known could not be switched off.
    if names is None or not names.is_complete:
        return None
    git.switch_off(_filters_in(names.text))
    status = git.run(
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--no-renames",
        "--ignore-submodules=all",
        f"--untracked-files={'normal' if untracked else 'no'}",
    )
    if status is None:
        return None
    refs = git.run("for-each-ref", "--format=%(refname)%00%(symref)", "refs/remotes/origin/HEAD", "refs/heads/")
    log = git.run("log", f"--max-count={commits}", "--no-show-signature", "-z", "--format=%h %s") if commits else None
    branch, changed, new = parse_status(status.text)
    told = tuple(line for line in (log or _NOTHING).text.split("\0") if line)
    return GitState(branch, parse_main_branch((refs or _NOTHING).text), changed, new, told, status.is_complete)


def parse_status(output: str) -> tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Branch, changed files and untracked files in what ``git status --porcelain=v2 --branch -z`` says."""
    branch = ""
    changed: list[tuple[str, str]] = []
    untracked: list[str] = []
    for entry in output.split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "#" and rest.startswith("branch.head "):
            branch = rest.removeprefix("branch.head ")
        elif kind == "?":
            untracked.append(rest)
        elif kind in ("1", "u"):
            # XY, then 6 fields of numbers and hashes, or 8 for a conflict, then the path.
            fields = rest.split(" ", 7 if kind == "1" else 9)
            changed.append((fields[0].replace(".", " "), fields[-1]))
    return branch, tuple(sorted(changed, key=lambda each: each[1])), tuple(sorted(untracked))


def parse_main_branch(output: str) -> str:
    """The branch that others start from: what the remote says, else one with a usual name."""
    refs = [line.partition("\0") for line in output.splitlines()]
    for name, _, target in refs:
        if name == "refs/remotes/origin/HEAD" and target:
            return target.removeprefix("refs/remotes/origin/")
    heads = {name.removeprefix("refs/heads/") for name, _, _ in refs}
    return next((name for name in _MAIN_NAMES if name in heads), "")


def _filters_in(names: str) -> list[str]:
    """The drivers of filters that a config names."""
    found = (_FILTERS.fullmatch(name) for name in names.split("\0"))
    return sorted({match["driver"] for match in found if match is not None})


def _git_outside(folder: Path) -> str | None:
    """The program git, and not one that lies in the folder itself."""
    entries = [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(entry).is_absolute()]
    outside = [entry for entry in entries if not Path(entry).resolve().is_relative_to(folder)]
    return shutil.which("git", path=os.pathsep.join(outside)) if outside else None


class _Output(NamedTuple):
    text: str
    is_complete: bool


_NOTHING = _Output("", True)


class _Git:
    """Runs git in one folder until a deadline, with everything off that a repository could have run."""

    def __init__(self, program: str, folder: Path, deadline: float) -> None:
        self._program = program
        self._folder = folder
        self._deadline = deadline
        self._settings = dict(_OFF)

    def switch_off(self, drivers: Sequence[str]) -> None:
        """Makes filters do nothing."""
        for driver in drivers:
            for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")):
                self._settings[f"filter.{driver}.{key}"] = value

    def run(self, *arguments: str) -> _Output | None:
        """What git says; ``None`` if it fails."""
        process = subprocess.Popen(
            [self._program, "--no-pager", *arguments],
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        alarm = threading.Timer(max(0.0, self._deadline - time.monotonic()), process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            assert process.stdout is not None
            output = process.stdout.read(_MOST_BYTES)
            process.stdout.close()
            is_complete = len(output) < _MOST_BYTES
            code = process.wait() if is_complete else 0
        finally:
            alarm.cancel()
            process.kill()
            process.wait()
        if code and time.monotonic() >= self._deadline:
            raise GitTimeoutError
        return None if code else _Output(output.decode("utf-8", "replace"), is_complete)

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        settings = {"GIT_CONFIG_COUNT": str(len(self._settings))}
        for number, (name, value) in enumerate(self._settings.items()):
            settings |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return {**inherited, **_ENVIRONMENT, **settings}

"""The command on a terminal of its own, for tests: what it shows is read, what is typed is written."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.app.command import Command, environment

_PATIENCE_S = 60.0
INTERRUPT, END = b"\x03", b"\x04"


class Terminal:
    """A process whose standard streams are a terminal; keys such as Ctrl-C reach it as signals."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self.shown = b""

    def wait_for(self, text: str) -> None:
        """Reads until ``text`` is shown."""
        deadline = time.monotonic() + _PATIENCE_S
        while text.encode() not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} is not shown: {self.shown!r}"
            if not self._read():
                raise AssertionError(f"{text!r} was not shown: {self.shown!r}")

    def press(self, keys: bytes) -> None:
        """Types."""
        os.write(self._master, keys)

    def ended(self) -> tuple[int, str]:
        """The exit code, and everything that was shown."""
        while self._read():
            pass
        return self.process.wait(_PATIENCE_S), self.shown.decode()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], _PATIENCE_S)
        assert ready, f"nothing more is shown: {self.shown!r}"
        with contextlib.suppress(OSError):
            if data := os.read(self._master, 65_536):
                self.shown += data
                return True
        return False


@contextmanager
def on_terminal(command: Command, *args: str, **variables: str) -> Iterator[Terminal]:
    """Runs the command on a terminal of 80 columns; it does not outlive the block."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _SESSION_LEADER, *args],
        cwd=command.work,
        env=environment() | command.variables | {"TERM": "xterm-256color"} | variables,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(master)


# A process gets the signals of the keys only from the terminal that controls it.
_SESSION_LEADER = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv[0] = "amplifier"
from amplifier.cli.main import main
sys.exit(main())
"""

"""Commands as processes that leave nothing behind: output bounded while they run, ended with all they have started.

Between this process and a command stands a keeper (see ``amplifier_modkit.confinement.keeper``), which ends everything
when it is told to, or when this process is no more. Works where processes can be forked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import amplifier_modkit

Stream = Literal["stdout", "stderr"]
Listener = Callable[[Stream, bytes], None]

STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")

_PACKAGES = str(Path(amplifier_modkit.__file__).parent.parent)
_START = (
    f"import sys; sys.path.append({_PACKAGES!r}); "
    "from amplifier_modkit.confinement.keeper import main; main(sys.argv[1:])"
)
_READ_BYTES = 65_536
# The keeper has ended everybody who could write; what is in the pipe by then comes at once.
_DRAIN_S = 0.25
# How much longer than its grace a keeper may take before it is killed itself.
_KEEPER_GRACE_S = 2.0


class BoundedOutput:
    """What one stream of a process gave: all of it up to ``max_bytes``, beyond that its beginning and its end."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._share = max_bytes * 2 // 5
        self._head = bytearray()
        self._tail = bytearray()
        """What came directly before ``total_bytes``, and is not in the head."""
        self.total_bytes = 0

    @property
    def is_truncated(self) -> bool:
        """Whether something of it is left out."""
        return self.total_bytes > self._max_bytes

    def add(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        self.total_bytes += len(data)
        room = self._max_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._share:
            del self._tail[: len(self._tail) - self._share]

    def text(self) -> str:
        """The output; where something is left out, a line says how much. Cut at line ends if they are near."""
        if not self.is_truncated:
            return _decoded(self._head)
        head = bytes(self._head[: self._share])
        tail = bytes((self._head + self._tail)[-self._share :] if self._share else b"")
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :] or tail
        left_out = self.total_bytes - len(head) - len(tail)
        return f"{_decoded(head)}\n[... {left_out} bytes left out ...]\n{_decoded(tail)}"

    def text_since(self, position: int) -> str:
        """What came after ``position`` bytes, as far as it was kept."""
        if position <= 0:
            return self.text()
        kept = bytes(self._head + self._tail)
        first_kept = self.total_bytes - len(self._tail)
        if position < len(self._head) and (first_kept == len(self._head)):
            return _decoded(kept[position:])
        fresh = self._tail[max(position - first_kept, 0) :] if position < self.total_bytes else b""
        left_out = max(first_kept - position, 0)
        return (f"[... {left_out} bytes left out ...]\n" if left_out else "") + _decoded(fresh)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What is put around a command: programs before the keeper, and what the keeper itself gives up for it."""

    wrapper: tuple[str, ...] = ()
    """The words of a program that runs the words after it."""
    keeper_settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept of a process, and how long it is waited for."""

    max_output_bytes: int = 100_000
    """The most that is kept of each stream."""
    grace_s: float = 0.5
    """Between the polite signal and the one that cannot be refused."""
    linger_s: float = 0.2
    """How long what a command left running may go on after it."""


class KeptProcess:
    """A command that runs or has run; ``end`` must be called, or ``wait`` come to its end."""

    def __init__(self, process: asyncio.subprocess.Process, lifeline: int, limits: Limits, listener: Listener | None):
        self._process = process
        self._lifeline: int | None = lifeline
        self._limits = limits
        self._listener = listener
        self._open: dict[Stream, int] = {}
        self._drained = asyncio.Event()
        self._waiting = asyncio.create_task(self._settled(), name=f"process {process.pid}")
        self.outputs = {stream: BoundedOutput(limits.max_output_bytes) for stream in STREAMS}

    @property
    def pid(self) -> int:
        """The id of the process that keeps the command."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code of the command, 128 and its number for a signal; ``None`` while it runs."""
        return self._process.returncode if self._waiting.done() else None

    async def wait(self) -> int:
        """Waits for the end of the command and of all it has started, and returns its exit code.

        A cancellation ends the wait, not the command.
        """
        await asyncio.wait((self._waiting,))
        return self._process.returncode or 0

    async def end(self) -> None:
        """Ends the command with all it has started; comes back when they are gone, and at once if they are.

        Cancelled, it goes on by itself.
        """
        self._cut()
        # A command that is not confined can have stopped its keeper. Not by ``send_signal``, which would take the exit
        # code of a keeper that has just ended, and leave none to those who wait for it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGCONT)
        limit_s = self._limits.grace_s + _KEEPER_GRACE_S
        await asyncio.wait((self._waiting,), timeout=limit_s)
        if not self._waiting.done():
            self.kill()
            await asyncio.wait((self._waiting,))

    def kill(self) -> None:
        """Kills the keeper, which is the end of a confined command; only for those who cannot wait."""
        self._cut()
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def read_from(self, stream: Stream, descriptor: int) -> None:
        """Begins to read a stream from the end of a pipe, which is closed with it."""
        self._open[stream] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._read, stream)

    def _read(self, stream: Stream) -> None:
        data = os.read(self._open[stream], _READ_BYTES)
        if not data:
            self._close(stream)
            return
        self.outputs[stream].add(data)
        if self._listener is not None:
            self._listener(stream, data)

    def _close(self, stream: Stream) -> None:
        descriptor = self._open.pop(stream)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        if not self._open:
            self._drained.set()

    async def _settled(self) -> None:
        try:
            await self._process.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), _DRAIN_S)
        finally:
            self._cut()
            for stream in list(self._open):
                self._close(stream)

    def _cut(self) -> None:
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            os.close(lifeline)


_NOT_CONFINED = Confinement()
_USUAL_LIMITS = Limits()


async def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    confinement: Confinement = _NOT_CONFINED,
    limits: Limits = _USUAL_LIMITS,
    listener: Listener | None = None,
    stdin: bytes | None = None,
) -> KeptProcess:
    """Starts ``command`` in a session of its own; ``listener`` gets its output as it comes, from the event loop.

    Without ``stdin`` there is nothing to read from it. Raises ``OSError`` if nothing can be started in ``cwd``.
    """
    with contextlib.ExitStack() as opened:
        pipes = [_pipe(opened) for _ in range(3)]
        (life_read, life_write), (out_read, out_write), (err_read, err_write) = pipes
        words = _keeper_words(command, confinement, limits, life_read)
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else opened.enter_context(_file_with(stdin)),
            stdout=out_write,
            stderr=err_write,
            pass_fds=(life_read,),
            start_new_session=True,
            env=dict(env),
            cwd=cwd,
        )
        kept = KeptProcess(process, os.dup(life_write), limits, listener)
        for stream, descriptor in zip(STREAMS, (out_read, err_read), strict=True):
            kept.read_from(stream, os.dup(descriptor))
        return kept


def _keeper_words(command: Sequence[str], confinement: Confinement, limits: Limits, lifeline: int) -> list[str]:
    settings = (f"lifeline={lifeline}", f"grace={limits.grace_s}", f"linger={limits.linger_s}")
    keeper = (sys.executable, "-I", "-S", "-c", _START, *settings, *confinement.keeper_settings, "--")
    return [*confinement.wrapper, *keeper, *command]


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        opened.callback(os.close, end)
    return ends


@contextlib.contextmanager
def _file_with(data: bytes) -> Generator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def _decoded(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")

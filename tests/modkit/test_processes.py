"""Commands as real processes: what they write is bounded, and whatever happens, nothing of them is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit import processes
from amplifier_modkit.processes import BoundedOutput, Confinement, KeptProcess, Limits, Stream, start


async def started(command: str, **options: object) -> KeptProcess:
    return await start(("bash", "-c", command), env=dict(os.environ), cwd=Path("/"), **options)  # pyright: ignore[reportArgumentType]


async def ran(command: str, **options: object) -> tuple[int, str, str]:
    process = await started(command, **options)
    code = await process.wait()
    assert process.returncode == code
    return code, process.outputs["stdout"].text(), process.outputs["stderr"].text()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.005)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def sleepers(mark: str) -> list[str]:
    """The processes that sleep for ``mark`` seconds."""
    found = subprocess.run(("pgrep", "-f", f"^sleep {mark}$"), capture_output=True, text=True, check=False)
    return found.stdout.split()


async def first_line(process: KeptProcess) -> str:
    """What a command writes first, as soon as it is there."""
    while "\n" not in process.outputs["stdout"].text():  # noqa: ASYNC110 - output comes without an event
        await asyncio.sleep(0.002)
    return process.outputs["stdout"].text().partition("\n")[0]


@given(chunks=st.lists(st.binary(max_size=60), max_size=12), max_bytes=st.integers(1, 80))
def test_output_is_whole_or_its_beginning_and_its_end(chunks: list[bytes], max_bytes: int) -> None:
    """Up to the limit all of it is there; beyond it a line tells how much is missing between both ends."""
    output, whole = BoundedOutput(max_bytes), b"".join(chunks)
    for chunk in chunks:
        output.add(chunk)
    assert (output.total_bytes, output.is_truncated) == (len(whole), len(whole) > max_bytes)
    if not output.is_truncated:
        assert output.text() == whole.decode("utf-8", "replace")
        return
    found = re.fullmatch(r"(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)", output.text(), re.DOTALL)
    assert found is not None
    share = max_bytes * 2 // 5
    assert len(whole) - 2 * share <= int(found[2]) <= len(whole)
    assert whole[:share].decode("utf-8", "replace").startswith(found[1].rstrip("�"))


def test_output_is_cut_at_line_ends() -> None:
    """Lines are not torn where they end near the cut; a giant line is."""
    lines = BoundedOutput(50)
    lines.add(b"".join(b"line %02d\n" % number for number in range(20)))
    assert lines.text() == "line 00\nline 01\n\n[... 128 bytes left out ...]\nline 18\nline 19\n"
    giant = BoundedOutput(10)
    giant.add(b"abcdefghijklmnopqrstuvwxyz")
    assert giant.text() == "abcd\n[... 18 bytes left out ...]\nwxyz"


def test_output_can_be_read_on() -> None:
    """From a position on there is what came since, as far as it was kept, and nothing when nothing came."""
    output = BoundedOutput(10)
    output.add(b"12345")
    assert [output.text_since(position) for position in (0, 3, 5)] == ["12345", "45", ""]
    output.add(b"6789abcd")
    assert [output.text_since(position) for position in (5, 10, 12, 13)] == ["6789abcd", "bcd", "d", ""]
    output.add(b"x" * 40 + b"end")
    assert output.text_since(13) == "[... 39 bytes left out ...]\nxend"
    assert output.text_since(54) == "nd"


@pytest.mark.slow
async def test_memory_stays_bounded_while_a_command_writes() -> None:
    """Of a stream without end only both ends are kept at any time."""
    heard = 0

    def listen(stream: Stream, data: bytes) -> None:
        nonlocal heard
        heard += len(data)

    process = await started("yes | head -c 20000000", limits=Limits(max_output_bytes=1000), listener=listen)
    assert await process.wait() == 0
    output = process.outputs["stdout"]
    assert (output.total_bytes, heard, len(output.text()) < 900) == (20_000_000, 20_000_000, True)


RUNS = {
    "exit code": ("exit 3", (3, "", "")),
    "both streams": ("echo out; echo err >&2", (0, "out\n", "err\n")),
    "killed": ("kill -9 $$", (137, "", "")),
    "its own group": ("kill 0", (143, "", "")),
    "no input": ("cat; read x || echo none", (0, "none\n", "")),
    "broken pipe ends a writer": ("yes | head -1; echo ${PIPESTATUS[0]}", (0, "y\n141\n", "")),
    "left running": ("sleep 60 & echo done", (0, "done\n", "")),
    "left running in a session of its own": ("setsid sleep 60 & echo done", (0, "done\n", "")),
    "daemon": ("(setsid sh -c 'sleep 60 & sleep 60' &) ; echo done", (0, "done\n", "")),
    "other end of a substitution": ("echo text > >(sleep 0.05; cat)", (0, "text\n", "")),
    "no terminal": ("tty; ps -o tty= -p $$", (0, "not a tty\n?\n", "")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
async def test_a_command_runs(name: str) -> None:
    """It gets no input, gives its output and exit code, and takes along what it left running."""
    command, expected = RUNS[name]
    begun = time.monotonic()
    assert await ran(command) == expected
    assert time.monotonic() - begun < 5


async def test_input_can_be_given() -> None:
    """A command reads what it is given, to the end."""
    assert await ran("cat", stdin=b"some\ninput") == (0, "some\ninput", "")


async def test_a_program_that_is_not_there_is_told() -> None:
    """What cannot be started says so, with the exit code that shells use."""
    process = await start(("no-such-program",), env={"PATH": "/usr/bin"}, cwd=Path("/"))
    assert await process.wait() == 126
    assert process.outputs["stderr"].text() == "The command was not started: [Errno 2] No such file or directory\n"


async def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Nothing runs where it was not meant to, and no descriptor stays open."""
    before = open_descriptors()
    with pytest.raises(FileNotFoundError):
        await start(("true",), env={}, cwd=tmp_path / "gone")
    assert open_descriptors() == before


@pytest.mark.slow
async def test_a_command_is_asked_to_end_and_then_made_to() -> None:
    """Everybody gets the polite signal once and may say goodbye; who ignores it is killed after the grace."""
    polite = await started("trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.01; done")
    assert await first_line(polite) == "ready"
    assert is_alive(polite.pid)
    await polite.end()
    assert (polite.returncode, polite.outputs["stdout"].text()) == (143, "ready\nbye\n")
    stubborn = await started("trap '' TERM; echo $$; sleep 60", limits=Limits(grace_s=0.05))
    pid = int(await first_line(stubborn))
    await stubborn.end()
    assert (stubborn.returncode, is_alive(pid)) == (143, False)
    await stubborn.end()


@pytest.mark.slow
async def test_who_stops_waiting_does_not_stop_the_command() -> None:
    """A cancelled wait leaves the command alone, with no exit code until it has ended."""
    process = await started("echo ready; sleep 60")
    await first_line(process)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.wait(), 0.01)
    assert process.returncode is None
    await process.end()
    assert process.returncode == 143


@pytest.mark.slow
async def test_whoever_a_command_started_is_ended_with_it() -> None:
    """Children, grandchildren, daemons in sessions of their own: after the end there is nobody."""
    mark = f"6{os.getpid()}"
    process = await started(f"setsid sleep {mark} & (setsid sh -c 'sleep {mark}; :' &); sleep {mark} & echo x; wait")
    await first_line(process)
    wait_until(lambda: len(sleepers(mark)) == 3)
    await process.end()
    assert sleepers(mark) == []


PARENT = """
import asyncio, os, sys
from pathlib import Path
from amplifier_modkit.processes import Confinement, start
async def main():
    around = Confinement(tuple(sys.argv[2:]))
    await start(("bash", "-c", sys.argv[1]), env=dict(os.environ), cwd=Path("/"), confinement=around)
    await asyncio.sleep(60)
asyncio.run(main())
"""
WRAPPERS = {
    "plain": (),
    "bubblewrap": ("bwrap", "--die-with-parent", "--bind", "/", "/", "--unshare-pid", "--as-pid-1", "--proc", "/proc"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRAPPERS)
def test_no_orphan_is_left_when_the_parent_is_killed(name: str, tmp_path: Path) -> None:
    """After ``kill -9`` of the process that wanted a command, the command and its daemons end by themselves."""
    mark = f"7{os.getpid()}{time.monotonic_ns() % 10**6}"
    command = f"setsid sleep {mark} & (setsid sleep {mark} &); touch {tmp_path}/ready; sleep {mark}"

    parent = subprocess.Popen((sys.executable, "-c", PARENT, command, *WRAPPERS[name]))
    wait_until(lambda: (tmp_path / "ready").exists() and len(sleepers(mark)) == 3)
    parent.kill()
    parent.wait()
    wait_until(lambda: sleepers(mark) == [])
    assert parent.returncode == -signal.SIGKILL


@pytest.mark.slow
async def test_a_command_that_stops_its_keeper_is_ended() -> None:
    """Without a sandbox a command can halt the process that keeps it, and gains nothing by that."""
    process = await started("echo $$; kill -STOP $PPID; sleep 60")
    pid = int(await first_line(process))
    await process.end()
    assert is_alive(pid) is False


@pytest.mark.slow
async def test_a_command_that_kills_its_keeper_dies_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell ends with its keeper, and who holds the pipes longer is not waited for."""
    monkeypatch.setattr(processes, "_DRAIN_S", 0.02)
    process = await started("sleep 1 & echo $$ $!; kill -9 $PPID; sleep 60")
    assert await process.wait() == -9
    shell, left = map(int, process.outputs["stdout"].text().split())
    wait_until(lambda: not is_alive(shell))
    with contextlib.suppress(ProcessLookupError):
        os.kill(left, signal.SIGKILL)


@pytest.mark.slow
async def test_a_keeper_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands between, ``end`` comes back."""
    monkeypatch.setattr(processes, "_KEEPER_GRACE_S", 0.0)
    deaf = Confinement(("sh", "-c", "sleep 60", "ignored"))
    process = await started("true", confinement=deaf, limits=Limits(grace_s=0.05))
    await process.end()
    assert process.returncode == -9
    process.kill()


@pytest.mark.slow
async def test_who_is_cancelled_while_starting_leaves_nothing() -> None:
    """Wherever a start is interrupted, nobody runs afterwards and no descriptor stays open."""
    mark = f"8{os.getpid()}"
    before = open_descriptors()
    for steps in range(6):
        task = asyncio.create_task(started(f"sleep {mark}"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            await task.result().end()
    assert (sleepers(mark), open_descriptors()) == ([], before)


async def test_ending_a_command_leaves_its_exit_code_to_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever polls a process that has just ended takes its exit code away from the event loop."""
    process = await started("exec sleep 30")
    polled: list[object] = []
    monkeypatch.setattr(subprocess.Popen, "poll", polled.append)
    await process.end()
    assert (process.returncode, polled) == (143, [])

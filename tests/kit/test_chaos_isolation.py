"""Isolation: foreign code neither stops, nor outlives, nor moves the process that tries it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from amplifier_kit.chaos._isolation import BlockedError, EscapedError, run_isolated
from amplifier_kit.chaos._workplace import workplace


async def ended(thread_name: str) -> bool:
    """Whether no thread of that name is left after a while."""
    for _ in range(200):
        if thread_name not in {thread.name for thread in threading.enumerate()}:
            return True
        await asyncio.sleep(0.01)
    return False


async def test_work_runs_in_a_loop_of_its_own() -> None:
    """A result comes back; the loop it was made in is another one."""

    async def work() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    assert await run_isolated(work, 5) is not asyncio.get_running_loop()


async def test_an_exception_comes_back() -> None:
    """What the work raises is raised."""

    async def work() -> None:
        raise LookupError("x")

    with pytest.raises(LookupError, match="x"):
        await run_isolated(work, 5)


async def test_an_exit_is_told_and_not_followed() -> None:
    """Code that ends the process, in itself or in a task it made, ends nothing but itself."""

    async def leave() -> None:
        sys.exit(3)

    async def work() -> None:
        task = asyncio.ensure_future(leave())
        await asyncio.sleep(5)
        await task

    for each in (leave, work):
        with pytest.raises(EscapedError, match="SystemExit: 3"):
            await run_isolated(each, 5)


@pytest.mark.slow
async def test_blocking_code_is_given_up_and_ended() -> None:
    """A call that never gives way costs its time limit and no more; its thread ends as soon as it can."""

    async def block() -> None:
        while True:
            time.sleep(0.01)  # noqa: ASYNC251

    with pytest.raises(BlockedError, match=r"no end after 0\.2 s"):
        await run_isolated(block, 0.2)
    assert await ended("amplifier-chaos")


async def test_cancelling_the_caller_ends_the_work() -> None:
    """Nothing goes on for somebody who does not wait any more."""
    started = threading.Event()

    async def work() -> None:
        started.set()
        for _ in range(100_000):
            await asyncio.sleep(0.001)

    task = asyncio.ensure_future(run_isolated(work, 60))
    await asyncio.sleep(0)
    await asyncio.to_thread(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ended("amplifier-chaos")


@pytest.mark.slow
async def test_tasks_left_behind_end_with_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    """Left tasks are cancelled; one that cannot be is forgotten; neither leaves a trace in the log."""
    ended: list[str] = []

    async def obedient() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("obedient")

    async def failing() -> None:
        raise ValueError("nobody asks")

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except BaseException:
                continue

    async def work() -> list[asyncio.Task[None]]:
        tasks = [asyncio.ensure_future(each()) for each in (obedient, failing, stubborn)]
        await asyncio.sleep(0.01)
        return tasks

    await run_isolated(work, 5)
    assert (ended, caplog.records) == (["obedient"], [])


def test_the_workplace_is_shared_and_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All chaos at one time works in one folder; the last one out returns home and removes it."""
    monkeypatch.chdir(tmp_path)
    first, second = workplace(), workplace()
    first.__enter__()
    folder = Path.cwd()
    second.__enter__()
    assert (Path.cwd(), folder != tmp_path) == (folder, True)
    (folder / "litter").write_text("chaos")
    first.__exit__(None, None, None)
    assert Path.cwd() == folder
    second.__exit__(None, None, None)
    assert (Path.cwd(), folder.exists()) == (tmp_path, False)


def test_a_home_that_is_gone_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller's directory may vanish meanwhile."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    with workplace():
        folder = Path.cwd()
        home.rmdir()
    assert not folder.exists()
    os.chdir(tmp_path)


def test_logging_is_quiet_meanwhile_and_as_before_afterwards() -> None:
    """Nobody who has not set up logging sees what foreign code logs; the handler leaves again."""
    before = list(logging.getLogger().handlers)
    with workplace():
        assert len(logging.getLogger().handlers) == len(before) + 1
    assert logging.getLogger().handlers == before

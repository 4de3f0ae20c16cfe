"""A process is killed while it writes its journal, at 200 random moments; whoever resumes finds what was acknowledged.

Run as a program, this file is the one that kills: it imports everything once and forks a writer for each round, since
starting an interpreter for each would take minutes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.testing import TestCoordinator
from amplifier_module_context_persistent import mount

JOURNALS = 40
ROUNDS = 5
LEVELS = ("group", "none", "group", "fsync")
# Long lines take the system long enough that a kill can come in the middle of one.
PADDINGS = (0, 100, 5_000, 200_000)
LONGEST_WAIT_S = 0.01
# How many are killed while they may still be opening, reading or mending their journal.
EARLY_SHARE = 0.2


@pytest.mark.slow
def test_no_acknowledged_message_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    """After each of 200 kills the journal has every acknowledged message once, in order, and at most one more."""
    command = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    outcome = json.loads(done.stdout)
    assert outcome["problems"] == []
    assert outcome["kills"] == JOURNALS * ROUNDS
    assert outcome["acknowledged"] > outcome["kills"]


def main(folder: Path) -> dict[str, Any]:
    """Kills all writers and says what was wrong with their journals."""
    luck = random.Random(2026)
    outcome: dict[str, Any] = {"kills": 0, "acknowledged": 0, "problems": []}
    for number in range(JOURNALS):
        acknowledged = 0
        config = {"transcript_path": str(folder / f"{number}/journal"), "durability": LEVELS[number % len(LEVELS)]}
        for _ in range(ROUNDS):
            said = list(killed_writer(config, luck))
            outcome["kills"] += 1
            acknowledged = check(said, acknowledged, outcome["problems"])
        check(list(reader(config)), acknowledged, outcome["problems"])
        outcome["acknowledged"] += acknowledged
    return outcome


def check(said: list[str], acknowledged: int, problems: list[str]) -> int:
    """How many messages a writer has acknowledged, who began with those that ``acknowledged`` counts, or one more."""
    if not said:
        return acknowledged  # killed before it had read its journal
    found, numbers = json.loads(said[0]), list(map(int, said[1:]))
    if found != list(range(len(found))) or len(found) not in (acknowledged, acknowledged + 1):
        problems.append(f"{acknowledged} messages were acknowledged, and the journal has {found}")
    if numbers != list(range(len(found), len(found) + len(numbers))):
        problems.append(f"after {len(found)} messages these were acknowledged: {numbers}")
    return len(found) + len(numbers)


def killed_writer(config: dict[str, str], luck: random.Random) -> Iterator[str]:
    """What a writer says until it is killed: the numbers it finds, then each number it has added."""
    reading, writing = os.pipe()
    seed, wait_s, is_early = luck.random(), luck.uniform(0, LONGEST_WAIT_S), luck.random() < EARLY_SHARE
    writer = os.fork()
    if writer == 0:
        run_child(write_for_ever(config, writing, random.Random(seed)))
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        if not is_early:
            select.select([lines], [], [], 10)
        time.sleep(wait_s)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        yield from (line for line in lines if line.endswith("\n"))


def reader(config: dict[str, str]) -> Iterator[str]:
    """What somebody says who resumes in peace."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        run_child(tell_numbers(config, writing))
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as lines:
        yield from lines
    os.waitpid(child, 0)


def run_child(work: Any) -> None:
    """Does the work and ends the process without going back to where it was forked."""
    try:
        asyncio.run(work)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
    finally:
        os._exit(0)


async def tell_numbers(config: dict[str, str], pipe: int) -> Any:
    """Mounts the context and says which numbers are in it."""
    coordinator = TestCoordinator()
    coordinator.register_cleanup(await mount(coordinator, config))
    context = coordinator.get("context")
    found = [int(message["content"].split()[0]) for message in await context.get_messages()]
    os.write(pipe, f"{json.dumps(found)}\n".encode())
    return coordinator, len(found)


async def write_for_ever(config: dict[str, str], pipe: int, luck: random.Random) -> None:
    """Adds one numbered message after another, and says each number when it is added."""
    coordinator, number = await tell_numbers(config, pipe)
    while True:
        await coordinator.get("context").add_message(
            {"role": "user", "content": f"{number} {'x' * luck.choice(PADDINGS)}"}
        )
        os.write(pipe, f"{number}\n".encode())
        number += 1


async def warm_up(folder: Path) -> None:
    """Does everything once, so that what is imported when it is needed is there before the first fork."""
    coordinator = TestCoordinator()
    coordinator.register_cleanup(await mount(coordinator, {"transcript_path": str(folder / "first")}))
    await coordinator.get("context").add_message({"role": "user", "content": "0"})
    await coordinator.get("context").get_messages_for_request()
    await coordinator.cleanup()


if __name__ == "__main__":
    logging.getLogger().addHandler(logging.NullHandler())  # repairs are expected
    asyncio.run(warm_up(Path(sys.argv[1])))
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))

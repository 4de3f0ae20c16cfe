"""Commands in the background: listed, read, stopped, limited, and ended with the session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.modules.bash_world import BashSession, sleepers, told

from amplifier_module_tool_bash.jobs import Jobs

pytestmark = pytest.mark.slow  # real processes have to begin and end


async def status(session: BashSession, wanted: str, job_id: str = "job_1") -> dict[str, Any]:
    """What a list says of a job, as soon as it has a status."""
    jobs: list[dict[str, Any]] = []
    for _ in range(2000):
        jobs = told(await session.jobs("list"))["jobs"]
        found = next(job for job in jobs if job["job_id"] == job_id)
        if found["status"] == wanted:
            return found
        await asyncio.sleep(0.005)
    raise AssertionError(jobs)


async def text_of(session: BashSession, wanted: str) -> str:
    """What a job writes, read piece by piece, as soon as ``wanted`` is in it."""
    text = ""
    for _ in range(2000):
        text += told(await session.jobs("read", job_id="job_1"))["stdout"]
        if wanted in text:
            return text
        await asyncio.sleep(0.005)
    raise AssertionError(text)


async def test_a_job_runs_while_others_do(tmp_path: Path) -> None:
    """It is begun at once, can be listed and read on, and stopped with all it has started."""
    mark = f"3{os.getpid()}"
    command = f"echo one; setsid sleep {mark} & echo two; sleep {mark}"
    async with BashSession(tmp_path) as session:
        begun = told(await session.run(command, run_in_background=True))
        assert await session.stdout("echo beside") == "beside\n"
        assert await text_of(session, "two") == "one\ntwo\n"
        listed = told(await session.jobs("list"))["jobs"]
        stopped = told(await session.jobs("stop", job_id="job_1"))
        again = told(await session.jobs("read", job_id="job_1", from_start=True))
        assert sleepers(mark) == []
        await session.jobs("stop", job_id="job_1")
    pid = begun.pop("pid")
    assert begun == {
        "job_id": "job_1",
        "message": "Runs in the background as job_1.",
        "note": "Use bash_jobs with action 'read' for its output, and 'stop' to end it. It ends with the session.",
    }
    assert [{**job, "seconds": 0} for job in listed] == [
        {"job_id": "job_1", "status": "running", "returncode": None, "pid": pid, "seconds": 0, "command": command}
    ]
    assert (stopped["status"], stopped["returncode"], stopped["stdout"]) == ("stopped", 143, "")
    assert (again["stdout"], again["stdout_total_bytes"], again["stderr"]) == ("one\ntwo\n", 8, "")


async def test_a_job_ends_by_itself_or_by_its_time(tmp_path: Path) -> None:
    """A finished job keeps its exit code and output; one with a time limit is ended by it."""
    async with BashSession(tmp_path) as session:
        await session.run("echo out; exit 4", run_in_background=True)
        assert (await status(session, "finished"))["returncode"] == 4
        assert told(await session.jobs("read", job_id="job_1"))["stdout"] == "out\n"
        await session.run("sleep 99", run_in_background=True, timeout=0.05)
        assert (await status(session, "finished", "job_2"))["returncode"] == 143


async def test_jobs_end_with_the_session(tmp_path: Path) -> None:
    """After the clean-up nobody is left, whether they had begun to do anything or not."""
    mark = f"2{os.getpid()}"
    async with BashSession(tmp_path) as session:
        for _ in range(3):
            await session.run(f"trap '' TERM; setsid sleep {mark} & sleep {mark}", run_in_background=True)
    assert sleepers(mark) == []


async def test_only_so_many_jobs_run(tmp_path: Path) -> None:
    """One more is refused, with a word on what to do; one that has ended makes room."""
    async with BashSession(tmp_path, max_jobs=1) as session:
        await session.run("sleep 99", run_in_background=True)
        kind, message = await session.failure("sleep 99", run_in_background=True)
        assert (kind, message[:44]) == ("not_possible", "1 jobs run in the background (job_1), and 1 ")
        await session.jobs("stop", job_id="job_1")
        assert told(await session.run("true", run_in_background=True))["job_id"] == "job_2"


async def test_old_jobs_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that have ended only the latest are remembered."""
    monkeypatch.setattr("amplifier_module_tool_bash.jobs._MOST_FINISHED", 1)
    async with BashSession(tmp_path) as session:
        for number in (1, 2, 3):
            await session.run("true", run_in_background=True)
            await status(session, "finished", f"job_{number}")
        assert [job["job_id"] for job in told(await session.jobs("list"))["jobs"]] == ["job_3"]


WRONG: dict[str, Any] = {
    "no action": ({"action": None}, "'action' must be one of: list, read, stop."),
    "other action": ({"action": "restart"}, "'action' must be one of: list, read, stop."),
    "no job": ({"action": "read"}, "'job_id' must be one of: there are no jobs."),
    "odd job": ({"action": "stop", "job_id": ["job_1"]}, "'job_id' must be one of: there are no jobs."),
    "odd flag": ({"action": "read", "job_id": "job_1", "from_start": 1}, "'from_start' must be true or false."),
}


@pytest.mark.parametrize("name", WRONG)
async def test_wrong_input_is_a_result(name: str, tmp_path: Path) -> None:
    """The result names the key that is wrong, and what would be right."""
    given, message = WRONG[name]
    async with BashSession(tmp_path) as session:
        assert (await session.jobs(**given)).error == {"message": message, "type": "invalid_input"}


async def test_no_jobs_need_no_end() -> None:
    """A session without jobs ends at once."""
    jobs = Jobs(1)
    await jobs.end_all()
    assert jobs.summaries() == []

"""A batch at work: results that survive a kill, workers, signals, progress, and sessions of their own."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.app.run_world import write_bundle
from tests.app.store_world import StoreWorld

from amplifier.batch.batch import Batch, Tally
from amplifier.batch.items import Item
from amplifier.batch.progress import Lines, Silence, progress
from amplifier.batch.results import Results
from amplifier.batch.session_runner import SessionRunner
from amplifier.batch.signalled import Signals, run_signalled
from amplifier.problems import BundleProblem, Problem, StorageProblem
from amplifier.runtime.outcome import TurnOutcome
from amplifier.settings import Settings

RunItem = Callable[[Item], Awaitable[TurnOutcome]]


def items(count: int) -> Iterator[Item]:
    """So many items."""
    return (Item(f"i{number}", "?", f"d{number}", number) for number in range(count))


def answering(text: str = "yes", problem: Problem | None = None) -> RunItem:
    """Runs nothing, and gives this outcome."""

    async def run(item: Item) -> TurnOutcome:
        await asyncio.sleep(0)
        return TurnOutcome("s", text, "success" if problem is None else "error", None, problem)

    return run


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The results in a file."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


async def test_every_item_gets_one_result(tmp_path: Path) -> None:
    """Whole lines, with what the item was and what came out; metadata are handed on."""
    path = tmp_path / "r.jsonl"
    done: list[str] = []
    with Results.opened(path) as results:
        batch = Batch(answering(), results, concurrency=3, on_done=lambda item, outcome: done.append(item.id))
        tally = await batch.run(iter([*items(5), Item("m", "?", "d", 9, metadata={"k": 1})]))
    assert tally == Tally(succeeded=6)
    assert sorted(done) == sorted(line["id"] for line in lines_of(path)) == ["i0", "i1", "i2", "i3", "i4", "m"]
    line = next(line for line in lines_of(path) if line["id"] == "m")
    assert (line["digest"], line["line"], line["status"], line["response"]) == ("d", 9, "success", "yes")
    assert (line["usage"]["total_tokens"], line["cost_usd"], line["error"], line["metadata"]) == (
        0,
        None,
        None,
        {"k": 1},
    )


async def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    """Unless it failed and failed ones are tried again, or the line is another one now."""
    path = tmp_path / "r.jsonl"
    with Results.opened(path) as results:
        await Batch(answering(), results, concurrency=1).run(items(2))
        await Batch(answering("", Problem("no")), results, concurrency=1).run(iter([Item("f", "?", "d", 1)]))
    again = [*items(3), Item("f", "?", "d", 1), Item("i0", "!", "other", 1)]
    with Results.opened(path) as results:
        assert await Batch(answering(), results, concurrency=1).run(iter(again)) == Tally(succeeded=2, skipped=3)
    with Results.opened(path) as results:
        retried = await Batch(answering(), results, concurrency=1, retries_failed=True).run(iter(again[:4]))
    assert (retried, len(lines_of(path))) == (Tally(succeeded=2, skipped=2), 7)


def test_a_line_that_a_kill_cut_off_is_taken_away(tmp_path: Path) -> None:
    """However long it is; whole lines stay."""
    path = tmp_path / "r.jsonl"
    whole = b'{"id": "a", "digest": "d"}\n["no result"]\n{"other": 1}\n'
    for torn in (b"", b'{"id"', b"x" * 200_000):
        path.write_bytes(whole + torn)
        with Results.opened(path) as results:
            assert results.is_done(Item("a", "?", "d", 1), retries_failed=True)
        assert path.read_bytes() == whole
    path.write_bytes(b"torn")
    with Results.opened(path):
        assert path.read_bytes() == b""


@given(st.lists(st.text(), min_size=1, max_size=5), st.data())
def test_a_kill_at_any_byte_loses_one_result_at_most(texts: list[str], data: st.DataObject) -> None:
    """Whatever the answers are: what was written whole is finished, the rest is run again."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "r.jsonl")
        listed = list(items(len(texts)))
        with Results.opened(path) as results:
            for item, text in zip(listed, texts, strict=True):
                results.append(item, TurnOutcome("s", text, "success"))
        written = path.read_bytes()
        left = written[: data.draw(st.integers(0, len(written)))]
        path.write_bytes(left)
        with Results.opened(path) as results:
            done = [results.is_done(item, retries_failed=True) for item in listed]
        whole = left.count(b"\n")
        assert done == [True] * whole + [False] * (len(texts) - whole)
        assert [line["response"] for line in lines_of(path)] == texts[:whole]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Rather than written behind."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(StorageProblem, match=r"notes.txt:1: is no line of results"), Results.opened(path):
        pass
    assert path.read_text() == "dear diary\n"


def test_two_batches_do_not_share_results(tmp_path: Path) -> None:
    """The second one is told at once; a folder is no file either."""
    path = tmp_path / "r.jsonl"
    with Results.opened(path), pytest.raises(StorageProblem, match="another process"), Results.opened(path):
        pass
    with pytest.raises(StorageProblem, match="cannot be written"), Results.opened(tmp_path):
        pass


async def test_a_result_that_cannot_be_written_ends_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Money would be spent for nothing otherwise."""
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with Results.opened(tmp_path / "r.jsonl") as results:
        monkeypatch.setattr(os, "write", full)
        batch = Batch(answering(), results, concurrency=2)
        with pytest.raises(StorageProblem, match="No space left"):
            await batch.run(items(10))
        assert batch.tally == Tally(is_stopped=True)
        monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:5]))
        with pytest.raises(StorageProblem, match="the disk is full"):
            results.append(next(items(1)), TurnOutcome("", "", "success"))
        monkeypatch.undo()


async def test_a_stop_lets_what_is_running_finish(tmp_path: Path) -> None:
    """Nothing more is begun."""
    with Results.opened(tmp_path / "r.jsonl") as results:
        batch = Batch(answering(), results, concurrency=2, on_done=lambda item, outcome: batch.stop())
        assert await batch.run(items(10)) == Tally(succeeded=2, is_stopped=True)


async def test_an_abort_ends_what_is_running(tmp_path: Path) -> None:
    """It has no result, and is run again next time."""
    begun = asyncio.Event()

    async def never(item: Item) -> TurnOutcome:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    path = tmp_path / "r.jsonl"
    with Results.opened(path) as results:
        batch = Batch(never, results, concurrency=2)
        running = asyncio.create_task(batch.run(items(10)))
        await begun.wait()
        batch.abort()
        assert await running == Tally(is_stopped=True)
    assert path.read_bytes() == b""


class Asked:
    """Stands for a batch: notes what it is asked."""

    def __init__(self) -> None:
        self.wishes: list[str] = []

    def stop(self) -> None:
        self.wishes.append("stop")

    def abort(self) -> None:
        self.wishes.append("abort")


async def test_ctrl_c_once_and_twice() -> None:
    """The first lets finish, the second ends; before the batch runs there is nothing to end."""
    asked, told = Asked(), list[str]()
    signals = Signals(asked, told.append)  # type: ignore[arg-type]
    signals.interrupt()
    assert (asked.wishes, signals.exit_code) == (["stop"], 130)
    signals.loop = asyncio.get_running_loop()
    signals.interrupt()
    signals.end(signal.SIGTERM)
    await asyncio.sleep(0)
    assert (asked.wishes, signals.exit_code) == (["stop", "abort", "abort"], 143)
    assert [text.split()[0] for text in told] == ["finishing", "stopping"]


def test_signals_reach_a_running_batch(tmp_path: Path) -> None:
    """A real Ctrl-C, given by the first item; handlers are as before afterwards."""
    before = signal.getsignal(signal.SIGINT)

    class Stoppable(Batch):
        def stop(self) -> None:
            super().stop()
            stopped.set()

    stopped = asyncio.Event()

    async def interrupted(item: Item) -> TurnOutcome:
        os.kill(os.getpid(), signal.SIGINT)
        await stopped.wait()
        return TurnOutcome("s", "yes", "success")

    with Results.opened(tmp_path / "r.jsonl") as results:
        batch = Stoppable(interrupted, results, concurrency=1)
        code = run_signalled(batch, items(10), lambda text: None)
    assert (code, batch.tally, signal.getsignal(signal.SIGINT)) == (130, Tally(succeeded=1, is_stopped=True), before)


def test_a_batch_runs_in_any_thread(tmp_path: Path) -> None:
    """Where no signals are told it runs all the same."""
    codes: list[int | None] = []

    def work() -> None:
        with Results.opened(tmp_path / "r.jsonl") as results:
            codes.append(run_signalled(Batch(answering(), results, concurrency=1), items(2), print))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (codes, len(lines_of(tmp_path / "r.jsonl"))) == ([None], 2)


def test_progress_is_lines_a_bar_or_nothing() -> None:
    """As fits where it goes to."""
    stream = io.StringIO()
    with progress(20, is_quiet=False, stream=stream) as shown:
        assert isinstance(shown, Lines)
        for number in range(4):
            shown.advance(number // 3)
    assert stream.getvalue() == "amplifier: 2 of 20 done\namplifier: 4 of 20 done, 1 failed\n"
    with progress(3, is_quiet=True, stream=stream) as shown:
        shown.advance(0)
        assert isinstance(shown, Silence)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with progress(2, is_quiet=False, stream=terminal) as shown:
        shown.advance(0)
        shown.advance(1)
    assert "2/2" in terminal.getvalue()
    assert "1 failed" in terminal.getvalue()


def test_without_standard_error_there_is_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some programs start others without one."""
    monkeypatch.setattr("sys.stderr", None)
    with progress(2, is_quiet=False) as shown:
        assert isinstance(shown, Silence)


def runner_in(world: StoreWorld, bundle: str, **more: Any) -> SessionRunner:
    """A runner with the settings of a world."""
    return SessionRunner(world.places, lambda flags: Settings.load(world.places, flags, {}), bundle, **more)


async def test_an_item_is_a_session(tmp_path: Path) -> None:
    """With its own limits, prompt and bundle; nothing is kept; a warning is told once."""
    world, warnings = StoreWorld(tmp_path), list[str]()
    bundle = write_bundle(tmp_path, ["Red."])
    runner = runner_in(world, bundle, warn=warnings.append)
    runner.check()
    outcome = await runner(Item("a", "red?", "d", 1, timeout=60, max_turns=3))
    assert (outcome.status, outcome.problem, outcome.usage.output_tokens > 0) == ("success", None, True)
    other = write_bundle(tmp_path, ["Other."], name="other", nothing=1)
    for prompt in ("be other", "be another"):
        assert (await runner(Item("b", "?", "d", 1, bundle=other, system_prompt=prompt))).text == "Other."
    assert ([("nothing" in warning) for warning in warnings], world.store.list()) == ([True], [])


async def test_sessions_are_kept_if_wanted(tmp_path: Path) -> None:
    """Under the id of the item as name."""
    world = StoreWorld(tmp_path)
    runner = runner_in(world, write_bundle(tmp_path, ["Red."]), store=world.store)
    outcome = await runner(Item("a", "red?", "d", 1))
    (session,) = world.store.list()
    assert (session.id, session.metadata().name, session.metadata().status) == (outcome.session_id, "a", "success")


async def test_whatever_goes_wrong_is_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle that is not there, a time that is over, an error nobody expected."""
    world = StoreWorld(tmp_path)
    bundle = write_bundle(tmp_path, [{"text": "late", "delay_s": 60}])
    (world.places.home).mkdir()
    (world.places.home / "settings.yaml").write_text("limits: {timeout: 0.01}\n")
    runner = runner_in(world, bundle)
    missing = await runner(Item("a", "?", "d", 1, bundle="nowhere"))
    assert (missing.status, missing.problem.kind if missing.problem else "") == ("error", "bundle")
    late = await runner(Item("b", "?", "d", 1))
    assert (late.problem.kind if late.problem else "") == "timeout"
    monkeypatch.setattr("amplifier.batch.session_runner.Runtime", lambda plan, setting: 1 / 0)
    broken = await runner(Item("c", "?", "d", 1))
    assert (
        broken.problem.message if broken.problem else ""
    ) == "The session failed: ZeroDivisionError: division by zero"
    with pytest.raises(BundleProblem):
        runner_in(world, "nowhere").check()

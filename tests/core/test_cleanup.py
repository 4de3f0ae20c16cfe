"""Clean-up: every function once, last in first out, each shielded from the failure of another."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.kernel_events import KERNEL_EVENTS, MODULE_CLEANUP_FAILED

LOGGER = "amplifier_core.coordinator"


class Steps(list[str]):
    """Makes clean-up functions that write their names down."""

    def note(self, name: str) -> Any:
        return lambda: self.append(name)

    def note_later(self, name: str) -> Any:
        async def cleanup() -> None:
            await asyncio.sleep(0)
            self.append(name)

        return cleanup

    def fail(self, name: str, error: BaseException) -> Any:
        def cleanup() -> None:
            self.append(name)
            raise error

        cleanup.__qualname__ = name
        return cleanup


def step_through(cleaning: Any) -> None:
    """Drives clean-ups that never wait; an interrupt inside a task would end the event loop."""
    try:
        cleaning.send(None)
    except StopIteration:
        return
    raise AssertionError("this clean-up waits")


async def test_functions_run_last_in_first_out() -> None:
    """Sync, async, methods, partials, and sync functions that return awaitables."""
    coordinator, steps = ModuleCoordinator(), Steps()
    coordinator.register_cleanup(steps.note("first"))
    coordinator.register_cleanup(steps.note_later("second"))
    coordinator.register_cleanup(lambda: steps.note_later("third")())
    coordinator.register_cleanup(partial(steps.append, "fourth"))
    assert coordinator.pending_cleanups == 4
    assert await coordinator.cleanup() is None
    assert steps == ["fourth", "third", "second", "first"]
    assert coordinator.pending_cleanups == 0


async def test_each_function_runs_once() -> None:
    """A second clean-up finds nothing; what is registered afterwards is run by the next."""
    coordinator, steps = ModuleCoordinator(), Steps()
    coordinator.register_cleanup(steps.note("one"))
    await coordinator.cleanup()
    await coordinator.cleanup()
    coordinator.register_cleanup(steps.note("two"))
    await coordinator.cleanup()
    assert steps == ["one", "two"]


async def test_what_is_not_callable_is_ignored_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    """At registration, and in the live list, where it may have come by another way."""
    coordinator, steps = ModuleCoordinator(), Steps()
    for odd in (None, 5, "text", {}):
        coordinator.register_cleanup(odd)
    assert coordinator._cleanup_fns == []
    coordinator.register_cleanup(steps.note("good"))
    coordinator._cleanup_fns.extend([None, "text"])
    with caplog.at_level(logging.DEBUG):
        await coordinator.cleanup()
    assert steps == ["good"]
    assert [record for record in caplog.records if record.name.startswith("amplifier_core")] == []
    assert coordinator.report.is_clean


async def test_an_unregister_callable_of_hooks_is_a_clean_up() -> None:
    """The usual pattern of hook modules."""
    coordinator = ModuleCoordinator()
    coordinator.register_cleanup(coordinator.hooks.register("e", lambda event, data: None, name="h"))
    await coordinator.cleanup()
    assert coordinator.hooks.list_handlers() == {"e": []}


def test_a_function_that_waits_already_is_recognised() -> None:
    """By equality: bound methods are made anew each time they are read."""

    class Module:
        def close(self) -> None: ...

    coordinator, module = ModuleCoordinator(), Module()
    assert not coordinator.has_cleanup(module.close)
    coordinator.register_cleanup(module.close)
    assert coordinator.has_cleanup(module.close)
    assert not coordinator.has_cleanup(Module().close)


async def test_a_failure_is_logged_reported_and_told_and_the_rest_still_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing comes out: a log line, an entry in the report, an event."""
    coordinator, steps, told = ModuleCoordinator(), Steps(), list[dict[str, Any]]()
    coordinator.hooks.set_default_fields()
    coordinator.hooks.register(MODULE_CLEANUP_FAILED, lambda event, data: told.append(data))

    async def close_socket() -> None:
        raise OSError("gone")

    coordinator.register_cleanup(steps.note("last"))
    coordinator.register_cleanup(close_socket)
    coordinator.register_cleanup(steps.fail("flush", ValueError("bad")))
    await coordinator.cleanup()
    assert steps == ["flush", "last"]
    close_name = close_socket.__qualname__
    assert caplog.record_tuples == [
        (LOGGER, logging.ERROR, "Error during cleanup: flush raised ValueError: bad"),
        (LOGGER, logging.ERROR, f"Error during cleanup: {close_name} raised OSError: gone"),
    ]
    assert coordinator.report.cleanup_errors == ["flush raised ValueError: bad", f"{close_name} raised OSError: gone"]
    assert [(data["callable"], data["error"]) for data in told] == [
        ("flush", "ValueError: bad"),
        (close_name, "OSError: gone"),
    ]
    assert MODULE_CLEANUP_FAILED in KERNEL_EVENTS


async def test_a_failing_object_without_a_name_is_told_by_its_repr() -> None:
    """Partials and callable objects have no qualified name."""

    class Closer:
        def __call__(self) -> None:
            raise ValueError("bad")

        def __repr__(self) -> str:
            return "<Closer>"

    coordinator = ModuleCoordinator()
    coordinator.register_cleanup(Closer())
    await coordinator.cleanup()
    assert coordinator.report.cleanup_errors == ["<Closer> raised ValueError: bad"]


async def test_a_failure_that_cannot_be_told_does_not_come_out() -> None:
    """Neither an error without a readable message nor a named object without a ``repr`` spoils the rest."""

    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no message")

    class Shy:
        def __init__(self) -> None:
            self.__qualname__ = "Shy.close"

        def __call__(self) -> None:
            raise Unspeakable

        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    coordinator, steps = ModuleCoordinator(), Steps()
    coordinator.register_cleanup(steps.note("rest"))
    coordinator.register_cleanup(Shy())
    await coordinator.cleanup()
    assert steps == ["rest"]
    assert coordinator.report.cleanup_errors == ["Shy.close raised Unspeakable: Unspeakable()"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_an_interruption_is_raised_again_after_all_have_run(error: type[BaseException]) -> None:
    """It is neither logged as a failure nor reported."""
    coordinator, steps = ModuleCoordinator(), Steps()
    coordinator.register_cleanup(steps.note("rest"))
    raised = error("stop")
    coordinator.register_cleanup(steps.fail("interrupts", raised))
    with pytest.raises(error) as caught:
        step_through(coordinator.cleanup())
    assert caught.value is raised
    assert steps == ["interrupts", "rest"]
    assert coordinator.report.cleanup_errors == []


async def test_of_several_interruptions_the_first_is_raised() -> None:
    """Ordinary failures in between are reported as ever."""
    coordinator, steps = ModuleCoordinator(), Steps()
    coordinator.register_cleanup(steps.fail("third", KeyboardInterrupt()))
    coordinator.register_cleanup(steps.fail("second", ValueError("bad")))
    coordinator.register_cleanup(steps.fail("first", SystemExit(3)))
    with pytest.raises(SystemExit) as caught:
        step_through(coordinator.cleanup())
    assert caught.value.code == 3
    assert steps == ["first", "second", "third"]
    assert coordinator.report.cleanup_errors == ["second raised ValueError: bad"]
    await coordinator.cleanup()


async def test_cancelling_the_clean_up_reaches_the_function_that_waits_and_the_rest_still_runs() -> None:
    """Also those that wait themselves; the cancellation comes out at the end."""
    coordinator, steps, begun = ModuleCoordinator(), Steps(), asyncio.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("hang ended")

    coordinator.register_cleanup(steps.note_later("rest"))
    coordinator.register_cleanup(hang)
    task = asyncio.create_task(coordinator.cleanup())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["hang ended", "rest"]


async def test_an_interruption_out_of_a_handler_of_the_failure_event_is_kept_for_the_end() -> None:
    """Telling about a failure does not stop the clean-up either."""
    coordinator, steps = ModuleCoordinator(), Steps()

    def interrupt(event: str, data: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    coordinator.hooks.register(MODULE_CLEANUP_FAILED, interrupt)
    coordinator.register_cleanup(steps.note("rest"))
    coordinator.register_cleanup(steps.fail("fails", ValueError()))
    with pytest.raises(KeyboardInterrupt):
        step_through(coordinator.cleanup())
    assert steps == ["fails", "rest"]


async def test_functions_registered_by_a_clean_up_run_next() -> None:
    """Nothing that was registered stays behind."""
    coordinator, steps = ModuleCoordinator(), Steps()

    def register_more() -> None:
        steps.append("registers")
        coordinator.register_cleanup(steps.note("more"))
        coordinator.register_cleanup(steps.note("most"))

    coordinator.register_cleanup(steps.note("first"))
    coordinator.register_cleanup(register_more)
    await coordinator.cleanup()
    assert steps == ["registers", "most", "more", "first"]
    assert coordinator._cleanup_fns == []


async def test_run_cleanups_leaves_the_first_ones() -> None:
    """A module that fails half-way takes only its own with it."""
    coordinator, steps = ModuleCoordinator(), Steps()
    for name in ("kept", "also kept", "two", "one"):
        coordinator.register_cleanup(steps.note(name))
    await coordinator.run_cleanups(keep=2)
    assert (steps, coordinator.pending_cleanups) == (["one", "two"], 2)
    await coordinator.run_cleanups(keep=5)
    assert coordinator.pending_cleanups == 2


KINDS = st.sampled_from(["sync", "async", "fails", "interrupts", "registers"])


@given(kinds=st.lists(KINDS, max_size=12), keep=st.integers(0, 4))
def test_clean_up_is_last_in_first_out_whatever_happens(kinds: list[str], keep: int) -> None:
    """Over any functions: all above ``keep`` run once in reverse order, and the first interruption comes out."""
    coordinator, steps = ModuleCoordinator(), Steps()
    expected, errors = list[str](), list[str]()

    def registering(name: str) -> Any:
        def cleanup() -> None:
            steps.append(name)
            coordinator.register_cleanup(steps.note(f"{name}+"))

        return cleanup

    for number, kind in enumerate(kinds):
        name = f"{kind} {number}"
        made = {
            "sync": steps.note(name),
            "async": steps.note_later(name),
            "fails": steps.fail(name, ValueError(name)),
            "interrupts": steps.fail(name, asyncio.CancelledError(name)),
            "registers": registering(name),
        }
        coordinator.register_cleanup(made[kind])
    for number, kind in reversed(list(enumerate(kinds))[keep:]):
        expected += [f"{kind} {number}", f"{kind} {number}+"] if kind == "registers" else [f"{kind} {number}"]
        errors += [f"{kind} {number}"] if kind == "fails" else []
    interruption = None

    async def run() -> None:
        nonlocal interruption
        try:
            await coordinator.run_cleanups(keep)
        except asyncio.CancelledError as error:
            interruption = str(error)

    asyncio.run(run())
    assert steps == expected
    assert interruption == next((name for name in expected if name.startswith("interrupts")), None)
    assert coordinator.report.cleanup_errors == [f"{name} raised ValueError: {name}" for name in errors]
    assert coordinator.pending_cleanups == min(keep, len(kinds))


async def test_a_clean_up_that_registers_itself_for_ever_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """It must not hold up the end of a session; the report names it, and nothing is left to run."""
    coordinator = ModuleCoordinator()

    def again() -> None:
        coordinator.register_cleanup(again)

    coordinator.register_cleanup(again)
    await coordinator.cleanup()
    assert coordinator.pending_cleanups == 0
    assert len(coordinator.report.cleanup_errors) == 1
    assert "again keeps registering clean-up functions" in coordinator.report.cleanup_errors[0]
    assert "keeps registering clean-up functions" in caplog.text

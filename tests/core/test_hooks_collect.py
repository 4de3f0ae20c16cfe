"""``emit_and_collect``: asking every handler for data, each within a time limit."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import pytest

from amplifier_core.hooks import HookRegistry, HookResult

LOGGER = "amplifier_core.hooks"


async def forever(event: str, data: dict[str, Any]) -> None:
    """A handler that never answers."""
    await asyncio.Event().wait()


async def test_it_gives_the_data_of_every_answer_in_run_order() -> None:
    """Actions do not matter; answers without data contribute nothing, empty data count."""
    registry = HookRegistry()
    registry.register("e", lambda event, data: HookResult(action="deny", data={"n": 2}), 2)
    registry.register("e", lambda event, data: {"data": {"n": 1}}, 1)
    registry.register("e", lambda event, data: None, 3)
    registry.register("e", lambda event, data: {"n": "not under data"}, 4)
    registry.register("e", lambda event, data: HookResult(action="modify", data={}), 5)
    assert await registry.emit_and_collect("e", {}) == [{"n": 1}, {"n": 2}, {}]


async def test_without_handlers_it_gives_an_empty_list() -> None:
    """Nobody has anything to say."""
    assert await HookRegistry().emit_and_collect("e", {"a": 1}) == []


async def test_every_handler_gets_the_original_data_in_a_dict_of_its_own() -> None:
    """No defaults, no time stamp, no effect of modifications; values keep identity."""
    registry = HookRegistry()
    registry.set_default_fields(session_id="s")
    value, seen = object(), list[dict[str, Any]]()

    async def spoil(event: str, data: dict[str, Any]) -> HookResult:
        seen.append(dict(data))
        data.clear()
        return HookResult(action="modify", data={"other": 1})

    registry.register("e", spoil)
    registry.register("e", spoil)
    given = {"value": value}
    assert await registry.emit_and_collect("e", given) == [{"other": 1}] * 2
    assert seen == [{"value": value}] * 2
    assert given == {"value": value}


@pytest.mark.parametrize("data", [None, [1], "text"])
async def test_data_that_are_no_dict_count_as_empty(data: Any) -> None:
    """As with ``emit``."""
    registry, seen = HookRegistry(), list[dict[str, Any]]()
    registry.register("e", lambda event, data: seen.append(data))
    await registry.emit_and_collect("e", data)
    assert seen == [{}]


async def test_handlers_that_fail_or_answer_rubbish_are_logged_and_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The others are asked all the same."""
    registry = HookRegistry()

    async def fail(event: str, data: dict[str, Any]) -> None:
        raise ValueError("broken")

    async def own_time_out(event: str, data: dict[str, Any]) -> None:
        raise TimeoutError("socket")

    async def cancel_itself(event: str, data: dict[str, Any]) -> None:
        raise asyncio.CancelledError

    registry.register("e", fail, name="fails")
    registry.register("e", own_time_out, name="times out by itself")
    registry.register("e", cancel_itself, name="cancels itself")
    registry.register("e", lambda event, data: "rubbish", name="rubbish")
    registry.register("e", "no callable", name="no callable")  # pyright: ignore[reportArgumentType]
    registry.register("e", lambda event, data: {"data": {"ok": True}}, name="good")
    assert await registry.emit_and_collect("e", {}) == [{"ok": True}]
    told = [(record.name, record.levelno, record.getMessage().partition("\n")[0]) for record in caplog.records]
    begin = "Hook handler error for event 'e'"
    rubbish = "TypeError: cannot read the answer: str that is no sound HookResult: ValidationError"
    assert told == [
        (LOGGER, logging.ERROR, f"{begin} (handler 'fails'): ValueError: broken"),
        (LOGGER, logging.ERROR, f"{begin} (handler 'times out by itself'): TimeoutError: socket"),
        (LOGGER, logging.ERROR, f"{begin} (handler 'cancels itself'): CancelledError: "),
        (LOGGER, logging.ERROR, f"{begin} (handler 'rubbish'): {rubbish}: 1 validation error for HookResult"),
        (LOGGER, logging.ERROR, f"{begin} (handler 'no callable'): TypeError: 'str' object is not callable"),
    ]


async def test_a_late_handler_is_cancelled_warned_about_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The limit holds for each handler by itself."""
    registry, ended = HookRegistry(), list[str]()

    async def hang(event: str, data: dict[str, Any]) -> None:
        try:
            await forever(event, data)
        finally:
            ended.append("cancelled")

    registry.register("e", hang, name="slow")
    registry.register("e", lambda event, data: {"data": {"ok": True}})
    assert await registry.emit_and_collect("e", {}, timeout=0.001) == [{"ok": True}]
    assert ended == ["cancelled"]
    assert caplog.record_tuples == [
        (
            LOGGER,
            logging.WARNING,
            "Hook handler timed out for event 'e' (handler 'slow'): no answer within 0.001 s",
        )
    ]


async def test_an_answer_after_the_limit_is_left_out_even_if_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    """A handler that ignores its cancellation is late all the same."""
    registry = HookRegistry()

    async def stubborn(event: str, data: dict[str, Any]) -> HookResult:
        with suppress(asyncio.CancelledError):
            await forever(event, data)
        return HookResult(data={"late": True})

    registry.register("e", stubborn, name="stubborn")
    assert await registry.emit_and_collect("e", {}, timeout=0.001) == []
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_keyboard_interrupt_comes_out() -> None:
    """It is meant for the program, not for the registry."""
    registry = HookRegistry()

    async def interrupt(event: str, data: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    registry.register("e", interrupt)
    emitting = registry.emit_and_collect("e", {})
    with pytest.raises(KeyboardInterrupt):
        emitting.send(None)


async def test_cancelling_the_caller_cancels_the_handler_and_comes_out() -> None:
    """Later handlers are not asked."""
    registry, steps, begun = HookRegistry(), list[str](), asyncio.Event()

    async def hang(event: str, data: dict[str, Any]) -> None:
        begun.set()
        try:
            await forever(event, data)
        except asyncio.CancelledError:
            steps.append("handler cancelled")
            raise

    registry.register("e", hang)
    registry.register("e", lambda event, data: steps.append("asked"))
    task = asyncio.create_task(registry.emit_and_collect("e", {}, timeout=60))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["handler cancelled"]

"""Watching a registry: taps see every event after its handlers ran; correlated events share a request id."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from datetime import UTC, datetime
from typing import Any

import pytest

from amplifier_core.correlation import current_request_id, reset_request_id
from amplifier_core.events import (
    LLM_REQUEST,
    LLM_RESPONSE,
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RETRY,
    PROVIDER_THROTTLE,
)
from amplifier_core.hooks import HookRegistry, HookResult

NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = "2024-01-02T03:04:05.678901+00:00"


@pytest.fixture
def registry() -> HookRegistry:
    """A registry whose time stands still and whose ids count up."""
    ids = iter(f"id{n}" for n in range(1, 100))
    return HookRegistry(clock=lambda: NOW, new_id=lambda: next(ids))


class Tape:
    """A tap that keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, event: str, data: dict[str, Any]) -> None:
        self.seen.append((event, data))


async def test_a_tap_sees_every_event_with_its_final_data(registry: HookRegistry) -> None:
    """Modified data are shown as they ended; every tap gets a dict of its own."""
    one, two = Tape(), Tape()
    registry.register("changed", lambda event, data: HookResult(action="modify", data={"new": 1}))
    registry.register("heard", lambda event, data: None)
    registry.tap(one)
    registry.tap(two)
    result = await registry.emit("changed", {"old": 1})
    await registry.emit("heard", {"a": 1})
    expected = [("changed", {"new": 1}), ("heard", {"a": 1, "timestamp": STAMP})]
    assert (one.seen, two.seen) == (expected, expected)
    assert one.seen[0][1] is not two.seen[0][1]
    assert one.seen[0][1] is not result.data


async def test_a_tap_sees_events_that_have_no_handlers(registry: HookRegistry) -> None:
    """It gets defaults and time stamp, while the emitter's answer is as without taps."""
    tape = Tape()
    registry.set_default_fields(session_id="s")
    registry.tap(tape)
    result = await registry.emit("e", {"a": 1})
    assert tape.seen == [("e", {"session_id": "s", "a": 1, "timestamp": STAMP})]
    assert (result.action, result.data) == ("continue", {"a": 1})


async def test_a_tap_sees_denied_events_with_the_data_that_were_judged(registry: HookRegistry) -> None:
    """The data are those that the denying handler saw."""
    tape = Tape()
    registry.register("e", lambda event, data: HookResult(action="modify", data={"new": 1}))
    registry.register("e", lambda event, data: HookResult(action="deny", reason="no"))
    registry.tap(tape)
    assert (await registry.emit("e", {})).action == "deny"
    assert tape.seen == [("e", {"new": 1})]


async def test_a_tap_ends_when_told_and_ending_twice_is_fine(registry: HookRegistry) -> None:
    """Others stay."""
    one, two = Tape(), Tape()
    untap = registry.tap(one)
    registry.tap(two)
    untap()
    untap()
    await registry.emit("e", {})
    assert one.seen == []
    assert two.seen == [("e", {"timestamp": STAMP})]


async def test_a_tap_does_not_see_collections(registry: HookRegistry) -> None:
    """Asking for data is no event."""
    tape = Tape()
    registry.tap(tape)
    assert await registry.emit_and_collect("e", {}) == []
    assert tape.seen == []


async def test_request_and_response_share_an_id_even_if_nobody_listens(registry: HookRegistry) -> None:
    """The id comes from ``new_id``; the answer closes the call."""
    reset_request_id()
    assert (await registry.emit(LLM_REQUEST, {"a": 1})).data == {"a": 1, "request_id": "id1"}
    assert (await registry.emit(PROVIDER_RETRY, {})).data == {"request_id": "id1"}
    assert (await registry.emit(PROVIDER_THROTTLE, {})).data == {"request_id": "id1"}
    assert (await registry.emit(LLM_RESPONSE, {})).data == {"request_id": "id1"}
    assert (await registry.emit(LLM_RESPONSE, {})).data == {}
    assert (await registry.emit(LLM_REQUEST, {})).data == {"request_id": "id2"}
    assert (await registry.emit(PROVIDER_ERROR, {})).data == {"request_id": "id2"}
    assert current_request_id() is None


async def test_without_new_id_request_ids_are_random() -> None:
    """Two calls never share one."""
    reset_request_id()
    registry = HookRegistry()
    one, two = (await registry.emit(LLM_REQUEST, {})).data, (await registry.emit(LLM_REQUEST, {})).data
    assert one != two
    reset_request_id()


async def test_handlers_see_the_request_id_and_the_caller_s_dict_does_not_change(registry: HookRegistry) -> None:
    """The id is added to the copy."""
    reset_request_id()
    seen: list[dict[str, Any]] = []
    registry.register(LLM_REQUEST, lambda event, data: seen.append(data))
    data = {"a": 1}
    await registry.emit(LLM_REQUEST, data)
    assert seen == [{"a": 1, "request_id": "id1", "timestamp": STAMP}]
    assert data == {"a": 1}
    reset_request_id()


async def test_an_id_given_as_text_is_kept_and_anything_else_counts_as_absent(registry: HookRegistry) -> None:
    """The explicit id becomes that of the call."""
    reset_request_id()
    assert (await registry.emit(LLM_REQUEST, {"request_id": "mine"})).data == {"request_id": "mine"}
    assert (await registry.emit(LLM_RESPONSE, {"request_id": 5})).data == {"request_id": "mine"}
    assert (await registry.emit(LLM_REQUEST, {"request_id": None})).data == {"request_id": "id1"}
    assert (await registry.emit(LLM_RESPONSE, {"request_id": "other"})).data == {"request_id": "other"}
    assert (await registry.emit(LLM_RESPONSE, {"request_id": 5})).data == {"request_id": 5}


async def test_other_events_and_collections_get_no_request_id(registry: HookRegistry) -> None:
    """``provider:request`` is no part of a call, and asking for data opens none."""
    reset_request_id()
    seen: list[dict[str, Any]] = []
    registry.register(LLM_REQUEST, lambda event, data: seen.append(data))
    await registry.emit_and_collect(LLM_REQUEST, {})
    assert seen == [{}]
    assert (await registry.emit(PROVIDER_REQUEST, {})).data == {}
    assert current_request_id() is None


async def test_concurrent_calls_keep_their_ids_apart(registry: HookRegistry) -> None:
    """Each task has a call of its own in flight."""
    reset_request_id()

    async def call() -> tuple[Any, Any]:
        request = (await registry.emit(LLM_REQUEST, {})).data
        await asyncio.sleep(0)
        return request, (await registry.emit(LLM_RESPONSE, {})).data

    tasks = [asyncio.create_task(call(), context=copy_context()) for _ in range(3)]
    pairs = await asyncio.gather(*tasks)
    assert pairs == [({"request_id": f"id{n}"}, {"request_id": f"id{n}"}) for n in (1, 2, 3)]
    assert current_request_id() is None


async def test_a_function_tapped_twice_is_ended_one_tap_at_a_time() -> None:
    """Ending one tap leaves the other, even of the same function."""
    registry = HookRegistry()
    seen: list[str] = []

    async def note(event: str, data: dict[str, Any]) -> None:
        seen.append(event)

    end_first = registry.tap(note)
    end_second = registry.tap(note)
    await registry.emit("a:b", {})
    end_first()
    await registry.emit("c:d", {})
    end_second()
    await registry.emit("e:f", {})
    assert seen == ["a:b", "a:b", "c:d"]


async def test_a_tap_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The emitter gets its answer and later taps see the event; the failure is logged."""
    registry = HookRegistry()
    seen: list[str] = []

    async def fail(event: str, data: dict[str, Any]) -> None:
        raise ValueError("broken tap")

    async def note(event: str, data: dict[str, Any]) -> None:
        seen.append(event)

    registry.tap(fail)
    registry.tap(note)
    result = await registry.emit("a:b", {"x": 1})
    assert (result.action, result.data, seen) == ("continue", {"x": 1}, ["a:b"])
    assert "A tap failed on event 'a:b'" in caplog.text

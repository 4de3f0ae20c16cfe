"""Telling handlers about an event: what they are given, when, and what an emitter gets back."""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Generator
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from amplifier_core.hooks import HookRegistry, HookResult
from amplifier_core.models import ToolResult

NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = "2024-01-02T03:04:05.678901+00:00"


@pytest.fixture
def registry() -> HookRegistry:
    """A registry whose time stands still."""
    return HookRegistry(clock=lambda: NOW)


class Seen:
    """A handler that keeps the data it was given."""

    def __init__(self, answer: Any = None) -> None:
        self.data: list[dict[str, Any]] = []
        self.answer = answer

    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        self.data.append(data)
        return self.answer


async def test_without_handlers_the_answer_is_continue_with_a_copy_of_the_data(registry: HookRegistry) -> None:
    """Neither defaults nor a time stamp are added; the dict is new, its values are the caller's."""
    registry.set_default_fields(session_id="s")
    value = object()
    data = {"value": value}
    result = await registry.emit("e", data)
    assert type(result) is HookResult
    assert (result.action, result.data) == ("continue", {"value": value})
    assert result.data is not data
    assert result.data is not None
    assert result.data["value"] is value


@pytest.mark.parametrize("data", [None, [], [1], "text", '{"a": 1}', 5, True, b"x", object()])
async def test_data_that_are_no_dict_count_as_empty(registry: HookRegistry, data: Any) -> None:
    """With and without handlers."""
    seen = Seen()
    registry.register("heard", seen)
    assert (await registry.emit("unheard", data)).data == {}
    assert (await registry.emit("heard", data)).data == {"timestamp": STAMP}
    assert seen.data == [{"timestamp": STAMP}]


async def test_data_may_be_left_out(registry: HookRegistry) -> None:
    """An event without data has empty data."""
    assert (await registry.emit("e")).data == {}
    assert await registry.emit_and_collect("e") == []


@pytest.mark.parametrize("data", [OrderedDict(a=1), MappingProxyType({"a": 1})])
async def test_any_mapping_is_taken_for_a_dict(registry: HookRegistry, data: Any) -> None:
    """Handlers always get a plain dict."""
    seen = Seen()
    registry.register("e", seen)
    await registry.emit("e", data)
    assert seen.data == [{"a": 1, "timestamp": STAMP}]
    assert type(seen.data[0]) is dict


async def test_a_model_given_as_the_whole_data_is_dumped_and_one_inside_is_not(registry: HookRegistry) -> None:
    """Only the outermost object becomes a dict; values keep their identity."""

    class Payload(BaseModel):
        a: int
        when: datetime

    class Duck:
        def model_dump(self) -> list[int]:
            return [1]

    seen, inner = Seen(), ToolResult(output="x")
    registry.register("e", seen)
    await registry.emit("e", Payload(a=1, when=NOW))
    await registry.emit("e", {"result": inner})
    await registry.emit("e", Duck())
    assert seen.data == [
        {"a": 1, "when": NOW, "timestamp": STAMP},
        {"result": inner, "timestamp": STAMP},
        {"timestamp": STAMP},
    ]
    assert seen.data[1]["result"] is inner


async def test_default_fields_are_merged_in_and_event_data_win(registry: HookRegistry) -> None:
    """Handlers and the result see defaults, data and time stamp."""
    registry.set_default_fields(session_id="s", parent_id=None)
    seen = Seen()
    registry.register("e", seen)
    result = await registry.emit("e", {"parent_id": "p", "a": 1})
    assert seen.data == [{"session_id": "s", "parent_id": "p", "a": 1, "timestamp": STAMP}]
    assert result.data == seen.data[0]


async def test_set_default_fields_replaces_the_whole_set(registry: HookRegistry) -> None:
    """It is no merge: what is not named again is gone."""
    seen = Seen()
    registry.register("e", seen)
    registry.set_default_fields(a=1, b=2)
    registry.set_default_fields(b=3)
    await registry.emit("e", {})
    registry.set_default_fields()
    await registry.emit("e", {})
    assert seen.data == [{"b": 3, "timestamp": STAMP}, {"timestamp": STAMP}]


async def test_the_time_stamp_is_always_the_registrys(registry: HookRegistry) -> None:
    """One that comes with data or defaults is overwritten."""
    seen = Seen()
    registry.register("e", seen)
    registry.set_default_fields(timestamp="default")
    await registry.emit("e", {"timestamp": "mine"})
    assert seen.data == [{"timestamp": STAMP}]


async def test_time_stamps_are_utc_whatever_the_clock_s_zone() -> None:
    """A clock in another zone gives the same instant; whole seconds keep their microseconds."""
    zone = timezone(timedelta(hours=5))
    registry = HookRegistry(clock=lambda: datetime(2024, 1, 1, 3, 0, tzinfo=zone))
    seen = Seen()
    registry.register("e", seen)
    await registry.emit("e", {})
    assert seen.data == [{"timestamp": "2023-12-31T22:00:00.000000+00:00"}]


async def test_without_a_clock_the_time_stamp_is_now() -> None:
    """It lies between the moments before and after, and ends in ``+00:00``."""
    registry, seen = HookRegistry(), Seen()
    registry.register("e", seen)
    before = datetime.now(UTC)
    await registry.emit("e", {})
    after = datetime.now(UTC)
    stamp = seen.data[0]["timestamp"]
    assert stamp.endswith("+00:00")
    assert before <= datetime.fromisoformat(stamp) <= after


async def test_each_handler_gets_a_dict_of_its_own_with_the_caller_s_values(registry: HookRegistry) -> None:
    """Writing into the top level has no effect on others; values are passed by identity, never copied."""
    value: list[int] = []
    given: list[dict[str, Any]] = []

    def spoil(event: str, data: dict[str, Any]) -> None:
        given.append(dict(data))
        data["value"] = "spoilt"
        data["extra"] = True

    registry.register("e", spoil)
    registry.register("e", spoil)
    data = {"value": value}
    result = await registry.emit("e", data)
    assert given == [{"value": [], "timestamp": STAMP}] * 2
    assert [each["value"] is value for each in given] == [True, True]
    assert data == {"value": []}
    assert result.data is not None
    assert result.data == {"value": [], "timestamp": STAMP}
    assert result.data["value"] is value


async def test_modified_data_keep_identity_too(registry: HookRegistry) -> None:
    """The values of a modification reach later handlers and the emitter as they are."""
    value, seen = object(), Seen()
    registry.register("e", lambda event, data: HookResult(action="modify", data={"value": value}))
    registry.register("e", seen)
    result = await registry.emit("e", {})
    assert seen.data == [{"value": value}]
    assert seen.data[0] is not result.data
    assert result.data == {"value": value}


async def test_handlers_registered_or_removed_during_an_emit_count_from_the_next_one(registry: HookRegistry) -> None:
    """An emit works on the handlers it began with."""
    calls: list[str] = []

    async def late(event: str, data: dict[str, Any]) -> None:
        calls.append("late")

    async def swap(event: str, data: dict[str, Any]) -> None:
        calls.append("swap")
        undo_second()
        undo_swap()
        registry.register("e", late, -1)

    async def second(event: str, data: dict[str, Any]) -> None:
        calls.append("second")

    undo_swap = registry.register("e", swap)
    undo_second = registry.register("e", second)
    await registry.emit("e", {})
    assert calls == ["swap", "second"]
    await registry.emit("e", {})
    assert calls == ["swap", "second", "late"]


async def test_handlers_may_be_any_kind_of_callable_and_any_awaitable_is_awaited(registry: HookRegistry) -> None:
    """Functions, methods, objects, sync or async; coroutines, futures, tasks and other awaitables."""

    class Custom:
        def __await__(self) -> Generator[Any, Any, HookResult]:
            yield from asyncio.sleep(0).__await__()
            return answer("custom")

    class Object:
        def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
            return answer("object")

        async def method(self, event: str, data: dict[str, Any]) -> HookResult:
            return answer("method")

    def answer(text: str) -> HookResult:
        return HookResult(user_message=text)

    async def coroutine(event: str, data: dict[str, Any]) -> HookResult:
        return answer("coroutine")

    def future(event: str, data: dict[str, Any]) -> asyncio.Future[HookResult]:
        made: asyncio.Future[HookResult] = asyncio.get_running_loop().create_future()
        made.set_result(answer("future"))
        return made

    registry.register("e", lambda event, data: answer("sync"))
    registry.register("e", coroutine)
    registry.register("e", lambda event, data: coroutine(event, data))
    registry.register("e", Object())
    registry.register("e", Object().method)
    registry.register("e", future)
    registry.register("e", lambda event, data: asyncio.ensure_future(coroutine(event, data)))
    registry.register("e", lambda event, data: Custom())
    result = await registry.emit("e", {})
    assert result.user_message == "sync\ncoroutine\ncoroutine\nobject\nmethod\nfuture\ncoroutine\ncustom"


async def test_handlers_run_one_after_another_in_the_caller_s_task(registry: HookRegistry) -> None:
    """A slow handler holds up the next; both run in the task that emits."""
    steps: list[Any] = []

    async def slow(event: str, data: dict[str, Any]) -> None:
        steps.append("begin")
        await asyncio.sleep(0)
        steps.append("end")

    async def next_one(event: str, data: dict[str, Any]) -> None:
        steps.append(asyncio.current_task())

    registry.register("e", slow)
    registry.register("e", next_one)
    await registry.emit("e", {})
    assert steps == ["begin", "end", asyncio.current_task()]


async def test_context_variables_are_shared_with_the_caller(registry: HookRegistry) -> None:
    """Handlers see the caller's values and may set them for it."""
    variable: ContextVar[str] = ContextVar("variable")
    seen: list[str] = []

    async def handler(event: str, data: dict[str, Any]) -> None:
        seen.append(variable.get())
        variable.set("handler's")

    registry.register("e", handler)
    variable.set("caller's")
    await registry.emit("e", {})
    assert (seen, variable.get()) == (["caller's"], "handler's")


async def test_emit_and_emit_and_collect_give_real_coroutines(registry: HookRegistry) -> None:
    """Both can be made into tasks, whatever the data."""
    for made in (registry.emit("e", '{"a": 1}'), registry.emit_and_collect("e", '{"a": 1}')):
        assert inspect.iscoroutine(made)
        await asyncio.create_task(made)


async def test_after_a_modification_defaults_and_time_stamp_are_what_the_handler_kept(registry: HookRegistry) -> None:
    """Modified data replace everything; ``data=None`` changes nothing."""
    registry.set_default_fields(session_id="s")
    seen = Seen()
    registry.register("e", lambda event, data: HookResult(action="modify", data={"new": 1}), 1)
    registry.register("e", lambda event, data: HookResult(action="modify"), 2)
    registry.register("e", seen, 3)
    result = await registry.emit("e", {"old": 1})
    assert seen.data == [{"new": 1}]
    assert (result.action, result.data) == ("modify", {"new": 1})


async def test_a_modification_without_data_is_none(registry: HookRegistry) -> None:
    """The action of the answer is ``continue``."""
    registry.register("e", lambda event, data: {"action": "modify"})
    result = await registry.emit("e", {"a": 1})
    assert (result.action, result.data) == ("continue", {"a": 1, "timestamp": STAMP})


async def test_nothing_is_refused_for_not_being_json(registry: HookRegistry) -> None:
    """Keys of any kind, NaN and live objects come through as they are."""
    thing = object()
    data: dict[Any, Any] = {1: "int", (2, 3): "tuple", "nan": float("inf"), "thing": thing, "set": {1}}
    seen = Seen()
    registry.register("heard", seen)
    assert (await registry.emit("unheard", data)).data == data
    assert (await registry.emit("heard", data)).data == {**data, "timestamp": STAMP}
    assert seen.data == [{**data, "timestamp": STAMP}]

"""What is different for users of the existing package: events, hooks, and what the coordinator does with answers."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from amplifier_core.cancellation import CancellationToken
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult

Data = dict[str, Any]


class Person:
    """An approval system and a display that answer from a list and note what they were asked and shown."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.shown: list[str] = []

    async def request_approval(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
        self.asked.append(prompt)
        return self.answers.pop(0)

    async def show_message(self, message: str, level: str, source: str = "hook") -> None:
        self.shown.append(f"{level} {source}: {message}")


class Notes:
    """Just enough of a context to keep messages."""

    def __init__(self) -> None:
        self.messages: list[Data] = []

    async def add_message(self, message: Data) -> None:
        self.messages.append(message)


def answering(**fields: Any) -> Any:
    """A handler that always gives the same answer."""

    async def handler(event: str, data: Data) -> HookResult:
        return HookResult(**fields)

    return handler


async def test_event_values_keep_their_identity() -> None:
    """A handler gets the emitter's own objects, not a JSON copy of them."""
    seen: list[Data] = []
    hooks = HookRegistry()
    hooks.register("x:y", lambda event, data: seen.append(data))
    given = {"object": object(), "cost": Decimal("1.20"), "when": datetime(2026, 1, 1, tzinfo=UTC), "pair": (1, 2)}
    await hooks.emit("x:y", given)
    assert all(seen[0][key] is value for key, value in given.items())


async def test_event_data_need_not_be_json() -> None:
    """Keys and values that JSON refuses pass through."""
    hooks = HookRegistry()
    hooks.register("x:y", answering())
    given: Data = {"number": float("inf")}
    given["self"] = given
    result = await hooks.emit("x:y", {("a", 1): given})  # pyright: ignore[reportArgumentType]
    assert result.data is not None
    assert dict(result.data)[("a", 1)] is given  # pyright: ignore[reportArgumentType]


async def test_handlers_share_nested_values_but_not_the_dict() -> None:
    """A key that one handler adds is invisible to the next; a change inside a value is not."""
    seen: list[Data] = []

    def first(event: str, data: Data) -> None:
        data["mine"] = True
        data["list"].append("changed")

    hooks = HookRegistry()
    hooks.register("x:y", first)
    hooks.register("x:y", lambda event, data: seen.append(data))
    await hooks.emit("x:y", {"list": []})
    assert "mine" not in seen[0]
    assert seen[0]["list"] == ["changed"]


async def test_data_that_are_no_dict_count_as_empty() -> None:
    """Handlers always get a dict with the default fields and the time."""
    seen: list[Data] = []
    hooks = HookRegistry()
    hooks.set_default_fields(session_id="s")
    hooks.register("x:y", lambda event, data: seen.append(data))
    await hooks.emit("x:y", "text")
    assert [sorted(data) for data in seen] == [["session_id", "timestamp"]]


async def test_timestamps_have_microseconds() -> None:
    """The time is what ``datetime.fromisoformat`` reads back exactly, without nanoseconds."""
    hooks = HookRegistry(clock=lambda: datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
    hooks.register("x:y", answering())
    result = await hooks.emit("x:y", {})
    assert result.data == {"timestamp": "2026-01-02T03:04:05.000006+00:00"}


async def test_a_bare_coordinator_has_default_fields_too() -> None:
    """Events of a coordinator without a session carry an empty session id and no parent."""
    coordinator = ModuleCoordinator()
    coordinator.hooks.register("x:y", answering())
    result = await coordinator.hooks.emit("x:y", {})
    assert result.data is not None
    assert (result.data["session_id"], result.data["parent_id"]) == ("", None)


async def test_a_modification_is_answered_as_modify() -> None:
    """After a handler changed the data and nobody asked for more, the action says so."""
    hooks = HookRegistry()
    hooks.register("x:y", answering(action="modify", data={"a": 2}))
    result = await hooks.emit("x:y", {"a": 1})
    assert (result.action, result.data) == ("modify", {"a": 2})


async def test_a_stronger_action_keeps_the_modified_data() -> None:
    """A question or an injection does not hide what another handler changed."""
    hooks = HookRegistry()
    hooks.register("x:y", answering(action="modify", data={"a": 2}))
    hooks.register("x:y", answering(action="inject_context", context_injection="note"))
    result = await hooks.emit("x:y", {"a": 1})
    assert (result.action, result.data, result.context_injection) == ("inject_context", {"a": 2}, "note")


async def test_messages_survive_composition() -> None:
    """Messages of all handlers come back joined, with the worst level, also from those that only continue."""
    hooks = HookRegistry()
    hooks.register("x:y", answering(user_message="first", user_message_level="warning"))
    hooks.register("x:y", answering(action="inject_context", context_injection="a", user_message="second"))
    hooks.register("x:y", answering(action="inject_context", context_injection="b", suppress_output=True))
    result = await hooks.emit("x:y", {})
    assert (result.context_injection, result.user_message) == ("a\n\nb", "first\nsecond")
    assert (result.user_message_level, result.suppress_output) == ("warning", True)


async def test_every_question_is_asked() -> None:
    """Several handlers may ask about one event; all answers must approve."""
    person = Person("Allow", "Deny")
    coordinator = ModuleCoordinator(approval_system=person)
    for prompt in ("first?", "second?", "third?"):
        coordinator.hooks.register("x:y", answering(action="ask_user", approval_prompt=prompt))
    verdict = await coordinator.process_hook_result(await coordinator.hooks.emit("x:y", {}), "x:y")
    assert person.asked == ["first?", "second?"]
    assert (verdict.action, verdict.reason) == ("deny", "User denied: second?")


async def test_an_approved_question_goes_on_with_the_rest() -> None:
    """Injections and messages beside a question are carried out after approval."""
    person, notes = Person("Allow"), Notes()
    coordinator = ModuleCoordinator(approval_system=person, display_system=person)
    coordinator.mount("context", notes)
    coordinator.hooks.register("x:y", answering(action="ask_user", user_message="look", user_message_source="guard"))
    coordinator.hooks.register("x:y", answering(action="inject_context", context_injection="note"))
    coordinator.hooks.register("x:y", answering(action="modify", data={"a": 2}))
    verdict = await coordinator.process_hook_result(await coordinator.hooks.emit("x:y", {}), "x:y")
    assert [message["content"] for message in notes.messages] == ["note"]
    assert person.shown == ["info hook:guard: look"]
    assert (verdict.action, verdict.data) == ("modify", {"a": 2})


async def test_options_that_a_hook_offers_can_approve() -> None:
    """An offered answer that begins with a word of consent approves; the same word unoffered denies."""
    ask = HookResult(action="ask_user", approval_options=["Yes, all of them", "No"])
    coordinator = ModuleCoordinator(approval_system=Person("Yes, all of them", "Yes"))
    assert (await coordinator.process_hook_result(ask, "x:y")).action == "continue"
    assert (await coordinator.process_hook_result(ask, "x:y")).action == "deny"


async def test_an_async_display_is_awaited() -> None:
    """A display system may be async; before, its coroutine was dropped."""
    person = Person()
    coordinator = ModuleCoordinator(display_system=person)
    await coordinator.process_hook_result(HookResult(user_message="look"), "x:y", "mine")
    assert person.shown == ["info hook:mine: look"]


async def test_a_guard_that_fails_denies() -> None:
    """``on_error="deny"`` turns an exception or a time-out into a refusal that names the handler."""

    async def broken(event: str, data: Data) -> HookResult:
        raise LookupError("no rules")

    async def hanging(event: str, data: Data) -> HookResult:
        await asyncio.Event().wait()
        raise AssertionError

    hooks = HookRegistry()
    hooks.register("x:y", broken, name="old")
    assert (await hooks.emit("x:y", {})).action == "continue"
    hooks.register("x:y", broken, name="rules", on_error="deny")
    assert (await hooks.emit("x:y", {})).reason == "Guard 'rules' failed on 'x:y': LookupError: no rules"
    hooks.register("x:y", hanging, -1, name="slow", on_error="deny", timeout=0.001)
    assert (await hooks.emit("x:y", {})).reason == "Guard 'slow' failed on 'x:y': no answer within 0.001 s"


async def test_a_guard_judges_the_final_data() -> None:
    """A guard that ran before somebody changed the data is asked once more."""
    seen: list[int] = []

    async def guard(event: str, data: Data) -> HookResult:
        seen.append(data["a"])
        return HookResult(action="deny" if data["a"] > 1 else "continue")

    hooks = HookRegistry()
    hooks.register("x:y", guard, on_error="deny")
    hooks.register("x:y", answering(action="modify", data={"a": 2}), priority=10)
    assert (await hooks.emit("x:y", {"a": 1})).action == "deny"
    assert seen == [1, 2]


async def test_an_interrupt_in_a_handler_travels_on() -> None:
    """``KeyboardInterrupt`` and ``SystemExit`` are not a handler's own failure."""

    def interrupted(event: str, data: Data) -> None:
        raise SystemExit(3)

    hooks = HookRegistry()
    hooks.register("x:y", interrupted)
    with pytest.raises(SystemExit):
        await hooks.emit("x:y", {})


async def test_any_awaitable_answer_is_awaited() -> None:
    """A handler may return a future or a task, not only a coroutine."""
    future: asyncio.Future[HookResult] = asyncio.get_running_loop().create_future()
    future.set_result(HookResult(action="deny", reason="from a future"))
    hooks = HookRegistry()
    hooks.register("x:y", lambda event, data: future)
    assert (await hooks.emit("x:y", {})).reason == "from a future"


async def test_context_variables_of_a_handler_reach_the_emitter() -> None:
    """Handlers run in the emitter's own context."""
    variable: ContextVar[str] = ContextVar("variable", default="before")

    async def handler(event: str, data: Data) -> None:
        variable.set("set by the handler")

    hooks = HookRegistry()
    hooks.register("x:y", handler)
    await hooks.emit("x:y", {})
    assert variable.get() == "set by the handler"


async def test_a_sync_handler_runs_in_the_same_thread() -> None:
    """A handler that is no coroutine function runs inline, with the running loop at hand."""
    seen: list[object] = []
    hooks = HookRegistry()
    hooks.register("x:y", lambda event, data: seen.append((threading.current_thread(), asyncio.get_running_loop())))
    await hooks.emit("x:y", {})
    assert seen == [(threading.current_thread(), asyncio.get_running_loop())]


async def test_log_records_come_from_the_kernels_own_loggers(caplog: pytest.LogCaptureFixture) -> None:
    """The ``_engine.*`` loggers are gone; each record names the room of the kernel it comes from."""

    def broken(*_: object) -> None:
        raise LookupError("x")

    coordinator = ModuleCoordinator()
    coordinator.hooks.register("x:y", broken)
    coordinator.register_contributor("channel", "mine", broken)
    coordinator.register_cleanup(broken)
    coordinator.cancellation.on_cancel(broken)
    with caplog.at_level(logging.WARNING):
        await coordinator.hooks.emit("x:y", {})
        await coordinator.collect_contributions("channel")
        await coordinator.cancellation.trigger_callbacks()
        await coordinator.cleanup()
    assert [record.name.removeprefix("amplifier_core.") for record in caplog.records] == [
        "hooks",
        "_channels",
        "cancellation",
        "coordinator",
    ]


async def test_cancelling_a_collection_travels_on() -> None:
    """The task that collects contributions can be cancelled; a contributor that cancels itself ends the collection."""
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    async def give_up() -> None:
        raise asyncio.CancelledError

    coordinator = ModuleCoordinator()
    coordinator.register_contributor("mine", "first", lambda: 1)
    coordinator.register_contributor("mine", "second", give_up)
    assert await coordinator.collect_contributions("mine") == [1]
    coordinator.register_contributor("other", "third", hang)
    task = asyncio.create_task(coordinator.collect_contributions("other"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_callbacks_of_a_token_all_run_and_an_interrupt_is_raised_again() -> None:
    """A ``KeyboardInterrupt`` in a callback comes out after the others ran."""
    ran: list[str] = []

    def interrupted() -> None:
        ran.append("first")
        raise KeyboardInterrupt

    token = CancellationToken()
    token.on_cancel(interrupted)
    token.on_cancel(lambda: ran.append("second"))
    with pytest.raises(KeyboardInterrupt):
        await token.trigger_callbacks()
    assert ran == ["first", "second"]

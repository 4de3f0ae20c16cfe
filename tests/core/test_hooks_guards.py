"""Guards: handlers without whose consent nothing goes on, and who see what will really happen."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from amplifier_core.hooks import HookRegistry, HookResult

NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = "2024-01-02T03:04:05.678901+00:00"
LOGGER = "amplifier_core.hooks"


@pytest.fixture
def registry() -> HookRegistry:
    """A registry whose time stands still."""
    return HookRegistry(clock=lambda: NOW)


class Unspeakable(Exception):
    """An error whose message cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


def raises(error: BaseException) -> Any:
    """A handler that fails."""

    async def handler(event: str, data: dict[str, Any]) -> HookResult:
        raise error

    return handler


def writes(**fields: Any) -> Any:
    """A handler that sets fields of the data."""
    return lambda event, data: HookResult(action="modify", data={**data, **fields})


FAILURES = [
    (ValueError("broken"), "ValueError: broken"),
    (TimeoutError("socket"), "TimeoutError: socket"),
    (asyncio.CancelledError("by itself"), "CancelledError: by itself"),
    (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup: two (2 sub-exceptions)"),
    (Unspeakable(), "Unspeakable: Unspeakable()"),
    (ValueError("\ud800\x00"), "ValueError: \ud800\x00"),
]


@pytest.mark.parametrize(("error", "told"), FAILURES, ids=[told.partition(" ")[0] for _, told in FAILURES])
async def test_a_handler_that_fails_is_logged_and_passed_over(
    registry: HookRegistry, caplog: pytest.LogCaptureFixture, error: BaseException, told: str
) -> None:
    """By default a failure is nobody's problem but the handler's."""
    registry.register("e", raises(error), name="bad")
    registry.register("e", lambda event, data: HookResult(user_message="still here"), name="good")
    result = await registry.emit("e", {"a": 1})
    assert (result.action, result.user_message) == ("continue", "still here")
    assert [(record.name, record.levelno, record.message) for record in caplog.records] == [
        (LOGGER, logging.ERROR, f"Hook handler error for event 'e' (handler 'bad'): {told}")
    ]
    assert caplog.records[0].exc_info is not None
    assert caplog.records[0].exc_info[1] is error


@pytest.mark.parametrize(("error", "told"), FAILURES, ids=[told.partition(" ")[0] for _, told in FAILURES])
async def test_a_guard_that_fails_denies(
    registry: HookRegistry, caplog: pytest.LogCaptureFixture, error: BaseException, told: str
) -> None:
    """The reason names guard, event and error; later handlers are not asked."""
    calls: list[str] = []
    registry.register("tool:pre", raises(error), name="policy", on_error="deny")
    registry.register("tool:pre", lambda event, data: calls.append("later"))
    result = await registry.emit("tool:pre", {})
    assert result == HookResult(action="deny", reason=f"Guard 'policy' failed on 'tool:pre': {told}")
    assert calls == []
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_handler_that_is_not_callable_fails_when_it_is_told(
    registry: HookRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    """Registration accepts it; as a guard it denies."""
    registry.register("e", None, name="nothing")  # pyright: ignore[reportArgumentType]
    assert (await registry.emit("e", {})).action == "continue"
    told = "TypeError: 'NoneType' object is not callable"
    assert caplog.messages == [f"Hook handler error for event 'e' (handler 'nothing'): {told}"]
    registry.register("e", None, name="guard", on_error="deny")  # pyright: ignore[reportArgumentType]
    assert (await registry.emit("e", {})).reason == f"Guard 'guard' failed on 'e': {told}"


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_handler_that_exceeds_its_time_limit_is_cancelled_and_passed_over(
    registry: HookRegistry, caplog: pytest.LogCaptureFixture, stubborn: bool
) -> None:
    """Its answer does not count, even if it ignores the cancellation and answers after all."""
    ended: list[bool] = []

    async def hang(event: str, data: dict[str, Any]) -> HookResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(True)
            if not stubborn:
                raise
        return HookResult(action="deny", reason="too late")

    registry.register("e", hang, name="slow", timeout=0.001)
    assert (await registry.emit("e", {})).action == "continue"
    assert ended == [True]
    assert caplog.record_tuples == [
        (LOGGER, logging.WARNING, "Hook handler timed out for event 'e' (handler 'slow'): no answer within 0.001 s")
    ]


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_guard_that_exceeds_its_time_limit_denies(registry: HookRegistry, stubborn: bool) -> None:
    """A consent that comes too late is none."""

    async def hang(event: str, data: dict[str, Any]) -> HookResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not stubborn:
                raise
        return HookResult()

    registry.register("e", hang, name="slow", on_error="deny", timeout=0.001)
    result = await registry.emit("e", {})
    assert result == HookResult(action="deny", reason="Guard 'slow' failed on 'e': no answer within 0.001 s")


async def test_a_guard_within_its_limit_is_heard(registry: HookRegistry) -> None:
    """The limit holds for whatever awaitable it returns, and its own ``TimeoutError`` is an error like another."""
    loop = asyncio.get_running_loop()

    def future(event: str, data: dict[str, Any]) -> asyncio.Future[HookResult]:
        made: asyncio.Future[HookResult] = loop.create_future()
        loop.call_soon(made.set_result, HookResult(user_message="in time"))
        return made

    registry.register("e", future, on_error="deny", timeout=60)
    result = await registry.emit("e", {})
    assert (result.action, result.user_message) == ("continue", "in time")
    registry.register("e", raises(TimeoutError("socket")), name="net", on_error="deny", timeout=60)
    assert (await registry.emit("e", {})).reason == "Guard 'net' failed on 'e': TimeoutError: socket"


@pytest.mark.parametrize("on_error", ["continue", "deny"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
async def test_what_is_meant_for_the_program_comes_out(
    registry: HookRegistry, error: type[BaseException], on_error: Any
) -> None:
    """``KeyboardInterrupt`` and its like are no failure of a handler."""

    def handler(event: str, data: dict[str, Any]) -> None:
        raise error

    registry.register("e", handler, on_error=on_error)
    emitting = registry.emit("e", {})
    with pytest.raises(error):
        emitting.send(None)


@pytest.mark.parametrize("on_error", ["continue", "deny"])
async def test_cancelling_the_emitter_cancels_the_handler_and_comes_out(registry: HookRegistry, on_error: Any) -> None:
    """It is neither swallowed nor turned into an answer, and later handlers are not told."""
    steps: list[str] = []
    begun = asyncio.Event()

    async def hang(event: str, data: dict[str, Any]) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            steps.append("handler cancelled")
            raise

    registry.register("e", hang, on_error=on_error)
    registry.register("e", lambda event, data: steps.append("told"))
    task = asyncio.create_task(registry.emit("e", {}))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["handler cancelled"]


async def test_a_guard_sees_the_final_data_when_a_later_handler_changed_them(registry: HookRegistry) -> None:
    """It is asked once more, inside the same emit, and its last answer counts."""
    seen: list[dict[str, Any]] = []

    def guard(event: str, data: dict[str, Any]) -> HookResult:
        seen.append(data)
        if data["path"] == "/etc":
            return HookResult(action="deny", reason="not there")
        return HookResult()

    registry.register("tool:pre", guard, on_error="deny")
    registry.register("tool:pre", writes(path="/etc"))
    result = await registry.emit("tool:pre", {"path": "/tmp"})
    assert result == HookResult(action="deny", reason="not there")
    assert seen == [{"path": "/tmp", "timestamp": STAMP}, {"path": "/etc", "timestamp": STAMP}]


async def test_only_guards_that_judged_older_data_are_asked_again_and_only_once(registry: HookRegistry) -> None:
    """Not the handlers that are no guards, not guards after the last change, and nobody when nothing changed."""
    calls: list[str] = []

    def note(name: str) -> Any:
        return lambda event, data: calls.append(name)

    registry.register("e", note("early guard"), 1, on_error="deny")
    registry.register("e", note("handler"), 2)
    registry.register("e", writes(a=1), 3)
    registry.register("e", writes(b=1), 4)
    registry.register("e", note("late guard"), 5, on_error="deny")
    registry.register("e", lambda event, data: HookResult(action="modify"), 6)
    assert (await registry.emit("e", {})).action == "modify"
    assert calls == ["early guard", "handler", "late guard", "early guard"]


async def test_the_second_answer_of_a_guard_replaces_its_first_one_in_place(registry: HookRegistry) -> None:
    """What it said about older data is dropped; the order of handlers stays."""

    def guard(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="inject_context", context_injection=f"path is {data['path']}")

    def only_before(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="ask_user") if data["path"] == "old" else HookResult()

    registry.register("e", guard, 1, "first", on_error="deny")
    registry.register("e", only_before, 1, "second", on_error="deny")
    registry.register("e", writes(path="new"), 2)
    registry.register("e", lambda event, data: HookResult(action="inject_context", context_injection="last"), 3, "last")
    result = await registry.emit("e", {"path": "old"})
    assert result.action == "inject_context"
    assert [(item.hook_name, item.content) for item in result.context_injections] == [
        ("first", "path is new"),
        ("last", "last"),
    ]


@pytest.mark.parametrize("rubbish", ["text", {"action": "what"}])
async def test_a_guard_that_fails_the_second_time_denies(registry: HookRegistry, rubbish: Any) -> None:
    """An error or rubbish about the final data is no consent."""
    answers: list[Any] = [None, rubbish]
    registry.register("e", lambda event, data: answers.pop(0), on_error="deny")
    registry.register("e", writes(a=1))
    assert (await registry.emit("e", {})).reason == "Hook handler returned invalid response"
    assert answers == []


async def test_a_guard_may_correct_the_final_data_and_the_others_judge_that(registry: HookRegistry) -> None:
    """A redacting guard, a judging one and a later change: everybody has seen what comes out."""
    judged: list[str] = []

    def judge(event: str, data: dict[str, Any]) -> None:
        judged.append(data["text"])

    def redact(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "text": data["text"].replace("secret", "***")})

    registry.register("e", judge, 1, "judge", on_error="deny")
    registry.register("e", redact, 2, "redact", on_error="deny")
    registry.register("e", writes(text="a new secret"), 3)
    result = await registry.emit("e", {"text": "a secret"})
    assert (result.action, result.data) == ("modify", {"text": "a new ***", "timestamp": STAMP})
    assert judged == ["a secret", "a new secret", "a new ***"]


async def test_guards_that_agree_on_data_they_both_write_do_not_loop(registry: HookRegistry) -> None:
    """Writing what is there already is no change."""
    registry.register("e", writes(a=1), on_error="deny")
    registry.register("e", writes(b=1), on_error="deny")
    result = await registry.emit("e", {})
    assert (result.action, result.data) == ("modify", {"a": 1, "b": 1, "timestamp": STAMP})


async def test_guards_that_keep_changing_each_other_s_data_deny(registry: HookRegistry) -> None:
    """Data that no guard leaves alone are never let through."""
    registry.register("e", writes(text="mine"), name="one", on_error="deny")
    registry.register("e", writes(text="no, mine"), name="two", on_error="deny")
    result = await registry.emit("e", {})
    reason = "Guard 'one' and another one keep changing each other's data of 'e'"
    assert result == HookResult(action="deny", reason=reason)


async def test_data_that_cannot_be_compared_count_as_changed(registry: HookRegistry) -> None:
    """A guard that writes such values is judged by the others each time."""
    judged: list[Any] = []

    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

        def __hash__(self) -> int:
            return 0

    registry.register("e", lambda event, data: judged.append(data.get("b")), 1, on_error="deny")
    registry.register(
        "e", lambda event, data: HookResult(action="modify", data={**data, "odd": Odd()}), 2, on_error="deny"
    )
    registry.register("e", writes(b=1), 3)
    assert (await registry.emit("e", {})).action == "modify"
    assert judged == [None, 1, 1]

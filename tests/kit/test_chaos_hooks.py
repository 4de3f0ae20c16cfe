"""Chaos finds in a hook each defect it looks for, and nothing in a hook that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_core.models import HookResult
from amplifier_kit.chaos import faults_of

Broken = Callable[[str, Any], Awaitable[dict[str, str]]]


class Watch:
    """A hook that notes in the conversation which tools are called."""

    events = ("tool:pre", "watch:own")

    def __init__(self, coordinator: Any) -> None:
        self.coordinator = coordinator
        self.client: dict[str, Any] | None = {}

    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        await self.note(str(data.get("tool_name"))[:100])
        await asyncio.sleep(0)
        return HookResult(action="continue")

    async def note(self, text: str) -> Any:
        try:
            await self.coordinator.get("context").add_message({"role": "system", "content": text})
        except Exception:
            return None

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        watch = cls(coordinator)
        registered = [coordinator.hooks.register(event, watch) for event in cls.events]

        def cleanup() -> None:
            watch.client = None
            for unregister in registered:
                unregister()

        return cleanup


class SwallowsCancellation(Watch):
    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        try:
            return await super().__call__(event, data)
        except BaseException:
            return HookResult()


class CountsOnTheContext(Watch):
    async def note(self, text: str) -> Any:
        await self.coordinator.get("context").add_message({"role": "system", "content": text})


class IsImpatient(Watch):
    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        noting = asyncio.ensure_future(self.note("called"))
        for _ in range(10):
            await asyncio.sleep(0)
        return HookResult() if noting.done() else "too slow"


class TrustsTheData(Watch):
    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        return HookResult(reason=data["tool_name"] if event == "tool:pre" and not data else None)


class CountsTooDeep(Watch):
    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        self.depth(max((len(value) for value in data.values() if isinstance(value, str)), default=0))
        return HookResult()

    def depth(self, count: int) -> int:
        return self.depth(count - 1) + 1 if count else 0


class LosesItsClient(Watch):
    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.client.clear()  # pyright: ignore[reportOptionalMemberAccess]
        return HookResult()


class KnowsItselfAlready(Watch):
    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        assert not coordinator.hooks.list_handlers("tool:pre")["tool:pre"]
        return await super().mount(coordinator, config)


class SharesItsRegistrations(Watch):
    registered: list[Callable[[], None]] = []

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        cls.registered += [coordinator.hooks.register(event, cls(coordinator)) for event in cls.events]

        def cleanup() -> None:
            while cls.registered:
                cls.registered.pop()()

        return cleanup


class ChangesTheInput(Watch):
    async def __call__(self, event: str, data: dict[str, Any]) -> Any:
        given = data.get("tool_input")
        if isinstance(given, dict):
            given["path"] = "elsewhere"
        return HookResult()


DEFECTS: dict[str, tuple[type[Watch], str]] = {
    "cancelled": (SwallowsCancellation, "was cancelled at its wait 1 and returned HookResult"),
    "failing_collaborators": (CountsOnTheContext, "raised CollaboratorError: the context of this session fails"),
    "slow_collaborators": (IsImpatient, "returned 'too slow', which is no readable HookResult"),
    "malformed_input": (TrustsTheData, "the handler of 'tool:pre' with data {} raised KeyError: 'tool_name'"),
    "huge_input": (CountsTooDeep, "raised RecursionError"),
    "cleanup_during_call": (LosesItsClient, "clean-up ran at wait 1 of the handler of 'tool:pre'"),
    "mounted_twice": (KnowsItselfAlready, "mount() a second time in one session raised AssertionError"),
    "two_sessions": (SharesItsRegistrations, "the handler of 'watch:own' with data"),
    "shared_data": (ChangesTheInput, "the handler of 'tool:pre' changed tool_input inside the data it was shown"),
}


async def test_a_good_hook_keeps_every_promise(broken: Broken) -> None:
    """A hook without defects passes every fault."""
    assert await broken("hook", Watch.mount) == {}


@pytest.mark.parametrize("fault", DEFECTS)
async def test_each_defect_is_found_by_its_fault_alone(broken: Broken, fault: str) -> None:
    """A hook with one defect breaks one promise, and the message says how."""
    defective, told = DEFECTS[fault]
    found = await broken("hook", defective.mount)
    assert (list(found), told in found[fault]) == ([fault], True), found


def test_there_is_a_defect_for_every_fault() -> None:
    """No fault goes untested; that a module does not even mount is tested for all kinds at once."""
    assert {fault.name for fault in faults_of("hook")} == {"mount", *DEFECTS}


@pytest.mark.parametrize(("on_error", "expected"), [("deny", []), ("continue", ["malformed_input"])])
async def test_a_guard_may_raise_and_an_observer_may_not(broken: Broken, on_error: Any, expected: list[str]) -> None:
    """A guard's plain exception denies, as its author may want; an observer's is a loss."""

    async def check(event: str, data: dict[str, Any]) -> HookResult:
        if not isinstance(data.get("tool_name"), str):
            raise ValueError("an event without a tool")
        return HookResult()

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        return coordinator.hooks.register("tool:pre", check, on_error=on_error)

    assert list(await broken("hook", mount)) == expected


@pytest.mark.parametrize("answer", [None, {"action": "continue"}, HookResult().model_copy(update={"data": {1: 2}})])
async def test_every_readable_answer_is_fine(broken: Broken, answer: Any) -> None:
    """Nothing, a dict and a result with odd data are what registries can read."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        return coordinator.hooks.register("tool:pre", lambda event, data: answer)

    assert await broken("hook", mount) == {}


async def test_a_result_that_was_spoilt_afterwards_is_found(broken: Broken) -> None:
    """A result is judged by what it says in the end."""

    async def answer(event: str, data: dict[str, Any]) -> HookResult:
        result = HookResult()
        result.action = "maybe"  # pyright: ignore[reportAttributeAccessIssue]
        return result

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        return coordinator.hooks.register("tool:pre", answer)

    found = await broken("hook", mount)
    assert "is no readable HookResult" in found["mount"]


async def test_handlers_of_on_session_ready_count(broken: Broken) -> None:
    """A module may register when everything is mounted."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> None: ...

    async def ready(coordinator: Any) -> None:
        coordinator.hooks.register("tool:pre", lambda event, data: "nonsense")

    mount.__on_session_ready__ = ("x", ready)  # pyright: ignore[reportFunctionMemberAccess]
    assert "returned 'nonsense'" in (await broken("hook", mount))["mount"]

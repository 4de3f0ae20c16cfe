"""Chaos finds in a tool each defect it looks for, and nothing in a tool that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.models import ToolResult
from amplifier_kit.chaos import faults_of

Broken = Callable[[str, Any], Awaitable[dict[str, str]]]
TooLate = Callable[[str, Any, str], Awaitable[str]]


class Shout:
    """A tool that repeats a text in capitals, asks a model on the way, and waits a little."""

    name = "shout"
    description = "Repeats a text in capitals."
    input_schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    def __init__(self, coordinator: Any) -> None:
        self.coordinator = coordinator
        self.provider = coordinator.get("providers")["chaos"]
        self.client: str | None = "client"

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        text = input.get("text")
        if not isinstance(text, str):
            return ToolResult(success=False, error={"message": "'text' must be a string"})
        return await self.shout(text)

    async def shout(self, text: str) -> ToolResult:
        await self.ask()
        await asyncio.sleep(0)
        return ToolResult(output=text.upper())

    async def ask(self) -> Any:
        try:
            return await self.provider.complete(ChatRequest(messages=[Message(role="user", content="Hello")]))
        except Exception as error:
            return f"no model: {error}"

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        tool = cls(coordinator)
        coordinator.mount("tools", tool)
        return tool.cleanup

    async def cleanup(self) -> None:
        self.client = None


class SwallowsCancellation(Shout):
    async def shout(self, text: str) -> ToolResult:
        try:
            return await super().shout(text)
        except asyncio.CancelledError:
            return ToolResult(success=False, error={"message": "cancelled"})


class CountsOnTheModel(Shout):
    async def shout(self, text: str) -> ToolResult:
        response = await self.ask()
        return ToolResult(output=response.content[0].text)


class AwaitsNothing(Shout):
    async def ask(self) -> Any:
        self.task = asyncio.ensure_future(super().ask())


class TrustsItsInput(Shout):
    async def execute(self, input: dict[str, Any]) -> ToolResult:
        if "text" not in input:
            return ToolResult(output=input["text"])
        return await super().execute(input)


class CountsTooDeep(Shout):
    async def shout(self, text: str) -> ToolResult:
        return ToolResult(output=self.depth(len(text)))

    def depth(self, count: int) -> int:
        return self.depth(count - 1) + 1 if count else 0


class LosesItsClient(Shout):
    async def shout(self, text: str) -> ToolResult:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return ToolResult(output=self.client.upper())  # pyright: ignore[reportOptionalMemberAccess]


class KnowsItselfAlready(Shout):
    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        {"first": 1}["second" if coordinator.get("tools", "shout") else "first"]
        return await super().mount(coordinator, config)


class SharesOneClient(Shout):
    shared: set[str] = set()

    async def shout(self, text: str) -> ToolResult:
        return ToolResult(success=bool(self.shared), output="the client is closed" if not self.shared else text)

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        cls.shared.add("client")
        return await super().mount(coordinator, config)

    async def cleanup(self) -> None:
        self.shared.clear()


DEFECTS: dict[str, tuple[type[Shout], str]] = {
    "cancelled": (SwallowsCancellation, "was cancelled at its wait 1 and returned ToolResult"),
    "failing_collaborators": (CountsOnTheModel, "everybody else in the session failed: execute({'text': 'chaos'})"),
    "slow_collaborators": (AwaitsNothing, "but provider.complete() still ran"),
    "malformed_input": (TrustsItsInput, "execute({}) of tool 'shout' raised KeyError: 'text'"),
    "huge_input": (CountsTooDeep, "of tool 'shout' raised RecursionError"),
    "cleanup_during_call": (LosesItsClient, "clean-up ran at wait 1 of execute({'text': 'chaos'}) of tool 'shout'"),
    "mounted_twice": (KnowsItselfAlready, "mount() a second time in one session raised KeyError: 'second'"),
    "two_sessions": (SharesOneClient, "in the other execute({'text': 'chaos'}) of tool 'shout' no longer works"),
}


async def test_a_good_tool_keeps_every_promise(broken: Broken) -> None:
    """A tool without defects passes every fault."""
    assert await broken("tool", Shout.mount) == {}


@pytest.mark.parametrize("fault", DEFECTS)
async def test_each_defect_is_found_by_its_fault_alone(broken: Broken, fault: str) -> None:
    """A tool with one defect breaks one promise, and the message says how."""
    defective, told = DEFECTS[fault]
    found = await broken("tool", defective.mount)
    assert (list(found), told in found[fault]) == ([fault], True), found


def test_there_is_a_defect_for_every_fault() -> None:
    """No fault goes untested; that a module does not even mount is tested for all kinds at once."""
    assert {fault.name for fault in faults_of("tool")} == {"mount", *DEFECTS}


@pytest.mark.slow
async def test_a_lock_that_a_cancelled_call_keeps_is_found(too_late: TooLate) -> None:
    """After a cancelled call the next one must work."""

    class KeepsTheLock(Shout):
        def __init__(self, coordinator: Any) -> None:
            super().__init__(coordinator)
            self.lock = asyncio.Lock()

        async def shout(self, text: str) -> ToolResult:
            await self.lock.acquire()
            await asyncio.sleep(0)
            self.lock.release()
            return ToolResult(output=text)

    told = await too_late("tool", KeepsTheLock.mount, "cancelled")
    assert told.endswith("cancelled at its wait 1; then execute({'text': 'chaos'}) of tool 'shout' did not end")


@pytest.mark.slow
async def test_a_call_that_does_not_end_is_found_and_ended(too_late: TooLate) -> None:
    """Work on huge input that takes too long is a finding, and is stopped."""

    class TakesForEver(Shout):
        async def shout(self, text: str) -> ToolResult:
            await asyncio.sleep(60 if len(text) > 1_000 else 0)
            return ToolResult(output=text)

    before = asyncio.all_tasks()
    assert (await too_late("tool", TakesForEver.mount, "huge_input")).endswith("of tool 'shout' did not end")
    assert asyncio.all_tasks() == before


async def test_another_error_instead_of_the_cancellation_is_found(broken: Broken) -> None:
    """A cancelled call must not end with an error of its own."""

    class Renames(Shout):
        async def shout(self, text: str) -> ToolResult:
            try:
                return await super().shout(text)
            except BaseException as error:
                raise RuntimeError("failed") from error

    found = await broken("tool", Renames.mount)
    assert "was cancelled at its wait 1 and raised RuntimeError: failed" in found["cancelled"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("HELLO", "returned 'HELLO', expected a ToolResult"),
        (ToolResult(output={"key": object()}), "returned a ToolResult that cannot be told to a model: TypeError"),
    ],
)
async def test_an_answer_that_is_no_tool_result_is_found(broken: Broken, answer: Any, told: str) -> None:
    """What a loop could not use is a finding even when nothing is wrong otherwise; then nothing else is tried."""

    class Odd(Shout):
        async def execute(self, input: dict[str, Any]) -> Any:
            return answer

    found = await broken("tool", Odd.mount)
    assert (list(found), told in found["mount"]) == (["mount"], True)


async def test_a_plain_exception_is_an_answer(broken: Broken) -> None:
    """A tool may refuse what it is given with an exception it decided on, also one derived from an accident."""

    class NoSuchTextError(KeyError):
        """This author's own."""

    class Refuses(Shout):
        async def execute(self, input: dict[str, Any]) -> ToolResult:
            if not isinstance(input.get("text"), str):
                raise NoSuchTextError("text")
            return await super().execute(input)

    assert await broken("tool", Refuses.mount) == {}


async def test_a_broken_schema_does_not_stop_chaos(broken: Broken) -> None:
    """A tool whose schema cannot be read gets input that fits no schema."""

    class NoSchema(Shout):
        @property
        def input_schema(self) -> Any:
            raise RuntimeError("no schema today")

    assert await broken("tool", NoSchema.mount) == {}

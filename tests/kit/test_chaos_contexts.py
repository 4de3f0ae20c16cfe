"""Chaos finds in a context each defect it looks for, and nothing in a context that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_kit.chaos import faults_of

Broken = Callable[[str, Any], Awaitable[dict[str, str]]]


class Memory:
    """A context that keeps everything, shows the last turns, and waits a little here and there."""

    def __init__(self, coordinator: Any) -> None:
        self.coordinator = coordinator
        self.messages: list[dict[str, Any]] = []
        self.store: set[str] | None = set()

    async def add_message(self, message: dict[str, Any]) -> None:
        if not isinstance(message.get("role"), str):
            raise ValueError("a message needs a role")
        await asyncio.sleep(0)
        self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> Any:
        await asyncio.sleep(0)
        return self.view(self.budget(token_budget, provider))

    async def get_messages(self) -> Any:
        return list(self.messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages = []

    def budget(self, token_budget: int | None, provider: Any) -> int:
        try:
            return provider.get_info().defaults["context_window"] if token_budget is None else token_budget
        except Exception:
            return 100_000

    def view(self, budget: int) -> Any:
        if len(str(self.messages)) // 4 <= budget:
            return list(self.messages)
        prompts = [index for index, message in enumerate(self.messages) if message["role"] == "user"]
        return self.messages[prompts[-1] :] if prompts else []

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        memory = cls(coordinator)
        coordinator.mount("context", memory)
        return memory.cleanup

    async def cleanup(self) -> None:
        self.store = None


class SwallowsCancellation(Memory):
    async def add_message(self, message: dict[str, Any]) -> None:
        try:
            await super().add_message(message)
        except asyncio.CancelledError:
            return


class CountsOnTheProvider(Memory):
    def budget(self, token_budget: int | None, provider: Any) -> int:
        return super().budget(token_budget, provider) if provider is None else len(provider.get_info().defaults)


class IsImpatient(Memory):
    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> Any:
        listing = asyncio.ensure_future(self.coordinator.get("providers")["chaos"].list_models())
        for _ in range(10):
            await asyncio.sleep(0)
        if not listing.done():
            return None
        listing.exception()
        return self.view(self.budget(token_budget, provider))


class TrustsTheMessage(Memory):
    async def add_message(self, message: dict[str, Any]) -> None:
        for call in message.get("tool_calls") or ():
            call["id"]
        await super().add_message(message)


class CountsTooDeep(Memory):
    def view(self, budget: int) -> Any:
        return super().view(budget) if len(self.messages) < 1_000 else self.depth(len(self.messages))

    def depth(self, count: int) -> int:
        return self.depth(count - 1) + 1 if count else 0


class LosesItsStore(Memory):
    async def add_message(self, message: dict[str, Any]) -> None:
        await super().add_message(message)
        await asyncio.sleep(0)
        self.store.add("message")  # pyright: ignore[reportOptionalMemberAccess]


class KnowsItselfAlready(Memory):
    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        {None: "first"}[coordinator.get("context")]
        return await super().mount(coordinator, config)


class SharesItsMessages(Memory):
    shared: list[dict[str, Any]] = []

    def __init__(self, coordinator: Any) -> None:
        super().__init__(coordinator)
        self.shared.clear()
        self.messages = self.shared


class ReadsThenWrites(Memory):
    async def add_message(self, message: dict[str, Any]) -> None:
        before = list(self.messages)
        await super().add_message(message)
        self.messages = [*before, message]


class PartsCallsFromResults(Memory):
    def view(self, budget: int) -> Any:
        return self.messages[-3:] if budget < 100_000 else list(self.messages)


class ForgetsWhatItLeavesOut(Memory):
    def view(self, budget: int) -> Any:
        self.messages = super().view(budget)
        return list(self.messages)


class ShufflesMessages(Memory):
    def view(self, budget: int) -> Any:
        view = super().view(budget)
        return [*view[-1:], *view[:-1]]


class LendsItsList(Memory):
    def view(self, budget: int) -> Any:
        view = super().view(budget)
        return self.messages if len(view) == len(self.messages) else view


DEFECTS: dict[str, tuple[type[Memory], str]] = {
    "cancelled": (SwallowsCancellation, "was cancelled at its wait 1 and returned NoneType"),
    "failing_collaborators": (CountsOnTheProvider, "get_messages_for_request(provider) raised CollaboratorError"),
    "slow_collaborators": (IsImpatient, "get_messages_for_request(provider) returned None, expected a list"),
    "malformed_input": (TrustsTheMessage, "'tool_calls': [None, {}]}) raised TypeError"),
    "huge_input": (CountsTooDeep, "get_messages_for_request(token_budget) raised RecursionError"),
    "cleanup_during_call": (LosesItsStore, "clean-up ran at wait 1 of add_message("),
    "mounted_twice": (KnowsItselfAlready, "mount() a second time in one session raised KeyError"),
    "two_sessions": (SharesItsMessages, "a message added in one session is in the other's messages"),
    "concurrent_messages": (ReadsThenWrites, "get_messages() after 50 at once lacks"),
    "small_budget": (PartsCallsFromResults, "of 101 messages gives result of"),
    "borrowed_list": (LendsItsList, "was emptied by its caller, and get_messages() lacks 1 of 1 messages"),
}


async def test_a_good_context_keeps_every_promise(broken: Broken) -> None:
    """A context without defects passes every fault."""
    assert await broken("context", Memory.mount) == {}


@pytest.mark.parametrize("fault", DEFECTS)
async def test_each_defect_is_found_by_its_fault_alone(broken: Broken, fault: str) -> None:
    """A context with one defect breaks one promise, and the message says how."""
    defective, told = DEFECTS[fault]
    found = await broken("context", defective.mount)
    assert (list(found), told in found[fault]) == ([fault], True), found


def test_there_is_a_defect_for_every_fault() -> None:
    """No fault goes untested; that a module does not even mount is tested for all kinds at once."""
    assert {fault.name for fault in faults_of("context")} == {"mount", *DEFECTS}


@pytest.mark.parametrize(
    ("defective", "told"),
    [
        (ForgetsWhatItLeavesOut, "get_messages() after all that lacks"),
        (ShufflesMessages, "gives messages in another order than they were added"),
    ],
)
async def test_what_compaction_must_not_do_is_found(broken: Broken, defective: type[Memory], told: str) -> None:
    """Compaction neither forgets for good nor changes the order."""
    assert told in (await broken("context", defective.mount))["small_budget"]

"""Chaos finds in a provider each defect it looks for, and nothing in a provider that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_core.llm_errors import InvalidRequestError, ProviderUnavailableError
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ToolCall
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_kit.chaos import faults_of

Broken = Callable[[str, Any], Awaitable[dict[str, str]]]


class Echo:
    """A provider that repeats the last message and notes that in the conversation."""

    name = "echo"

    def __init__(self, coordinator: Any) -> None:
        self.coordinator = coordinator
        self.client: str | None = "client"

    def get_info(self) -> Any:
        return ProviderInfo(id=self.name, display_name="Echo")

    async def list_models(self) -> Any:
        return [ModelInfo(id="echo-1", display_name="Echo", context_window=1, max_output_tokens=1)]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        if not request.messages:
            raise InvalidRequestError("a request needs a message")
        await self.note("asked")
        await asyncio.sleep(0)
        return ChatResponse(content=[TextBlock(text=self.text_of(request))])

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or ())

    def text_of(self, request: ChatRequest) -> str:
        return str(request.messages[-1].content)

    async def note(self, text: str) -> Any:
        try:
            return await self.coordinator.get("context").add_message({"role": "system", "content": text})
        except Exception as error:
            raise ProviderUnavailableError(f"nowhere to write: {error}") from error

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        provider = cls(coordinator)
        coordinator.mount("providers", provider)
        return provider.cleanup

    async def cleanup(self) -> None:
        self.client = None


class SwallowsCancellation(Echo):
    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        try:
            return await super().complete(request)
        except asyncio.CancelledError:
            return ChatResponse(content=[])


class CountsOnTheContext(Echo):
    async def list_models(self) -> Any:
        try:
            messages = await self.coordinator.get("context").get_messages()
        except Exception:
            messages = None
        return [message["role"] for message in messages]  # pyright: ignore[reportOptionalIterable]


class IsImpatient(Echo):
    async def list_models(self) -> Any:
        noting = asyncio.ensure_future(self.note("listed"))
        for _ in range(10):
            await asyncio.sleep(0)
        if not noting.done():
            return None
        noting.exception()
        return []


class TrustsTheRequest(Echo):
    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        return ChatResponse(content=[TextBlock(text=self.text_of(request))])


class CountsTooDeep(Echo):
    def text_of(self, request: ChatRequest) -> str:
        return str(self.depth(sum(len(str(message.content)) for message in request.messages)))

    def depth(self, count: int) -> int:
        return self.depth(count - 1) + 1 if count > 500 else 0


class LosesItsClient(Echo):
    def text_of(self, request: ChatRequest) -> str:
        return self.client.upper()  # pyright: ignore[reportOptionalMemberAccess]


class KnowsItselfAlready(Echo):
    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        [None][len(coordinator.get("providers")) - 1]
        return await super().mount(coordinator, config)


class SharesOneClient(Echo):
    shared: set[str] = set()

    async def list_models(self) -> Any:
        if not self.shared:
            raise ProviderUnavailableError("the client is closed")
        return []

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        cls.shared.add("client")
        return await super().mount(coordinator, config)

    async def cleanup(self) -> None:
        self.shared.clear()


DEFECTS: dict[str, tuple[type[Echo], str]] = {
    "cancelled": (SwallowsCancellation, "was cancelled at its wait 1 and returned ChatResponse"),
    "failing_collaborators": (CountsOnTheContext, "list_models() of provider 'echo' raised TypeError"),
    "slow_collaborators": (IsImpatient, "list_models() of provider 'echo' returned None, expected a list"),
    "malformed_input": (TrustsTheRequest, "complete() of provider 'echo' with no messages raised IndexError"),
    "huge_input": (CountsTooDeep, "complete() of provider 'echo' with a message of a megabyte raised RecursionError"),
    "cleanup_during_call": (LosesItsClient, "clean-up ran at wait 1 of complete() of provider 'echo' with a plain"),
    "mounted_twice": (KnowsItselfAlready, "mount() a second time in one session raised IndexError"),
    "two_sessions": (SharesOneClient, "in the other list_models() of provider 'echo' no longer works"),
}


async def test_a_good_provider_keeps_every_promise(broken: Broken) -> None:
    """A provider without defects passes every fault."""
    assert await broken("provider", Echo.mount) == {}


@pytest.mark.parametrize("fault", DEFECTS)
async def test_each_defect_is_found_by_its_fault_alone(broken: Broken, fault: str) -> None:
    """A provider with one defect breaks one promise, and the message says how."""
    defective, told = DEFECTS[fault]
    found = await broken("provider", defective.mount)
    assert (list(found), told in found[fault]) == ([fault], True), found


def test_there_is_a_defect_for_every_fault() -> None:
    """No fault goes untested; that a module does not even mount is tested for all kinds at once."""
    assert {fault.name for fault in faults_of("provider")} == {"mount", *DEFECTS}


async def test_tool_calls_that_cannot_be_parsed_are_found(broken: Broken) -> None:
    """A response that another model gave must not break a provider."""

    class WantsCalls(Echo):
        def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
            calls = [response.tool_calls[0]] if response.tool_calls is not None else []  # [] has no first
            return [*calls]

    found = await broken("provider", WantsCalls.mount)
    assert list(found) == ["malformed_input"]
    assert "parse_tool_calls() of provider 'echo' with an empty list of calls raised" in found["malformed_input"]


async def test_an_answer_of_the_wrong_type_is_found(broken: Broken) -> None:
    """Each method must give what its contract says."""

    class Plain(Echo):
        def get_info(self) -> Any:
            return {"id": "echo"}

    found = await broken("provider", Plain.mount)
    assert "get_info() of provider 'echo' returned {'id': 'echo'}, expected a ProviderInfo" in found["mount"]

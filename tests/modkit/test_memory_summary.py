"""Summaries of what is left out: what the model is asked, and what becomes of its answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock
from amplifier_core.testing import MockProvider, TestCoordinator
from amplifier_modkit.memory.context import CompactingContext, ContextConfig
from amplifier_modkit.memory.summary import summarize

HEAD = "Summary of the earlier conversation, which is left out here:\n\n"
MESSAGES = [
    {"role": "user", "content": "Where is the bug?"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "I look."}, {"type": "tool_call", "id": "a", "name": "grep"}],
    },
    {"role": "tool", "tool_call_id": "a", "content": "x" * 5_000},
]


class Summarist:
    """A provider that writes numbered summaries, or fails."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if self.failure is not None:
            raise self.failure
        return ChatResponse(content=[TextBlock(text=f" summary {len(self.requests)} ")])


async def test_the_provider_is_asked_once_with_all_that_is_left_out() -> None:
    """The request is not streamed, is marked, and has the earlier summary and every message in it."""
    provider = Summarist()
    assert await summarize(provider, MESSAGES, "what was", 700, 10_000) == f"{HEAD}summary 1"
    (request,) = provider.requests
    assert (request.max_output_tokens, request.metadata) == (700, {"stream": False, "purpose": "context_summary"})
    assert [message.role for message in request.messages] == ["system", "user"]
    told = request.messages[1].content
    assert isinstance(told, str)
    assert told.startswith("what was\n\nuser: Where is the bug?\n\nassistant (calls grep): I look.\n\ntool: xxx")
    assert len(told) < 1_200


async def test_the_request_itself_fits_into_the_budget() -> None:
    """However much is left out, the transcript is clipped."""
    provider = Summarist()
    await summarize(provider, MESSAGES * 100, "", 700, 500)
    assert len(str(provider.requests[0].messages[1].content)) <= 1_000


@pytest.mark.parametrize(
    ("provider", "told"),
    [(None, "no provider is mounted"), (MockProvider([""]), "answered no text")],
)
async def test_no_text_is_an_error(provider: Any, told: str) -> None:
    """Without a provider, or with an empty answer, there is no summary."""
    with pytest.raises(ValueError, match=told):
        await summarize(provider, MESSAGES, "", 700, 10_000)


def context_with(provider: Any, **settings: Any) -> CompactingContext:
    """A context that summarises by the session's first provider."""
    coordinator = TestCoordinator()
    if provider is not None:
        coordinator.mount("providers", provider, name="main")
    config = ContextConfig.model_validate({"strategy": "summarize", "max_tokens": 2_000, **settings})
    context = CompactingContext(config.policy(), coordinator=coordinator)
    context.connect("test")
    return context


async def talk(context: CompactingContext, turns: int) -> list[str]:
    """Fills a context and gives the texts of its view."""
    for number in range(turns):
        await context.add_message({"role": "user", "content": f"question {number}"})
        await context.add_message({"role": "assistant", "content": f"answer {number} " * 80})
    return [str(message["content"]) for message in await context.get_messages_for_request()]


async def test_a_summary_takes_the_place_of_what_is_dropped() -> None:
    """It stands where the dropped messages stood, and stays the same until the next compaction."""
    provider = Summarist()
    context = context_with(provider)
    view = await talk(context, 12)
    summary = f"<system-reminder>\n{HEAD}summary 1\n</system-reminder>"
    assert view[:3] == ["question 0", summary, "question 1"]
    assert (await talk(context, 1))[: len(view)] == view
    assert len(provider.requests) == 1


async def test_summaries_roll_forward() -> None:
    """The next one knows what the last one said, and takes its place."""
    provider = Summarist()
    context = context_with(provider)
    await talk(context, 12)
    view = await talk(context, 12)
    assert len(provider.requests) == 2
    assert str(provider.requests[1].messages[1].content).startswith(f"{HEAD}summary 1\n\nassistant: answer ")
    assert sum("summary 1" in text for text in view) == 0
    assert sum("summary 2" in text for text in view) == 1


@pytest.mark.parametrize("provider", [None, Summarist(ConnectionError("gone")), MockProvider([""])])
async def test_without_a_summary_the_view_is_shortened_all_the_same(
    provider: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A provider that fails costs the summary, not the request; the log tells."""
    context = context_with(provider)
    view = await talk(context, 12)
    assert len(view) < 24
    assert not any(HEAD in text for text in view)
    (told,) = caplog.messages
    assert " messages are left out without a summary: " in told


async def test_a_cancelled_summary_changes_nothing() -> None:
    """The cancellation passes through, and the next request makes the summary."""
    provider = Summarist(asyncio.CancelledError())
    context = context_with(provider)
    with pytest.raises(asyncio.CancelledError):
        await talk(context, 12)
    provider.failure = None
    view = await talk(context, 0)
    assert view[1] == f"<system-reminder>\n{HEAD}summary 2\n</system-reminder>"


async def test_the_provider_of_the_request_writes_the_summary() -> None:
    """Where the loop names its provider, the first mounted one is not asked."""
    first, named = Summarist(), Summarist()
    context = context_with(first)
    for number in range(12):
        await context.add_message({"role": "user", "content": f"question {number}"})
        await context.add_message({"role": "assistant", "content": f"answer {number} " * 80})
    await context.get_messages_for_request(token_budget=2_000, provider=named)
    assert (len(first.requests), len(named.requests)) == (0, 1)


async def test_cutting_old_results_needs_no_summary() -> None:
    """Where nothing is dropped, nothing is summarised."""
    provider = Summarist()
    context = context_with(provider, protected_tool_results=1, target_usage=0.7, summary_max_tokens=100)
    for number in range(6):
        call = {"id": f"c{number}", "name": "bash", "arguments": {}}
        await context.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
        await context.add_message({"role": "tool", "tool_call_id": f"c{number}", "content": "r" * 1_400})
    assert len(await context.get_messages_for_request()) == 13
    assert provider.requests == []

"""A summary of messages that are left out of the view, written by the session's own model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from amplifier_core.message_models import ChatRequest
from amplifier_core.message_models import Message as ChatMessage
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.memory.shapes import all_text
from amplifier_modkit.messages import Message, calls_in, plain, text_of

PURPOSE = "context_summary"

_INSTRUCTION = (
    "You write the memory of an assistant whose conversation has grown too long. Summarise the part below so that the "
    "work can go on without it: what the user wants and has decided, what was done and found out, which files, names, "
    "commands and figures matter, what is still open. Keep exact names and values. Answer with the summary alone."
)
# What a tool said is seldom needed word by word; what people said often is.
_RESULT_CHARS = 1_000
_MESSAGE_CHARS = 4_000
# The request for a summary must itself fit into the model's window, whatever the script of the text.
_CHARS_PER_BUDGET_TOKEN = 2


async def summarize(provider: Any, messages: Sequence[Message], previous: str, max_tokens: int, budget: int) -> str:
    """The summary of ``messages``, with what the ``previous`` one knew; one call of the provider.

    Raises what the provider raises, and ``ValueError`` without a provider or when it answers no text.
    """
    if provider is None:
        raise ValueError("no provider is mounted that could write a summary")
    told = clip_chars("\n\n".join(_transcript(messages, previous)), max(1, budget * _CHARS_PER_BUDGET_TOKEN))
    request = ChatRequest(
        messages=[ChatMessage(role="system", content=_INSTRUCTION), ChatMessage(role="user", content=told)],
        max_output_tokens=max_tokens,
        metadata={"stream": False, "purpose": PURPOSE},
    )
    response = await provider.complete(request)
    text = text_of(plain(getattr(response, "content", None))).strip()
    if not text:
        raise ValueError("the provider answered no text when asked for a summary")
    return f"Summary of the earlier conversation, which is left out here:\n\n{text}"


def _transcript(messages: Sequence[Message], previous: str) -> Iterator[str]:
    if previous:
        yield previous
    for message in messages:
        limit = _RESULT_CHARS if message.get("role") == "tool" else _MESSAGE_CHARS
        calls = ", ".join(call.name for call in calls_in(message))
        called = f" (calls {calls})" if calls else ""
        yield f"{message.get('role')}{called}: {clip_chars(all_text(message.get('content')), limit)}"

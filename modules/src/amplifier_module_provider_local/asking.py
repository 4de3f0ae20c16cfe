"""Asks an engine from a coroutine: the work is done in a thread, the text comes as it is made, giving up ends both."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amplifier_core.llm_errors import ContextLengthError, InvalidRequestError, LLMError, ProviderUnavailableError
from amplifier_module_provider_local.engine import Engine

OnText = Callable[[str], Awaitable[None]]

# With the progress of the prompt told, there is a moment to give up even before the first word.
_STREAMED: Mapping[str, Any] = {"stream": True, "return_progress": True, "stream_options": {"include_usage": True}}


@dataclass(slots=True)
class Generated:
    """What the engine made of one request; ``log_probs`` are those of its tokens, if they were asked for."""

    text: str = ""
    finish: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    log_probs: list[float] = field(default_factory=list[float])


async def ask(engine: Engine, body: Mapping[str, Any], on_text: OnText | None = None) -> Generated:
    """The whole answer to ``body``; ``on_text`` gets each piece of text as it comes.

    Raises ``ContextLengthError`` for what is too long, and another ``LLMError`` for what the engine refuses.
    """
    # What ends the queue is ``None``.
    chunks, job = _start(engine, {**body, **_STREAMED})
    generated = Generated()
    try:
        while (chunk := await chunks.get()) is not None:
            piece = _add(generated, chunk)
            if piece and on_text is not None:
                await on_text(piece)
    finally:
        job.is_given_up.set()
    if job.error is not None:
        raise InvalidRequestError(f"The engine does not take the request: {job.error}") from job.error
    return generated


class _Job:
    """What the thread of one request and its coroutine know of each other."""

    def __init__(self) -> None:
        self.is_given_up = threading.Event()
        self.error: Exception | None = None


def _start(engine: Engine, body: dict[str, Any]) -> tuple[asyncio.Queue[dict[str, Any] | None], _Job]:
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    job = _Job()

    def hand_over(chunk: dict[str, Any] | None) -> bool:
        if job.is_given_up.is_set():
            return True
        try:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)
        except RuntimeError:  # the loop was closed meanwhile
            return True
        return False

    def work() -> None:
        try:
            engine.chat(body, hand_over)
        except Exception as error:
            job.error = error
        hand_over(None)

    # A thread of its own: those of the loop's pool may all be taken by requests that wait for the engine. It is no
    # daemon, since a thread inside the library must not be cut off by the end of the process.
    threading.Thread(target=work, name="amplifier-model-call").start()
    return chunks, job


def _add(generated: Generated, chunk: dict[str, Any]) -> str:
    """Notes what ``chunk`` says; gives the text it brings."""
    if "error" in chunk:
        raise _refusal(chunk["error"])
    usage: Any = chunk.get("usage")
    if usage:
        details: Any = usage.get("prompt_tokens_details")
        generated.prompt_tokens = usage["prompt_tokens"]
        generated.output_tokens = usage["completion_tokens"]
        generated.cached_tokens = details["cached_tokens"] if details else 0
    choices: Any = chunk.get("choices")
    piece = ""
    for choice in choices or ():
        piece += choice["delta"].get("content") or ""
        generated.finish = choice["finish_reason"] or generated.finish
        tokens: Any = choice["logprobs"]["content"] if choice.get("logprobs") else ()
        generated.log_probs += [token["logprob"] for token in tokens]
    generated.text += piece
    return piece


def _refusal(error: Mapping[str, Any]) -> LLMError:
    message, code = str(error.get("message")), error.get("code")
    if error.get("type") == "exceed_context_size_error":
        return ContextLengthError(f"{message}; 'context_window' of provider-local sets the size", status_code=code)
    if isinstance(code, int) and code < 500:
        return InvalidRequestError(message, status_code=code)
    return ProviderUnavailableError(message, status_code=code, retryable=False)

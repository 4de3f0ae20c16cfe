"""One model call: the request, hooks' say in it, retries, a harder compaction, and the next provider where allowed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

from amplifier_core.events import (
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RESOLVE,
    PROVIDER_RESPONSE,
    PROVIDER_RETRY,
)
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_core.llm_errors import (
    AbortError,
    ContextLengthError,
    InvalidToolCallError,
    LLMError,
    LLMTimeoutError,
    QuotaExceededError,
)
from amplifier_core.message_models import ChatRequest, ChatResponse, ResponseFormatJsonSchema
from amplifier_core.models import ContextInjection
from amplifier_core.utils.retry import RetryConfig, retry_with_backoff
from amplifier_modkit.messages import Message
from amplifier_modkit.turns.gate import DeniedError, HookGate
from amplifier_modkit.turns.providers import Candidate, model_of
from amplifier_modkit.turns.replies import Reply, read_reply
from amplifier_modkit.turns.requests import RequestMessages, ToolOffer, reminder, with_injections
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_modkit.turns.stopping import is_being_cancelled

Complete = Callable[[Provider, ChatRequest, dict[str, Any]], Awaitable[ChatResponse]]
"""How a provider is asked; a loop that streams has a way of its own."""

# Rough on purpose: after a refusal by length, half of what was sent is a budget that a second attempt keeps.
_CHARS_PER_TOKEN = 4
_MOST_UNREADABLE_CALLS = 2


async def complete(provider: Provider, request: ChatRequest, extras: dict[str, Any]) -> ChatResponse:
    """Asks for the whole answer at once."""
    return await provider.complete(request, **extras)


@dataclass(frozen=True, slots=True)
class Asking:
    """What one model call is made of, beside the conversation; it stays the same for every attempt."""

    iteration: int
    reminders: tuple[Message, ...]
    injections: tuple[ContextInjection, ...]
    offers_tools: bool
    token_budget: int | None = None


class ModelStep:
    """Makes the model calls of one turn; remembers which provider answered last, and stays with it."""

    def __init__(
        self,
        gate: HookGate,
        context: ContextManager,
        tools: Mapping[str, Tool],
        candidates: Sequence[Candidate],
        settings: LoopSettings,
        new_id: Callable[[], str],
        complete: Complete = complete,
    ) -> None:
        self._gate = gate
        self._context = context
        self._offer = ToolOffer(tools)
        self._candidates = list(candidates)
        self._settings = settings
        self._new_id = new_id
        self._complete = complete
        self._retries = RetryConfig(settings.max_retries, settings.min_retry_delay, settings.max_retry_delay)
        self._models: dict[str, str | None] = {}
        self._messages = RequestMessages()
        self._resolved: Candidate | None = None
        self.note_usage: Callable[[Any], None] = lambda usage: None
        """Called with what each answer took, whatever becomes of the answer."""
        self.has_asked = False
        """Whether the latest call got as far as a provider."""

    async def ask(self, iteration: int, reminders: Sequence[Message] = (), *, offers_tools: bool = True) -> Reply:
        """The model's reply to the conversation; ``reminders`` are said in this request only.

        Raises the provider's error when there is no answer, and ``DeniedError`` when a hook refuses the call.
        """
        self.has_asked = False
        asking = Asking(iteration, tuple(reminders), tuple(self._gate.take_injections()), offers_tools)
        while True:
            candidate = self._candidates[0]
            try:
                await self._tell_choice(candidate)
                return await self._ask_or_compact(candidate, asking)
            except Exception as error:
                if not self._may_fall_back(error):
                    raise
                self._candidates.pop(0)

    async def _ask_or_compact(self, candidate: Candidate, asking: Asking) -> Reply:
        unreadable_calls = 0
        while True:
            request = await self._request(candidate, asking)
            try:
                return await self._answer(candidate, asking, request)
            except ContextLengthError as error:
                if asking.token_budget is not None:
                    await self._tell_failure(candidate, request, error)
                    raise
                asking = replace(asking, token_budget=_half_of(request))
                await self._tell_retry(candidate, request, 1, 1, 0.0, error)
            except InvalidToolCallError as error:
                unreadable_calls += 1
                if unreadable_calls > _MOST_UNREADABLE_CALLS:
                    await self._tell_failure(candidate, request, error)
                    raise
                told = reminder(f"Your tool call could not be read: {error}. Make it again.")
                asking = replace(asking, reminders=(*asking.reminders, told))
                await self._tell_retry(candidate, request, unreadable_calls, _MOST_UNREADABLE_CALLS, 0.0, error)
            except DeniedError:
                raise
            except Exception as error:
                await self._tell_failure(candidate, request, error)
                raise

    async def _request(self, candidate: Candidate, asking: Asking) -> ChatRequest:
        settings = self._settings
        budget = {} if asking.token_budget is None else {"token_budget": asking.token_budget}
        messages = await self._context.get_messages_for_request(provider=candidate.provider, **budget)
        model = settings.model or self._model_of(candidate)
        self._gate.take_stored()
        facts, is_modified = await self._gate.judge(
            PROVIDER_REQUEST,
            {"provider": candidate.name, "messages": messages, "model": model, "iteration": asking.iteration},
        )
        if is_modified:
            _require_messages(facts["messages"])
        # What hooks have just put into the conversation stands before the answer, so the model must see it, too.
        added = with_injections(facts["messages"], self._gate.take_stored())
        injections = (*asking.injections, *self._gate.take_injections())
        sent = [*with_injections(added, injections), *asking.reminders]
        chosen = facts["model"] if facts["model"] != model else settings.model
        return ChatRequest(
            messages=self._messages.to_models(sent, is_changed=is_modified),
            tools=(self._offer.specs() or None) if asking.offers_tools else None,
            model=chosen,
            reasoning_effort=settings.reasoning_effort,
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
            timeout=settings.timeout,
            response_format=_response_format(settings),
        )

    async def _answer(self, candidate: Candidate, asking: Asking, request: ChatRequest) -> Reply:
        started = time.perf_counter()
        self.has_asked = True
        response = await self._with_retries(candidate, request)
        _require_response(candidate, response)
        self.note_usage(response.usage)
        reply = read_reply(candidate.provider, response, self._new_id)
        facts, is_modified = await self._gate.judge(
            PROVIDER_RESPONSE,
            {
                "provider": candidate.name,
                "response": response,
                "usage": response.usage,
                "tool_calls": bool(reply.calls),
                "iteration": asking.iteration,
                "duration_ms": round((time.perf_counter() - started) * 1000, 3),
            },
        )
        if is_modified:
            if not hasattr(facts["response"], "content"):
                raise DeniedError("a hook replaced the model's answer by something that is none")
            return read_reply(candidate.provider, facts["response"], self._new_id)
        return reply

    async def _with_retries(self, candidate: Candidate, request: ChatRequest) -> ChatResponse:
        settings = self._settings
        extras = {"extended_thinking": True} if settings.extended_thinking else {}

        async def attempt() -> ChatResponse:
            try:
                async with _time_limit(candidate, settings.timeout):
                    return await self._complete(candidate.provider, request, extras)
            except LLMError as error:
                # The provider has tried again by itself, and more of the same would multiply the attempts; or it asks
                # for a longer wait than the plan allows.
                if error.attempts > 1 or (error.retry_after or 0) > settings.max_retry_delay:
                    raise _GivenUpError(error) from error
                raise
            except asyncio.CancelledError as error:
                if is_being_cancelled():
                    raise
                raise AbortError(
                    f"Provider '{candidate.name}' cancelled its own call", provider=candidate.name
                ) from error

        async def tell(number: int, delay: float, error: LLMError) -> None:
            await self._tell_retry(candidate, request, number, settings.max_retries, delay, error)

        try:
            return await retry_with_backoff(attempt, self._retries, on_retry=tell)
        except _GivenUpError as given_up:
            raise given_up.error from given_up.error.__cause__

    def _model_of(self, candidate: Candidate) -> str | None:
        if candidate.name not in self._models:
            self._models[candidate.name] = model_of(candidate.provider)
        return self._models[candidate.name]

    def _may_fall_back(self, error: Exception) -> bool:
        is_passing = isinstance(error, LLMError) and (error.retryable or isinstance(error, QuotaExceededError))
        return is_passing and self._settings.provider_fallback and len(self._candidates) > 1

    async def _tell_choice(self, candidate: Candidate) -> None:
        if candidate is self._resolved:
            return
        failed, self._resolved = self._resolved, candidate
        names = [each.name for each in self._candidates]
        reason = candidate.reason if failed is None else f"'{failed.name}' failed"
        await self._gate.permit(PROVIDER_RESOLVE, {"provider": candidate.name, "candidates": names, "reason": reason})

    async def _tell_failure(self, candidate: Candidate, request: ChatRequest, error: Exception) -> None:
        details = {"type": type(error).__name__, "msg": str(error)}
        facts = {"provider": candidate.name, "model": request.model, "error": details}
        kind = {"status_code": error.status_code, "retryable": error.retryable} if isinstance(error, LLMError) else {}
        await self._gate.announce(PROVIDER_ERROR, {**facts, **kind})

    async def _tell_retry(
        self, candidate: Candidate, request: ChatRequest, attempt: int, most: int, delay: float, error: LLMError
    ) -> None:
        facts = {"provider": candidate.name, "model": request.model, "attempt": attempt, "max_retries": most}
        told = {"error_type": type(error).__name__, "error_message": str(error)}
        await self._gate.announce(PROVIDER_RETRY, {**facts, "delay": delay, "retry_after": error.retry_after, **told})


def _half_of(request: ChatRequest) -> int:
    return max(1, sum(len(str(message.content)) for message in request.messages) // _CHARS_PER_TOKEN // 2)


def _response_format(settings: LoopSettings) -> ResponseFormatJsonSchema | None:
    schema = settings.output_schema
    return None if schema is None else ResponseFormatJsonSchema(json_schema=schema, strict=True)


def _time_limit(candidate: Candidate, limit_s: float | None) -> Any:
    return nullcontext() if limit_s is None else _Limit(candidate.name, limit_s)


class _GivenUpError(Exception):
    """Carries an error past the retries: nobody tries again."""

    def __init__(self, error: LLMError) -> None:
        super().__init__(str(error))
        self.error = error


class _Limit:
    """A time limit that ends in the typed error."""

    def __init__(self, provider: str, limit_s: float) -> None:
        self._told = (
            f"Provider '{provider}' did not answer within {limit_s:g} s; raise 'timeout' of the loop to wait longer"
        )
        self._provider = provider
        self._scope = asyncio.timeout(limit_s)

    async def __aenter__(self) -> None:
        await self._scope.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        try:
            await self._scope.__aexit__(*raised)
        except TimeoutError as error:
            raise LLMTimeoutError(self._told, provider=self._provider) from error


def _require_messages(messages: Any) -> None:
    is_conversation = isinstance(messages, list) and all(isinstance(each, dict) for each in cast("list[Any]", messages))
    if not is_conversation:
        raise DeniedError("a hook replaced the messages by something that is no list of messages")


def _require_response(candidate: Candidate, response: Any) -> None:
    if not hasattr(response, "content"):
        found = type(response).__name__
        raise TypeError(f"Provider '{candidate.name}' answered with {found}, expected a ChatResponse")

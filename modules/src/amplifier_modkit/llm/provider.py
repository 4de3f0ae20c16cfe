"""A provider over HTTP: the five methods, the same for every vendor, around the vendor's ``Wire``."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import (
    InvalidRequestError,
    LLMError,
    LLMTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation, ToolCall, ToolCallBlock
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_core.utils.retry import RetryConfig, retry_with_backoff
from amplifier_modkit.llm.blocks import calls_of
from amplifier_modkit.llm.errors import Blame, refusal_of
from amplifier_modkit.llm.http import HttpClient, Incoming, Outgoing, Place
from amplifier_modkit.llm.limits import LimitRules, Limits, shared_limits
from amplifier_modkit.llm.repair import Repaired, repair
from amplifier_modkit.llm.settings import ProviderSettings
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.vendor import Vendor
from amplifier_modkit.llm.wire import StreamReader, Wire, WireCall, WireError

logger = logging.getLogger(__name__)

_LIST_TIMEOUT_S = 10.0
# What pure readers and writers raise for data of a shape that they do not expect.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True)
class Timing:
    """The clocks that a provider goes by, so that a test can have its own."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class HttpProvider:
    """A provider of one vendor with one key; lives as long as its session.

    A vendor that needs more overrides ``exchange``, ``list_models`` or ``get_info``.
    """

    def __init__(
        self,
        wire: Wire,
        settings: ProviderSettings,
        vendor: Vendor,
        *,
        key: str | None = None,
        hooks: HookRegistry | None = None,
        mounted: Callable[[], Mapping[str, Any]] = dict,
        delay_multipliers: Mapping[int, float] | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.name = vendor.name
        self.priority = settings.priority
        self.default_model = settings.default_model or vendor.default_model
        self.settings = settings
        self.vendor = vendor
        self.wire = wire
        self._hooks = hooks
        self._mounted = mounted
        self._secrets = (key,) if key else ()
        self._delay_multipliers = delay_multipliers or {}
        self.timing = timing or Timing()
        self._base_url = settings.base_url or vendor.base_url
        place = Place(self._base_url, lambda: vendor.authorise(key))
        self._client = HttpClient(place, self.timing.wall)
        self._limits_key = (vendor.mark, self._base_url, key)
        self._limits: Limits | None = None
        self._rules = LimitRules(
            settings.max_concurrent_requests,
            settings.throttle_threshold,
            settings.throttle_delay,
            settings.max_retry_delay,
        )
        self._cost: Decimal | None = None

    @property
    def instance_id(self) -> str:
        """The name it is mounted under: a plan may have several instances of one module."""
        return next((name for name, each in self._mounted().items() if each is self), self.name)

    def get_info(self) -> ProviderInfo:
        """Describes the provider, with the limits of its default model."""
        model = self.vendor.catalogue.info(self.default_model)
        most = self.settings.max_tokens or model.max_output_tokens
        return ProviderInfo(
            id=self.vendor.name,
            display_name=self.vendor.display_name,
            credential_env_vars=list(self.vendor.key_vars),
            capabilities=list(self.vendor.capabilities),
            defaults={
                "model": self.default_model,
                "context_window": model.context_window,
                "max_output_tokens": most,
                "max_tokens": most,
                "timeout": self.settings.timeout,
            },
            config_fields=list(self.vendor.config_fields),
        )

    async def list_models(self) -> list[ModelInfo]:
        """The models that the service lists; where it cannot be asked, those that are known."""
        path = self.vendor.models_path
        if path is not None:
            try:
                found = self.wire.read_models(await self.fetch(Outgoing("GET", path, timeout_s=_LIST_TIMEOUT_S)))
            except (LLMError, WireError, *_UNREADABLE) as error:
                logger.warning("%s cannot list its models, so the known ones are: %s", self.instance_id, error)
            else:
                return self.selected(found)
        return self.vendor.catalogue.listed(only_latest=self.settings.filtered)

    def selected(self, models: list[ModelInfo]) -> list[ModelInfo]:
        """Those of the listed models that are worth choosing from; all, unless a vendor knows better."""
        return models

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Answers one request; the keywords are wishes like the request's own fields.

        Raises an ``LLMError``; a stream that broke off is a ``BrokenStreamError`` with what came.
        """
        wished = request.model_copy(update=kwargs) if kwargs else request
        model = wished.model or self.default_model
        events = CallEvents(self._hooks, self.instance_id, model, is_raw=self.settings.raw)
        repaired, call = self._prepared(wished, model)
        await events.repaired(repaired.repairs)
        await events.begin(wished, call.body, repaired.names, call.facts)
        try:
            async with self._time_limit(wished.timeout, model):
                response = await self.exchange(repaired.request, model, call, events)
            self._finish(response, model, repaired.names)
        except BaseException as error:
            await events.fail(error)
            raise
        await events.end(response, self.limits.latest)
        return response

    @property
    def limits(self) -> Limits:
        """What is known about the limits of its key; shared with all who use the same one on the running loop."""
        # Held on to, since nobody else may.
        self._limits = shared_limits(*self._limits_key)
        return self._limits

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The tool calls of ``response``, in order; those of its content if it lists none."""
        return list(response.tool_calls or calls_of(response.content) or ())

    def cost(self) -> dict[str, str] | None:
        """What all answers so far cost, as text; ``None`` while none had a price."""
        return None if self._cost is None else {"cost_usd": str(self._cost)}

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    def streams(self, request: ChatRequest) -> bool:
        """Whether the answer to a request is to come in pieces."""
        return self.settings.use_streaming and (request.metadata or {}).get("stream") is not False

    async def exchange(self, request: ChatRequest, model: str, call: WireCall, events: CallEvents) -> ChatResponse:
        """The answer to ``call``, which was made from ``request``; a vendor may make further calls to complete it."""
        response = await self.attempt(call, model, events, is_streaming=self.streams(request))
        note_degradations(response, call.degradations)
        return response

    async def attempt(self, call: WireCall, model: str, events: CallEvents, *, is_streaming: bool) -> ChatResponse:
        """Sends ``call``, again where that may help."""
        retries = self.retries

        async def once() -> ChatResponse:
            try:
                return await self._send(call, model, events, is_streaming)
            except LLMError as error:
                if (error.retry_after or 0) > self.settings.max_retry_delay:
                    raise _GivenUpError(error) from error
                raise

        async def tell(number: int, delay: float, error: LLMError) -> None:
            await events.retried(number, retries.max_retries, delay, error)

        try:
            return await retry_with_backoff(once, retries, on_retry=tell)
        except _GivenUpError as given_up:
            raise given_up.error from given_up.error.__cause__

    @property
    def retries(self) -> RetryConfig:
        """How often a call is sent again, and when."""
        return self.settings.retries

    async def fetch(self, outgoing: Outgoing, model: str | None = None) -> Any:
        """One JSON answer beside the conversation, without further attempts."""
        async with self._client.ask(outgoing, self.blame(model)) as incoming:
            return await incoming.json()

    def blame(self, model: str | None) -> Blame:
        """Who is named in errors about calls for ``model``."""
        return Blame(self.instance_id, model, self._secrets, self.vendor.judge, self._delay_multipliers)

    def _prepared(self, request: ChatRequest, model: str) -> tuple[Repaired, WireCall]:
        try:
            repaired = repair(request, self.vendor.mark)
            return repaired, self.wire.to_call(repaired.request, model, stream=self.streams(request))
        except _UNREADABLE as error:
            told = f"the request has something that cannot be sent ({type(error).__name__}: {error})"
            raise self.blame(model).failed(InvalidRequestError, told) from error

    async def _send(self, call: WireCall, model: str, events: CallEvents, is_streaming: bool) -> ChatResponse:
        blame = self.blame(model)
        headers = {**({"accept": "text/event-stream"} if is_streaming else {}), **call.headers}
        outgoing = Outgoing("POST", call.path, call.body, headers, self.settings.timeout)
        async with self._place_in_line(events), self._asked(outgoing, blame) as incoming:
            if is_streaming and not incoming.is_json:
                return await self._streamed(incoming, events, blame)
            return self._read(await incoming.json(), blame)

    @asynccontextmanager
    async def _place_in_line(self, events: CallEvents) -> AsyncGenerator[None]:
        limits, timing = self.limits, self.timing
        await limits.enter(self._rules.max_concurrent)
        try:
            wait = limits.wait_needed(timing.monotonic())
            if wait is not None:
                await events.throttled(wait)
                await timing.sleep(wait.seconds)
            yield
        finally:
            limits.leave()

    @asynccontextmanager
    async def _asked(self, outgoing: Outgoing, blame: Blame) -> AsyncGenerator[Incoming]:
        """Asks, and learns from the answer, good or bad, how near the limits are."""
        limits = self.limits
        try:
            async with self._client.ask(outgoing, blame) as incoming:
                found = self.vendor.read_limits(incoming.headers, self.timing.wall())
                limits.note(found, self._rules, self.timing.monotonic())
                yield incoming
        except RateLimitError as error:
            if error.retry_after and error.retryable:
                limits.hold(error.retry_after, self._rules, self.timing.monotonic())
            raise

    async def _streamed(self, incoming: Incoming, events: CallEvents, blame: Blame) -> ChatResponse:
        reader = self.wire.open_stream()
        try:
            async with aclosing(incoming.events()) as told:
                async for event, data in told:
                    for piece in reader.feed(event, data):
                        await events.piece(piece)
                    if reader.is_complete:
                        await incoming.drain()
                        return reader.response()
        except WireError as error:
            raise self._refused_midway(error, reader, events, blame) from error
        except LLMError as error:
            if not events.has_streamed:
                raise
            broken = blame.broken(f"the stream broke off: {error}", _what_came(reader))
            broken.retryable = error.retryable
            raise broken from error
        except _UNREADABLE as error:
            told = f"the stream has something that cannot be read ({type(error).__name__}: {error})"
            raise blame.broken(told, _what_came(reader)) from error
        raise blame.broken("the stream ended before the answer did", _what_came(reader))

    def _refused_midway(self, error: WireError, reader: StreamReader, events: CallEvents, blame: Blame) -> LLMError:
        refused = blame.refused(refusal_of(error))
        if not events.has_streamed or not refused.retryable:
            return refused
        broken = blame.broken(f"the stream broke off: {error.message}", _what_came(reader))
        broken.status_code, broken.delay_multiplier = refused.status_code, refused.delay_multiplier
        return broken

    def _read(self, body: Any, blame: Blame) -> ChatResponse:
        try:
            return self.wire.read_answer(body)
        except WireError as error:
            raise blame.refused(refusal_of(error)) from error
        except _UNREADABLE as error:
            told = f"the answer cannot be read ({type(error).__name__}: {error})"
            raise blame.failed(ProviderUnavailableError, told) from error

    def _finish(self, response: ChatResponse, model: str, names: Mapping[str, str]) -> None:
        if names:
            for call in (*response.content, *(response.tool_calls or ())):
                if isinstance(call, ToolCallBlock | ToolCall):
                    call.name = names.get(call.name, call.name)
        if response.usage is None:
            return
        answered_by = (response.metadata or {}).get("model")
        catalogue = self.vendor.catalogue
        cost = catalogue.cost_of(response.usage, str(answered_by or model)) or catalogue.cost_of(response.usage, model)
        response.usage.cost_usd = cost
        if cost is not None:
            self._cost = cost + (self._cost or 0)

    @asynccontextmanager
    async def _time_limit(self, limit_s: float | None, model: str) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(limit_s):
                yield
        except TimeoutError as error:
            told = f"no answer within {limit_s:g} s; raise 'timeout' of the request to wait longer"
            raise self.blame(model).failed(LLMTimeoutError, told) from error


class _GivenUpError(Exception):
    """Carries an error past the retries: the service asks for a longer wait than the plan allows."""

    def __init__(self, error: LLMError) -> None:
        super().__init__(str(error))
        self.error = error


def _what_came(reader: StreamReader) -> ChatResponse:
    try:
        return reader.response()
    except _UNREADABLE:
        return ChatResponse(content=[])  # what came is what cannot be read


def note_degradations(response: ChatResponse, found: Sequence[Degradation]) -> None:
    """Adds to a response what was done instead of what was asked."""
    all_of = [*([response.degradation] if response.degradation else ()), *found]
    if not all_of:
        return
    response.degradation = Degradation(
        requested="; ".join(each.requested for each in all_of),
        actual="; ".join(each.actual for each in all_of),
        reason="; ".join(each.reason for each in all_of),
    )

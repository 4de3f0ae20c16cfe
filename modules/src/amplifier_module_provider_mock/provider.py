"""The provider itself: it records requests and plays the script."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from amplifier_core.capabilities import STREAMING, THINKING, TOOLS
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import StreamError
from amplifier_core.message_models import ChatRequest, ChatResponse, ToolCall
from amplifier_core.models import ModelInfo, ProviderInfo
from amplifier_module_provider_mock.answers import calls_in, to_response
from amplifier_module_provider_mock.config import MockConfig
from amplifier_module_provider_mock.expectations import require_expected
from amplifier_module_provider_mock.items import ScriptItem
from amplifier_module_provider_mock.requests import call_ids_in
from amplifier_module_provider_mock.scenarios import load_scenario
from amplifier_module_provider_mock.script import Script
from amplifier_module_provider_mock.streaming import StreamedBlock, first_pieces, piece_count, to_stream
from amplifier_module_provider_mock.telling import CallEvents, Clock, SystemClock
from amplifier_module_provider_mock.templates import Templates

logger = logging.getLogger(__name__)

DEFAULT_RESPONSES = (
    "This is a scripted answer; no model was asked.",
    "This is another scripted answer.",
    "This is the last scripted answer; after it they begin again.",
)
_DEFAULT_MODEL = "mock-model"
_CAPABILITIES = [TOOLS, STREAMING, THINKING]


class MockProvider:
    """A provider that plays a script; lives as long as its session, or as the test that made it.

    ``script`` is a list of answers or a function of the request; the keywords are those of the module's config.
    Without ``hooks`` nothing is told to anybody. Time passes on ``clock``.
    """

    def __init__(
        self,
        script: Sequence[Any] | Callable[[ChatRequest], Any] | None = None,
        *,
        hooks: HookRegistry | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        config = MockConfig.model_validate(settings if script is None else {**settings, "script": script})
        self.name = config.name
        self.priority = config.priority
        self.requests: list[ChatRequest] = []
        """A deep copy of every request, in order."""
        self._config = config
        self._hooks = hooks
        self._clock: Clock = clock or SystemClock()
        self._script, model = _script_of(config)
        self._model = _model_info(config, model)
        self._calls_made = 0
        self._cost: Decimal | None = None

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    def get_info(self) -> ProviderInfo:
        """Describes itself, with the limits of its one model as defaults."""
        model = self._model
        limits = {"context_window": model.context_window, "max_output_tokens": model.max_output_tokens}
        return ProviderInfo(
            id=self.name,
            display_name=f"Scripted model: {self.name}",
            capabilities=list(_CAPABILITIES),
            defaults={"model": model.id, **limits},
        )

    async def list_models(self) -> list[ModelInfo]:
        """Its one model."""
        return [self._model]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Plays the next entry of the script, whatever calls are still running.

        Raises what the script says, and ``ScriptError`` when the conversation leaves the script.
        """
        # Before anything is awaited, so that concurrent calls take consecutive entries.
        self.requests.append(request.model_copy(deep=True))
        call = self.calls
        facts = {"provider": self.name, "model": request.model or self._model.id}
        events = CallEvents(self._hooks, facts, self._clock, self._config.raw or self._config.raw_debug)
        await events.begin(request)
        try:
            response = await self._play(call, request, events)
        except BaseException as error:
            self._log("Call %d of provider '%s' fails: %r", call, self.name, error)
            await events.fail(error)
            raise
        self._log("Call %d of provider '%s' is answered: %s", call, self.name, response.finish_reason)
        self._add_cost(response)
        await events.end(response)
        return response

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The tool calls of ``response``, in order; those of its content if it lists none."""
        return list(response.tool_calls or calls_in(response))

    def cost(self) -> dict[str, str] | None:
        """What all answers so far cost, as text; ``None`` while none had a price."""
        return None if self._cost is None else {"cost_usd": str(self._cost)}

    async def _play(self, call: int, request: ChatRequest, events: CallEvents) -> ChatResponse:
        entry, place = await self._script.entry_for(call, request)
        if isinstance(entry, ScriptItem):
            if entry.expect is not None:
                require_expected(entry.expect, request, place)
            await self._wait(entry.delay_s)
            return await self._play_item(entry, request, Templates(request, place), events)
        await self._wait(None)
        if not isinstance(entry, ChatResponse):
            raise entry
        if self._is_streaming(request):
            await events.stream(to_stream(entry, self._config.chunk_chars), None)
        return entry

    async def _play_item(
        self, item: ScriptItem, request: ChatRequest, templates: Templates, events: CallEvents
    ) -> ChatResponse:
        response = to_response(item, request, templates, self._new_ids(request), self._config.usage)
        pieces = None if item.pieces is None else [templates.fill_text(piece) for piece in item.pieces]
        blocks = to_stream(response, item.piece_chars or self._config.chunk_chars, pieces)
        most = None if not item.has_failure else piece_count(blocks, item.break_after)
        if self._is_streaming(request):
            await events.stream(blocks, most)
        if most is not None:
            raise self._failure_of(item, request, blocks, most)
        return response

    def _failure_of(
        self, item: ScriptItem, request: ChatRequest, blocks: list[StreamedBlock], most: int
    ) -> BaseException:
        model = request.model or self._model.id
        if item.error is not None:
            return item.error.make(self.name, model)
        came = "".join(first_pieces(blocks, most))
        told = f"The stream broke off after {most} of {piece_count(blocks)} pieces; what came: {came!r}"
        return StreamError(told, provider=self.name, model=model)

    def _is_streaming(self, request: ChatRequest) -> bool:
        return self._config.stream and (request.metadata or {}).get("stream") is not False

    def _new_ids(self, request: ChatRequest) -> Callable[[], str]:
        """Gives ids that no call of the conversation has, also where it began with another provider object."""
        taken = call_ids_in(request)

        def new_id() -> str:
            self._calls_made += 1
            call_id = f"call-{self._calls_made}"
            return call_id if call_id not in taken else new_id()

        return new_id

    async def _wait(self, delay_s: float | None) -> None:
        seconds = self._config.delay_s if delay_s is None else delay_s
        if seconds:
            await self._clock.sleep(seconds)

    def _add_cost(self, response: ChatResponse) -> None:
        cost = response.usage.cost_usd if response.usage else None
        if cost is not None:
            self._cost = cost + (self._cost or 0)

    def _log(self, message: str, *details: Any) -> None:
        logger.log(logging.INFO if self._config.debug else logging.DEBUG, message, *details)


def _script_of(config: MockConfig) -> tuple[Script, str | None]:
    """The script that the config names, and the model that a scenario names."""
    if config.scenario is not None:
        scenario = load_scenario(config.scenario)
        return Script(scenario.steps, f"scenario {config.scenario}", config.at_end or "error", "Step"), scenario.model
    if config.script is not None:
        return Script(config.script, "the script", config.at_end or "error"), None
    responses = DEFAULT_RESPONSES if config.responses is None else config.responses
    return Script(responses, "the responses", config.at_end or "repeat"), None


def _model_info(config: MockConfig, scenario_model: str | None) -> ModelInfo:
    model = config.default_model or config.model or scenario_model or _DEFAULT_MODEL
    return ModelInfo(
        id=model,
        display_name=model,
        context_window=config.context_window,
        max_output_tokens=config.max_output_tokens,
        capabilities=list(_CAPABILITIES),
    )

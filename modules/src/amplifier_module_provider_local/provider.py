"""The provider itself: gets the model when it is first needed, answers with it, tells the events of each call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from amplifier_core.capabilities import FAST, JSON_MODE, LOCAL, STREAMING, TOOLS
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import LLMError, LLMTimeoutError
from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation, ToolCall
from amplifier_core.models import ConfigField, ModelInfo, ProviderInfo
from amplifier_modkit.llm.blocks import calls_of
from amplifier_modkit.llm.provider import note_degradations
from amplifier_modkit.llm.repair import repair
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.wire import Piece
from amplifier_module_provider_local.answering import Answerer
from amplifier_module_provider_local.config import LocalConfig
from amplifier_module_provider_local.engine import Engine, LlamaEngine
from amplifier_module_provider_local.engines import ENGINES, EngineKey, EngineTable, Lease, Load
from amplifier_module_provider_local.fetching import Progress, fetched
from amplifier_module_provider_local.progress import FetchProgress
from amplifier_module_provider_local.weights import SMOLLM2, is_kept, kept_file, models_folder

_EMBEDDED_MODEL = "smollm2-135m-instruct"
_CAPABILITIES = (TOOLS, STREAMING, JSON_MODE, LOCAL, FAST)

FetchModel = Callable[[Progress], Awaitable[Path]]


def load_engine(key: EngineKey) -> Engine:
    """The engine of a model file."""
    return LlamaEngine(key.path, context_window=key.context_window, n_threads=key.n_threads)


async def fetch_embedded(progress: Progress) -> Path:
    """The model that comes with the module, fetched into the user's cache unless it is there."""
    return await fetched(SMOLLM2, models_folder(), progress)


class LocalProvider:
    """A model inside this process; lives as long as its session, and shares the loaded model with others like it."""

    name = "local"

    def __init__(
        self,
        config: LocalConfig | None = None,
        *,
        hooks: HookRegistry | None = None,
        engines: EngineTable = ENGINES,
        load: Load = load_engine,
        fetch: FetchModel = fetch_embedded,
    ) -> None:
        self._config = config or LocalConfig()
        self.priority = self._config.priority
        self._hooks = hooks
        self._engines = engines
        self._load = load
        self._fetch = fetch
        self._lease: Lease | None = None
        self._leasing = asyncio.Lock()
        path = self._config.model_path
        self._model = self._config.model or (path.stem if path else _EMBEDDED_MODEL)

    def get_info(self) -> ProviderInfo:
        """Describes itself; the model need not be there for that."""
        config = self._config
        limits = {"context_window": config.context_window, "max_output_tokens": self._max_output_tokens}
        return ProviderInfo(
            id=self.name,
            display_name="Embedded model (very small, works offline)",
            capabilities=list(_CAPABILITIES),
            defaults={"model": self._model, **limits},
            config_fields=[
                ConfigField(
                    id="model_path",
                    display_name="Model file",
                    prompt="Path of a GGUF file? Leave it empty for the embedded model.",
                    required=False,
                )
            ],
        )

    async def list_models(self) -> list[ModelInfo]:
        """Its one model."""
        return [
            ModelInfo(
                id=self._model,
                display_name=self._model,
                context_window=self._config.context_window,
                max_output_tokens=self._max_output_tokens,
                capabilities=list(_CAPABILITIES),
            )
        ]

    async def prepare(self) -> None:
        """Gets and loads the model now instead of with the first request; raises what keeps it from that."""
        await self._engine()

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Answers ``request``; a cancellation ends the work at the next token.

        Raises ``FetchError``, ``ModelFileError`` or ``LibraryMissingError`` where there is no model to ask.
        """
        repaired = repair(request, self.name)
        # Nobody else's rules for the names of tools apply here.
        request = repaired.request.model_copy(update={"tools": request.tools})
        events = CallEvents(self._hooks, self.name, self._model, is_raw=self._config.raw)
        await events.repaired(repaired.repairs)
        await events.begin(request, request)
        try:
            response = await self._answer(request, events)
        except BaseException as error:
            if isinstance(error, LLMError):
                error.provider, error.model = error.provider or self.name, error.model or self._model
            await events.fail(error)
            raise
        await events.end(response)
        return response

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The tool calls of ``response``, in order; those of its content if it lists none."""
        return list(response.tool_calls or calls_of(response.content) or ())

    def cost(self) -> dict[str, str]:
        """What all answers cost: nothing."""
        return {"cost_usd": "0"}

    async def close(self) -> None:
        """Gives the model back; it is unloaded when nobody else uses it."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    @property
    def _max_output_tokens(self) -> int:
        return min(self._config.max_tokens, self._config.context_window // 2)

    async def _answer(self, request: ChatRequest, events: CallEvents) -> ChatResponse:
        engine = await self._engine()
        timeout_s = self._config.timeout if request.timeout is None else request.timeout
        is_streaming = self._config.use_streaming and (request.metadata or {}).get("stream") is not False
        answerer = Answerer(engine, self._config, events.piece if is_streaming else _untold)
        try:
            async with asyncio.timeout(timeout_s):
                response, degradations = await answerer.answer(request)
        except TimeoutError as error:
            raise LLMTimeoutError(f"There was no whole answer within {timeout_s:g} s; 'timeout' sets that") from error
        if request.model not in (None, self._model):
            reason = "provider-local has one model; 'model_path' sets which"
            degradations.append(
                Degradation(requested=f"model {request.model}", actual=f"model {self._model}", reason=reason)
            )
        note_degradations(response, degradations)
        return response

    async def _engine(self) -> Engine:
        async with self._leasing:
            lease = self._lease = self._lease or await self._leased()
        return lease.engine

    async def _leased(self) -> Lease:
        path = self._config.model_path or await self._fetched()
        key = EngineKey(path.expanduser().resolve(), self._config.context_window, self._config.n_threads)
        return await self._engines.lease(key, self._load)

    async def _fetched(self) -> Path:
        folder = models_folder()
        if is_kept(SMOLLM2, folder):
            return kept_file(SMOLLM2, folder)
        progress = FetchProgress(SMOLLM2, self._emit)
        try:
            path = await self._fetch(progress)
        except Exception as error:
            await progress.fail(error)
            raise
        await progress.end()
        return path

    async def _emit(self, event: str, data: dict[str, Any]) -> None:
        if self._hooks is not None:
            await self._hooks.emit(event, {"provider": self.name, **data})


async def _untold(piece: Piece) -> None:
    """For requests that do not stream."""

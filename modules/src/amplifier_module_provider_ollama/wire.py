"""Ollama's own protocol, as chat completions in other words: lines of JSON, a window to choose, and reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.wire import Piece, StreamReader, WireCall
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.endings import require_no_error
from amplifier_modkit.llm_chat.models import Windows
from amplifier_modkit.llm_chat.options import Defaults
from amplifier_modkit.llm_chat.streams import ChatStream
from amplifier_modkit.llm_chat.wire import ChatWire
from amplifier_module_provider_ollama.config import OllamaSettings
from amplifier_module_provider_ollama.facts import ModelFacts
from amplifier_module_provider_ollama.native import from_native, to_native

DEFAULT_WINDOW = 8_192
_LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


class OllamaWire(ChatWire):
    """Speaks ``/api/chat``; knows of models what the provider found out."""

    def __init__(self, settings: OllamaSettings) -> None:
        most = settings.max_tokens or DEFAULT_WINDOW
        super().__init__(
            Dialect(stream_usage=False),
            windows=Windows(settings.num_ctx or DEFAULT_WINDOW, most),
            defaults=Defaults(settings.max_tokens, settings.temperature),
        )
        self._settings = settings
        self._has_levels = True
        self.facts: dict[str, ModelFacts] = {}
        self.loaded: dict[str, int] = {}
        """The windows that models are loaded with."""

    def window_of(self, model: str) -> int:
        """How long a request for ``model`` may be: as set, as its file says, as it is loaded, or what most can take."""
        facts = self.facts.get(model, ModelFacts())
        known = self._settings.num_ctx or facts.chosen or self.loaded.get(model)
        return known or min(facts.longest or DEFAULT_WINDOW, DEFAULT_WINDOW)

    def to_call(self, request: ChatRequest, model: str, *, stream: bool) -> WireCall:
        """The request as Ollama reads it."""
        call = super().to_call(request, model, stream=stream)
        notes: list[Degradation] = list(call.degradations)
        body = to_native(call.body, notes)
        body["options"]["num_ctx"] = self.window_of(model)
        if self._settings.keep_alive is not None:
            body["keep_alive"] = self._settings.keep_alive
        think = self._think(request.reasoning_effort, model, notes)
        if think is not None:
            body["think"] = think
        return WireCall("/api/chat", body, degradations=notes)

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The answer in ``body``; raises ``WireError`` for an error, ``ValueError`` where nothing is answered."""
        require_no_error(body)
        if "message" not in body:
            raise ValueError(f"An answer needs a 'message', got the keys {sorted(map(str, body))}")
        return super().read_answer(from_native(body, self.new_id))

    def open_stream(self) -> StreamReader:
        """A reader for one streamed answer."""
        return OllamaStream(self.dialect, self.new_id)

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models in the answer to ``/api/tags``, with what is known about them."""
        return [self.describe(model) for model in super().read_models(body)]

    def describe(self, model: ModelInfo) -> ModelInfo:
        """A model with its window and abilities, as far as they are known."""
        window = self.window_of(model.id)
        facts = self.facts.get(model.id, ModelFacts(capabilities=tuple(model.capabilities)))
        most = min(self._settings.max_tokens or window, window)
        changes = {"context_window": window, "max_output_tokens": most, "capabilities": list(facts.capabilities)}
        return model.model_copy(update=changes)

    def learn(self, body: Mapping[str, Any], complaint: str) -> bool:
        """Whether the ``complaint`` is about reasoning that a model cannot do, or not by degrees."""
        if "think" not in body or "think" not in complaint:
            return super().learn(body, complaint)
        if isinstance(body["think"], str) and "does not support thinking" not in complaint:
            self._has_levels = False
        else:
            facts = self.facts.get(body["model"], ModelFacts())
            without = tuple(each for each in facts.capabilities if each != "thinking")
            self.facts[body["model"]] = replace(facts, capabilities=without)
        return True

    def _think(self, effort: str | None, model: str, notes: list[Degradation]) -> bool | str | None:
        """What a request says about reasoning; nothing to a model that cannot, which would refuse it."""
        if model not in self.facts or not self.facts[model].thinks:
            if effort and effort != "none":
                asked = f"reasoning_effort={effort!r}"
                notes.append(Degradation(requested=asked, actual="left out", reason=f"{model} does not think"))
            return None
        if effort is None:
            return self._settings.enable_thinking
        if effort == "none":
            return False
        return _LEVELS.get(effort, "high") if self._has_levels else True


class OllamaStream(ChatStream):
    """Reads the lines of one streamed answer."""

    def _take(self, event: str, chunk: Any) -> list[Piece]:
        if not isinstance(chunk, dict) or "message" not in chunk:
            return super()._take(event, chunk)
        pieces = super()._take(event, from_native(chunk, self._new_id))  # pyright: ignore[reportUnknownArgumentType]
        self._is_done = bool(chunk.get("done"))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        return pieces

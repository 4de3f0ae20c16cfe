"""Google's ``generateContent`` as a wire: requests and answers as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.wire import Piece, StreamReader, WireCall
from amplifier_module_provider_gemini.answers import Answer
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.listing import read_models
from amplifier_module_provider_gemini.models import traits_of
from amplifier_module_provider_gemini.options import Options
from amplifier_module_provider_gemini.outgoing import to_conversation

_COUNTED = ("contents", "systemInstruction", "tools", "toolConfig")


class GeminiWire:
    """How Gemini is asked and how it answers, under one config."""

    def __init__(self, config: GeminiConfig | None = None) -> None:
        self._config = config or GeminiConfig()

    def to_call(self, request: ChatRequest, model: str, *, stream: bool) -> WireCall:
        """The request as the service reads it."""
        options = Options(request, model, self._config, stream=stream)
        system, contents = to_conversation(request.messages, is_modern=traits_of(model).is_modern)
        body: dict[str, Any] = {
            "contents": contents,
            **({"systemInstruction": {"parts": system}} if system else {}),
            **options.body,
        }
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return WireCall(f"/v1beta/{_resource(model)}:{method}", body, degradations=options.degradations)

    def to_count(self, request: ChatRequest, model: str) -> WireCall:
        """The question how many tokens a request has."""
        call = self.to_call(request, model, stream=False)
        counted = {key: call.body[key] for key in _COUNTED if key in call.body}
        body = {"generateContentRequest": {"model": _resource(model), **counted}}
        return WireCall(f"/v1beta/{_resource(model)}:countTokens", body)

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The response in a whole answer."""
        answer = Answer()
        answer.add(body)
        if not answer.has_content:
            raise ValueError("there is neither a candidate nor a reason why there is none")
        return answer.response()

    def open_stream(self) -> StreamReader:
        """A reader for one streamed answer."""
        return AnswerStream()

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models that the service lists."""
        return read_models(body, only_latest=self._config.filtered)


class AnswerStream:
    """Reads the events of one answer; each is an answer of its own with the next parts."""

    def __init__(self) -> None:
        self._answer = Answer()

    @property
    def is_complete(self) -> bool:
        """Whether the service said how the answer ends."""
        return self._answer.is_complete

    def feed(self, event: str, data: str) -> Iterable[Piece]:
        """Takes one event."""
        return self._answer.add(json.loads(data))

    def response(self) -> ChatResponse:
        """The answer, whole or as far as it came."""
        return self._answer.response()


def continuing(call: WireCall, token: str) -> WireCall:
    """The call for the rest of an answer: the same, with the word that the service gave for it."""
    return replace(call, body={**call.body, "continuationToken": token})


def _resource(model: str) -> str:
    return quote(model if "/" in model else f"models/{model}", safe="/")

"""The protocol as one vendor: requests out, answers in, in the dialect that a server turned out to speak."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Mapping
from typing import Any

from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation
from amplifier_core.models import ModelInfo
from amplifier_modkit.llm.wire import StreamReader, WireCall
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.endings import require_no_error
from amplifier_modkit.llm_chat.incoming import Answer
from amplifier_modkit.llm_chat.lessons import learn
from amplifier_modkit.llm_chat.models import Windows, read_models
from amplifier_modkit.llm_chat.options import Defaults, to_options
from amplifier_modkit.llm_chat.outgoing import to_messages
from amplifier_modkit.llm_chat.streams import ChatStream

_ALPHABET = string.ascii_letters + string.digits


def new_call_id() -> str:
    """An id for a tool call, in the only form that every server takes: nine letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(9))


class ChatWire:
    """Speaks chat completions; lives as long as its provider, and remembers what the server's complaints taught.

    ``extra_body`` goes into every request as it is.
    """

    def __init__(
        self,
        dialect: Dialect | None = None,
        *,
        windows: Windows | None = None,
        defaults: Defaults | None = None,
        extra_body: Mapping[str, Any] | None = None,
        new_id: Callable[[], str] = new_call_id,
    ) -> None:
        self.dialect = dialect or Dialect()
        self.windows = windows or Windows()
        self.new_id = new_id
        self._defaults = defaults or Defaults()
        self._extra_body = extra_body or {}

    def to_call(self, request: ChatRequest, model: str, *, stream: bool) -> WireCall:
        """The request as the server reads it."""
        notes: list[Degradation] = []
        body: dict[str, Any] = {"model": model, "messages": to_messages(request.messages, self.dialect, notes)}
        body.update(to_options(request, self.dialect, self._defaults, notes))
        if stream:
            body["stream"] = True
            if self.dialect.stream_usage:
                body["stream_options"] = {"include_usage": True}
        return WireCall("/chat/completions", {**body, **self._extra_body}, degradations=notes)

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The answer in ``body``; raises ``WireError`` for an error, ``ValueError`` where nothing is answered."""
        require_no_error(body)
        if not body.get("choices"):
            raise ValueError(f"An answer needs 'choices', got the keys {sorted(map(str, body))}")
        answer = Answer(self.dialect, self.new_id)
        answer.add_body(body)
        answer.finish()
        return answer.response()

    def open_stream(self) -> StreamReader:
        """A reader for one streamed answer."""
        return ChatStream(self.dialect, self.new_id)

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models that the server lists."""
        return read_models(body, self.windows)

    def learn(self, body: Mapping[str, Any], complaint: str) -> bool:
        """Whether the ``complaint`` about ``body`` says how to put it instead; the next call does."""
        learnt = learn(self.dialect, body, complaint)
        if learnt is not None:
            self.dialect = learnt
        return learnt is not None

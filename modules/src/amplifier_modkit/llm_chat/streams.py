"""One streamed answer: chunks of JSON, and a last word that some servers forget."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from amplifier_core.message_models import ChatResponse
from amplifier_modkit.llm.wire import Piece
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.endings import require_no_error, to_error
from amplifier_modkit.llm_chat.incoming import Answer

END_OF_STREAM = "end of stream"
"""The event that stands for the end of the connection: an answer that said how it ended needs no other last word."""

_DONE = "[DONE]"


class ChatStream:
    """Reads the events of one streamed answer."""

    def __init__(self, dialect: Dialect, new_id: Callable[[], str]) -> None:
        self._answer = Answer(dialect, new_id)
        self._new_id = new_id
        self._is_done = False
        self._is_finished = False

    def feed(self, event: str, data: str) -> list[Piece]:
        """Takes one event; raises ``WireError`` for an error of the server, ``ValueError`` for what is no chunk."""
        if event == END_OF_STREAM:
            self._is_done = self._is_done or self._answer.reason is not None
            return []
        pieces: list[Piece] = []
        # Some servers leave out the empty line between two chunks, and some send empty ones to keep the line alive.
        for line in data.split("\n"):
            if line.strip() == _DONE:
                self._is_done = True
                pieces += self._finish()
            elif line.strip():
                pieces += self._take(event, json.loads(line))
        return pieces

    @property
    def is_complete(self) -> bool:
        """Whether the server said that it is done, or ended after it said how the answer ended.

        Not as soon as that is said: what it counted comes after it.
        """
        return self._is_done

    def response(self) -> ChatResponse:
        """The answer as far as it came."""
        return self._answer.response()

    def _take(self, event: str, chunk: Any) -> list[Piece]:
        if not isinstance(chunk, Mapping):
            raise ValueError(f"A chunk must be a JSON object, got {str(chunk)[:80]!r}")
        body = cast("Mapping[str, Any]", chunk)
        require_no_error(body)
        if event == "error":
            raise to_error(body)
        pieces = self._answer.add_body(body)
        if self._answer.reason is None:
            return pieces
        if self._answer.reason == "error":
            raise to_error("The server ended its answer with an error and did not say which")
        return pieces + self._finish()

    def _finish(self) -> list[Piece]:
        if self._is_finished:
            return []
        self._is_finished = True
        return self._answer.finish()

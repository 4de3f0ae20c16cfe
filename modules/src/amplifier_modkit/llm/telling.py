"""The events of one call, from ``llm:request`` to ``llm:response``, under one request id."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from amplifier_core.correlation import current_request_id
from amplifier_core.events import (
    LLM_REQUEST,
    LLM_RESPONSE,
    PROVIDER_RETRY,
    PROVIDER_THROTTLE,
    PROVIDER_TOOL_SEQUENCE_REPAIRED,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import LLMError, LLMTimeoutError
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_modkit.llm.limits import RateLimit, Wait
from amplifier_modkit.llm.wire import Piece, PieceKind

STREAM_EVENTS = (LLM_STREAM_BLOCK_START, LLM_STREAM_BLOCK_DELTA, LLM_STREAM_BLOCK_END, LLM_STREAM_ABORTED)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_EVENT_OF: Mapping[PieceKind, str] = {
    "start": LLM_STREAM_BLOCK_START,
    "delta": LLM_STREAM_BLOCK_DELTA,
    "end": LLM_STREAM_BLOCK_END,
}


class CallEvents:
    """Tells the hooks, if there are any, what happens in one call; lives as long as the call."""

    def __init__(
        self,
        hooks: HookRegistry | None,
        provider: str,
        model: str,
        *,
        is_raw: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._hooks = hooks
        self._facts = {"provider": provider, "model": model}
        self._is_raw = is_raw
        self._clock = clock
        self._started = clock()
        self._request_id: str | None = None
        self._sequences: dict[int, int] = {}
        self._names: Mapping[str, str] = {}
        self._first_index = 0
        self.has_streamed = False
        """Whether pieces of the present attempt were told."""

    async def repaired(self, repairs: Sequence[Mapping[str, Any]]) -> None:
        """``provider:tool_sequence_repaired``, if something was."""
        if repairs:
            told = {"repair_count": len(repairs), "repairs": [dict(each) for each in repairs]}
            await self._emit(PROVIDER_TOOL_SEQUENCE_REPAIRED, {"provider": self._facts["provider"], **told})

    async def begin(
        self,
        request: ChatRequest,
        body: Any,
        names: Mapping[str, str] = _NOTHING,
        facts: Mapping[str, Any] = _NOTHING,
    ) -> None:
        """``llm:request``; the id that the registry gives it is that of all events of the call.

        ``body`` is told only on demand; ``names`` are those of tools by what they are called on the wire; ``facts`` are
        told besides.
        """
        self._names = names
        has_system = any(message.role in ("system", "developer") for message in request.messages)
        sizes = {"message_count": len(request.messages), "has_system": has_system}
        await self._emit(LLM_REQUEST, {**self._facts, **sizes, **facts, **self._raw(body)})
        self._request_id = current_request_id()

    async def piece(self, piece: Piece) -> None:
        """One piece of a stream as it comes."""
        self.has_streamed = True
        event, hooks = _EVENT_OF[piece.kind], self._hooks
        if hooks is None or not hooks.has_listeners(event):
            return
        index = piece.index + self._first_index
        facts: dict[str, Any] = {
            "request_id": self._request_id,
            "block_index": index,
            "block_type": piece.block_type,
        }
        if piece.kind == "delta":
            facts["sequence"] = number = self._sequences.get(index, 0)
            facts["text"] = piece.text
            self._sequences[index] = number + 1
        elif piece.kind == "start":
            self._sequences[index] = 0
            if piece.name is not None:
                facts["name"] = self._names.get(piece.name, piece.name)
        await hooks.emit(event, facts)

    def go_on_after(self, blocks: int) -> None:
        """Counts the blocks of what comes on from ``blocks``: a further answer is the rest of the one before."""
        self._first_index = blocks

    async def throttled(self, wait: Wait) -> None:
        """``provider:throttle`` before waiting."""
        await self._emit(PROVIDER_THROTTLE, {**self._facts, "delay": wait.seconds, "reason": wait.reason})

    async def retried(self, attempt: int, most: int, delay: float, error: LLMError) -> None:
        """``provider:retry`` before a further attempt; before it, that what was told of the last one does not count."""
        await self._aborted(error)
        told = {"error_type": type(error).__name__, "error_message": str(error), "retry_after": error.retry_after}
        await self._emit(
            PROVIDER_RETRY, {**self._facts, "attempt": attempt, "max_retries": most, "delay": delay, **told}
        )

    async def end(self, response: ChatResponse, limits: Sequence[RateLimit] = ()) -> None:
        """``llm:response`` with what the call took."""
        usage = None if response.usage is None else response.usage.model_dump(exclude_none=True)
        said = {"rate_limits": {each.name: each._asdict() for each in limits}} if limits else {}
        await self._tell_outcome({"status": "ok", "usage": usage, **said, **self._raw(response)})

    async def fail(self, error: BaseException) -> None:
        """``llm:response`` with what went wrong; before it ``llm:stream_aborted`` if pieces were told already."""
        await self._aborted(error)
        status = "timeout" if isinstance(error, LLMTimeoutError | TimeoutError) else "error"
        await self._tell_outcome({"status": status, "error": {"type": type(error).__name__, "msg": str(error)}})

    async def _aborted(self, error: BaseException) -> None:
        if self.has_streamed:
            self.has_streamed = False
            told = f"{type(error).__name__}: {error}"
            await self._emit(LLM_STREAM_ABORTED, {"request_id": self._request_id, "error": told})

    async def _tell_outcome(self, outcome: dict[str, Any]) -> None:
        duration_ms = round((self._clock() - self._started) * 1000, 3)
        await self._emit(
            LLM_RESPONSE, {"request_id": self._request_id, **self._facts, "duration_ms": duration_ms, **outcome}
        )

    async def _emit(self, event: str, data: dict[str, Any]) -> None:
        if self._hooks is not None:
            await self._hooks.emit(event, data)

    def _raw(self, sent: Any) -> dict[str, Any]:
        return {"raw": to_jsonable(sent)} if self._is_raw else {}

"""The events of one call, from ``llm:request`` to ``llm:response``, under one request id."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from amplifier_core.correlation import current_request_id
from amplifier_core.events import LLM_REQUEST, LLM_RESPONSE
from amplifier_core.hooks import HookRegistry
from amplifier_core.llm_errors import LLMTimeoutError
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_module_provider_mock.streaming import StreamedBlock

STREAM_EVENTS = (LLM_STREAM_BLOCK_START, LLM_STREAM_BLOCK_DELTA, LLM_STREAM_BLOCK_END, LLM_STREAM_ABORTED)


class Clock(Protocol):
    """Shows the time and lets it pass."""

    def __call__(self) -> datetime:
        """The time it shows."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Lets ``seconds`` pass."""
        ...


class SystemClock:
    """The time that everybody has."""

    def __call__(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Waits; a cancellation ends it at once."""
        await asyncio.sleep(seconds)


class CallEvents:
    """Tells the hooks, if there are any, what happens in one call; lives as long as the call.

    ``facts`` are provider and model, as both events of the call carry them.
    """

    def __init__(self, hooks: HookRegistry | None, facts: dict[str, Any], clock: Clock, is_raw: bool) -> None:
        self._hooks = hooks
        self._facts = facts
        self._clock = clock
        self._is_raw = is_raw
        self._request_id: str | None = None
        self._started = clock()
        self._has_streamed = False

    async def begin(self, request: ChatRequest) -> None:
        """``llm:request``; the id that the registry gives it is that of all events of the call."""
        has_system = any(message.role in ("system", "developer") for message in request.messages)
        sizes = {"message_count": len(request.messages), "has_system": has_system}
        await self._emit(LLM_REQUEST, {**self._facts, **sizes, **self._raw(request)})
        self._request_id = current_request_id()

    async def stream(self, blocks: Sequence[StreamedBlock], most_pieces: int | None) -> None:
        """The blocks piece by piece, to the end or to the piece with the number ``most_pieces``."""
        if self._hooks is None:
            return
        left = most_pieces
        for index, block in enumerate(blocks):
            if left == 0:
                return
            pieces = block.pieces[:left]
            await self._stream_block(index, block, pieces)
            left = None if left is None else left - len(pieces)
            if left != 0:
                await self._emit(LLM_STREAM_BLOCK_END, self._facts_of(index, block))

    async def end(self, response: ChatResponse) -> None:
        """``llm:response`` with what the call took."""
        usage = None if response.usage is None else response.usage.model_dump(exclude_none=True)
        await self._tell_outcome({"status": "ok", "usage": usage, **self._raw(response)})

    async def fail(self, error: BaseException) -> None:
        """``llm:response`` with what went wrong; before it ``llm:stream_aborted`` if pieces were told already."""
        if self._has_streamed:
            told = f"{type(error).__name__}: {error}"
            await self._emit(LLM_STREAM_ABORTED, {"request_id": self._request_id, "error": told})
        status = "timeout" if isinstance(error, LLMTimeoutError | TimeoutError) else "error"
        await self._tell_outcome({"status": status, "error": {"type": type(error).__name__, "msg": str(error)}})

    async def _stream_block(self, index: int, block: StreamedBlock, pieces: list[str]) -> None:
        facts = self._facts_of(index, block)
        self._has_streamed = True
        await self._emit(LLM_STREAM_BLOCK_START, facts if block.name is None else {**facts, "name": block.name})
        for sequence, piece in enumerate(pieces):
            await self._emit(LLM_STREAM_BLOCK_DELTA, {**facts, "sequence": sequence, "text": piece})

    def _facts_of(self, index: int, block: StreamedBlock) -> dict[str, Any]:
        return {"request_id": self._request_id, "block_index": index, "block_type": block.kind}

    async def _tell_outcome(self, outcome: dict[str, Any]) -> None:
        duration_ms = (self._clock() - self._started).total_seconds() * 1000
        call = {"request_id": self._request_id, **self._facts}
        await self._emit(LLM_RESPONSE, {**call, "duration_ms": duration_ms, **outcome})

    async def _emit(self, event: str, data: dict[str, Any]) -> None:
        if self._hooks is not None:
            await self._hooks.emit(event, data)

    def _raw(self, envelope: ChatRequest | ChatResponse) -> dict[str, Any]:
        return {"raw": to_jsonable(envelope)} if self._is_raw else {}

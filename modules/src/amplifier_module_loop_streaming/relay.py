"""Streams: asks a provider so that its answer comes in pieces, and tells hooks of each piece as it comes.

Most providers emit ``llm:stream_*`` events themselves while ``complete()`` runs. One with a method ``stream`` yields
its pieces instead, and the same events are emitted here. Either way ``content_block:*`` and ``thinking:*`` follow.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from inspect import getattr_static, isawaitable
from typing import Any

from amplifier_core.correlation import current_request_id
from amplifier_core.events import (
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    THINKING_DELTA,
    THINKING_FINAL,
)
from amplifier_core.interfaces import Provider
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import HookResult
from amplifier_modkit.events import (
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
)
from amplifier_modkit.messages import blocks_of, plain
from amplifier_modkit.turns.gate import HookGate
from amplifier_module_loop_streaming.assembly import Assembly, Piece

_AFTER_EVERYBODY = 1000
_RELAYED = frozenset({"text", "thinking"})

# Other model calls of the session may stream at the same time (a hook that names the session, say). Their events come
# to the same registry; what is relayed is what a provider emits while this very relay waits for it.
_asking: ContextVar[StreamRelay | None] = ContextVar("amplifier_module_loop_streaming_asking", default=None)


class StreamRelay:
    """Relays the streams of one turn; ``told_blocks`` and ``said`` are about the latest answer."""

    def __init__(self, gate: HookGate, new_id: Callable[[], str], delay_s: float = 0.0) -> None:
        self._gate = gate
        self._new_id = new_id
        self._delay_s = delay_s
        self._texts: dict[int, str] = {}
        self._kinds: dict[int, str] = {}
        self._ended: set[int] = set()
        self._is_aborted = False
        self.told_blocks: set[int] = set()
        """Places, in the content of the answer, of the blocks that were told to the end."""

    @property
    def said(self) -> str:
        """The text of the answer so far."""
        return "\n\n".join(text for index, text in self._texts.items() if self._kinds[index] == "text" and text)

    def begin(self) -> None:
        """Forgets the answer before."""
        self._texts.clear()
        self._kinds.clear()
        self._ended.clear()
        self.told_blocks.clear()
        self._is_aborted = False

    async def complete(self, provider: Provider, request: ChatRequest, extras: dict[str, Any]) -> ChatResponse:
        """Asks ``provider``, in pieces where it can give them, and gives the whole answer."""
        self.begin()
        mark = _asking.set(self)
        try:
            response = await self._answer(provider, request, extras)
        finally:
            _asking.reset(mark)
        self.told_blocks |= self._places_in(response)
        return response

    @contextmanager
    def listening(self) -> Generator[None]:
        """Relays what providers emit for as long as the turn lasts."""
        handlers = {
            LLM_STREAM_BLOCK_START: self._on_start,
            LLM_STREAM_BLOCK_DELTA: self._on_delta,
            LLM_STREAM_BLOCK_END: self._on_end,
            LLM_STREAM_ABORTED: self._on_aborted,
        }
        undo = [
            self._gate.hooks.register(event, handler, _AFTER_EVERYBODY, f"loop-streaming:{event}")
            for event, handler in handlers.items()
        ]
        try:
            yield
        finally:
            for unregister in undo:
                unregister()

    async def _answer(self, provider: Provider, request: ChatRequest, extras: dict[str, Any]) -> ChatResponse:
        # What is there only on demand (of a wrapper, a mock) need not be a stream of this provider.
        has_stream = getattr_static(provider, "stream", None) is not None
        stream: Any = getattr(provider, "stream", None) if has_stream else None
        pieces = stream(request, **extras) if callable(stream) else None
        if isawaitable(pieces):
            pieces = await pieces
        if not hasattr(pieces, "__aiter__"):
            return await provider.complete(request, **extras)
        return await self._gather(pieces)

    async def _gather(self, pieces: Any) -> ChatResponse:
        """Takes the pieces as they come; what came before a stream breaks off has been told by then."""
        assembly = Assembly()
        request_id: str | None = None
        try:
            async with _closing(aiter(pieces)) as iterator:
                async for piece in iterator:
                    # Not before the first piece: the provider opens the call when it begins to work.
                    request_id = request_id or current_request_id() or self._new_id()
                    await self._tell_piece(request_id, assembly.add(piece))
        except BaseException as error:
            if assembly.has_begun:
                told = {"request_id": request_id, "error": f"{type(error).__name__}: {error}"}
                await self._gate.tell(LLM_STREAM_ABORTED, told)
            raise
        await self._tell_end(request_id, assembly.finish())
        return assembly.response()

    async def _tell_piece(self, request_id: str, piece: Piece | None) -> None:
        if piece is None:
            return
        block = {"request_id": request_id, "block_index": piece.block_index, "block_type": piece.block_type}
        if piece.is_first:
            await self._tell_end(request_id, piece.ended)
            name = {} if piece.name is None else {"name": piece.name}
            await self._gate.tell(LLM_STREAM_BLOCK_START, {**block, **name})
        if piece.text:
            facts = {**block, "sequence": piece.sequence, "text": piece.text}
            await self._gate.tell(LLM_STREAM_BLOCK_DELTA, facts)

    async def _tell_end(self, request_id: str | None, ended: tuple[int, str] | None) -> None:
        if ended is not None:
            index, kind = ended
            facts = {"request_id": request_id, "block_index": index, "block_type": kind}
            await self._gate.tell(LLM_STREAM_BLOCK_END, facts)

    def _places_in(self, response: Any) -> set[int]:
        """Where the blocks that were told stand in ``response``: a stream may number its blocks in another way."""
        told = Counter(self._kinds[index] for index in self._ended)
        if not told:
            return set()
        places: set[int] = set()
        for place, block in enumerate(blocks_of(plain(getattr(response, "content", None)))):
            kind = str(block.get("type"))
            if told[kind]:
                told[kind] -= 1
                places.add(place)
        return places

    async def _on_start(self, event: str, data: dict[str, Any]) -> HookResult:
        if _asking.get() is not self:
            return HookResult()
        if self._is_aborted:
            self.begin()  # the provider tries again by itself
        index, kind = data.get("block_index", 0), data.get("block_type", "text")
        if kind in _RELAYED:
            self._texts[index], self._kinds[index] = "", kind
            await self._gate.tell(CONTENT_BLOCK_START, {"block_type": kind, "block_index": index})
        return HookResult()

    async def _on_delta(self, event: str, data: dict[str, Any]) -> HookResult:
        index, text = data.get("block_index", 0), data.get("text") or ""
        kind = self._kind_of(index)
        if kind is None:
            return HookResult()
        self._texts[index] += text
        facts = {"block_index": index, "text": text, "sequence": data.get("sequence", 0)}
        await self._gate.tell(CONTENT_BLOCK_DELTA, {**facts, "block_type": kind})
        if kind == "thinking":
            await self._gate.tell(THINKING_DELTA, facts)
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        return HookResult()

    async def _on_end(self, event: str, data: dict[str, Any]) -> HookResult:
        index = data.get("block_index", 0)
        kind = self._kind_of(index)
        if kind is None:
            return HookResult()
        self._ended.add(index)
        text = self._texts[index]
        facts = {"block_type": kind, "block_index": index}
        await self._gate.tell(CONTENT_BLOCK_END, {**facts, "block": {"type": kind, kind: text}})
        if kind == "thinking":
            await self._gate.tell(THINKING_FINAL, {"text": text, "block_index": index})
        return HookResult()

    async def _on_aborted(self, event: str, data: dict[str, Any]) -> HookResult:
        # The text stays until something else comes: it has been read, and may be all there will be.
        if _asking.get() is self:
            self._is_aborted = True
            self._ended.clear()
        return HookResult()

    def _kind_of(self, index: int) -> str | None:
        return self._kinds.get(index) if _asking.get() is self else None


@asynccontextmanager
async def _closing(iterator: Any) -> AsyncGenerator[Any]:
    """Closes the iterator at the end, if it is one that can be closed: only generators must be."""
    try:
        yield iterator
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()

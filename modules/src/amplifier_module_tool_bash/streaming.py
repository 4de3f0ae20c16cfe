"""Tells observers what a command writes, while it runs: seldom enough for any host, and in bounded pieces."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
from typing import Any

from amplifier_modkit.current_call import current_call_id
from amplifier_modkit.processes import STREAMS, Stream
from amplifier_module_tool_bash.events import TOOL_OUTPUT

_INTERVAL_S = 0.1
_MOST_BYTES = 8_192


class OutputTeller:
    """Collects the output of one command and emits it every now and then; ``close`` emits the rest.

    It is made within the call that starts the command, and names that call also when it is over.
    """

    def __init__(self, hooks: Any, tool_name: str, run_id: str) -> None:
        self._hooks = hooks
        call_id = current_call_id()
        self._facts = {"tool_name": tool_name, "run_id": run_id}
        if call_id is not None:
            self._facts["tool_call_id"] = call_id
        self._waiting = {stream: bytearray() for stream in STREAMS}
        self._skipped = dict.fromkeys(STREAMS, 0)
        self._decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in STREAMS}
        self._is_over = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    def take(self, stream: Stream, data: bytes) -> None:
        """Takes what has just come; what nobody could follow is left out."""
        if not self._hooks.has_listeners(TOOL_OUTPUT):
            return
        waiting = self._waiting[stream]
        room = _MOST_BYTES - len(waiting)
        waiting += data[:room]
        self._skipped[stream] += len(data) - len(data[:room])
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell_now_and_then())

    async def close(self) -> None:
        """Emits what is left."""
        self._is_over.set()
        if self._telling is not None:
            await asyncio.wait((self._telling,))

    async def _tell_now_and_then(self) -> None:
        try:
            while any(self._waiting.values()):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._is_over.wait(), _INTERVAL_S)
                await self._tell()
        finally:
            self._telling = None

    async def _tell(self) -> None:
        for stream in STREAMS:
            data, skipped = bytes(self._waiting[stream]), self._skipped[stream]
            self._waiting[stream].clear()
            self._skipped[stream] = 0
            if data:
                text = self._decoders[stream].decode(data, final=skipped > 0)
                await self._hooks.emit(
                    TOOL_OUTPUT, {**self._facts, "stream": stream, "text": text, "skipped_bytes": skipped}
                )

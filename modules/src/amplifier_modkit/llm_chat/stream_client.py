"""Streams as these servers really send them: lines of JSON too, without a last empty line, without a last word.

What is read here in place of the kit's own way is only how a stream is cut into events and how it may end.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager

from amplifier_core.llm_errors import LLMError
from amplifier_modkit.llm.errors import Blame
from amplifier_modkit.llm.http import HttpClient, Incoming, Outgoing
from amplifier_modkit.llm.sse import MAX_EVENT_CHARS, SseDecoder, SseOverflowError
from amplifier_modkit.llm_chat.streams import END_OF_STREAM

_LINE_TYPES = ("ndjson", "jsonl", "json-lines", "stream+json")


class LineDecoder:
    """Turns the bytes of one stream into its lines, each the data of one event; wherever the bytes are cut."""

    def __init__(self, max_event_chars: int = MAX_EVENT_CHARS) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._max_event_chars = max_event_chars
        self._tail = ""

    def feed(self, chunk: bytes) -> Iterator[tuple[str, str]]:
        """The lines that ``chunk`` completes; empty ones are none."""
        *lines, self._tail = (self._tail + self._decode(chunk)).split("\n")
        for line in lines:
            if line.strip():
                yield "message", line
        if len(self._tail) > self._max_event_chars:
            raise SseOverflowError(f"A line of the stream has more than {self._max_event_chars} characters")


class StreamedAnswer(Incoming):
    """An answer whose events are followed by one that says that no more come."""

    def __init__(self, incoming: Incoming) -> None:
        super().__init__(incoming._response, incoming._blame, incoming._timeout_s)

    @property
    def is_json(self) -> bool:
        """Whether the answer is one JSON text, and not one per line."""
        return super().is_json and not self._is_in_lines

    async def events(self) -> AsyncGenerator[tuple[str, str]]:
        """The events, as they come, and last ``END_OF_STREAM``; after that it raises what broke them off, if anything.

        So an answer that has said how it ended is whole, whatever becomes of its connection.
        """
        decoder = LineDecoder() if self._is_in_lines else SseDecoder()
        try:
            async with aclosing(self._bytes()) as chunks:
                async for chunk in chunks:
                    for event in decoder.feed(chunk):
                        yield event
        except LLMError:
            yield END_OF_STREAM, ""
            raise
        for event in decoder.feed(b"\n\n"):
            yield event
        yield END_OF_STREAM, ""

    @property
    def _is_in_lines(self) -> bool:
        kind = self.headers.get("content-type", "").lower()
        return any(name in kind for name in _LINE_TYPES)


class StreamClient(HttpClient):
    """The client of a provider, with its answers read in this way."""

    def __init__(self, inner: HttpClient) -> None:
        self._inner = inner

    @asynccontextmanager
    async def ask(self, outgoing: Outgoing, blame: Blame) -> AsyncGenerator[Incoming]:
        """The answer while its connection is open."""
        async with self._inner.ask(outgoing, blame) as incoming:
            yield StreamedAnswer(incoming)

    async def close(self) -> None:
        """Closes all connections."""
        await self._inner.close()

"""Server-sent events from bytes: wherever the bytes are cut, the events are the same."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

MAX_EVENT_CHARS = 32 * 1024 * 1024
_LINE_END = re.compile("\r\n?")


class SseOverflowError(ValueError):
    """One event is longer than any that a vendor means to send."""


class SseDecoder:
    """Turns the bytes of one stream into its events, each a pair of name and data; lives as long as the stream."""

    def __init__(self, max_event_chars: int = MAX_EVENT_CHARS) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._max_event_chars = max_event_chars
        # In parts, so that a long line in small chunks is put together once, not with every chunk.
        self._line: list[str] = []
        self._line_chars = 0
        self._half_line_end = ""
        self._event = ""
        self._data: list[str] = []
        self._data_chars = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[str, str]]:
        """The events that ``chunk`` completes; one without data is none."""
        for line in self._lines(chunk):
            if line:
                self._take(line)
            elif self._data:
                yield self._end()
            else:
                self._event = ""
        if self._line_chars + self._data_chars > self._max_event_chars:
            raise SseOverflowError(f"An event of the stream has more than {self._max_event_chars} characters")

    def _lines(self, chunk: bytes) -> list[str]:
        text = self._half_line_end + self._decode(chunk)
        self._half_line_end = "\r" if text.endswith("\r") else ""
        text = text.removesuffix(self._half_line_end)
        if "\r" in text:
            text = _LINE_END.sub("\n", text)
        first, *others = text.split("\n")
        self._line.append(first)
        if not others:
            self._line_chars += len(first)
            return []
        whole, self._line = "".join(self._line), [others[-1]]
        self._line_chars = len(others[-1])
        return [whole, *others[:-1]]

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
            self._data_chars += len(value)
        elif name == "event":
            self._event = value

    def _end(self) -> tuple[str, str]:
        data = self._data[0] if len(self._data) == 1 else "\n".join(self._data)
        event = self._event or "message"
        self._event, self._data, self._data_chars = "", [], 0
        return event, data

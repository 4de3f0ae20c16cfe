"""How a run is printed: an answer as text, one JSON object, that with a trace of events, or a line per event."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Protocol

from amplifier.console.display import note
from amplifier.console.formats import OutputFormat
from amplifier.console.plain import escaped, harmless, one_line
from amplifier.console.results import init_of, result_of, stream_line, without_images
from amplifier.runtime.outcome import TurnOutcome

Write = Callable[[str], None]


class Printer(Protocol):
    """Prints one run: told its events while they happen, and at last how it ended."""

    def begin(self, session_id: str, model: str | None, provider: str | None, tools: list[str], cwd: str) -> None:
        """The session is set up."""
        ...

    def event(self, event: str, data: dict[str, Any]) -> None:
        """Something has happened, in the session or one of its children."""
        ...

    def end(self, outcome: TurnOutcome, **more: Any) -> None:
        """A turn is over."""
        ...


class TextPrinter:
    """The answer on standard output; on a terminal while it comes, with a line per tool call on standard error."""

    def __init__(self, write: Write, note: Write, *, is_live: bool, is_verbose: bool) -> None:
        self._write = write
        self._note = note
        self._is_live = is_live
        self._is_verbose = is_verbose
        self._session_id = ""
        self._streamed = ""

    def begin(self, session_id: str, model: str | None, provider: str | None, tools: list[str], cwd: str) -> None:
        """Says, if wanted, what is at work."""
        self._session_id = session_id
        if self._is_verbose:
            self._note(
                f"session {session_id}, {provider or 'provider'} {model or ''}, tools: {', '.join(tools) or 'none'}\n"
            )

    def event(self, event: str, data: dict[str, Any]) -> None:
        """Prints pieces of the answer and names of tools."""
        is_own = data.get("session_id") == self._session_id
        if event == "llm:stream_block_delta" and is_own and self._is_live and data.get("block_type") == "text":
            self._streamed += str(data.get("text") or "")
            self._write(harmless(str(data.get("text") or "")))
        elif event == "llm:stream_block_end" and is_own and self._streamed:
            self._end_line()
        elif event == "tool:pre" and (self._is_live or self._is_verbose):
            name = one_line(str(data.get("tool_name")), 40)
            given = one_line(json.dumps(data.get("tool_input"), ensure_ascii=False, default=str), 100)
            self._note(f"{'' if is_own else '  '}→ {name} {given}\n")
        elif event == "tool:error" and (self._is_live or self._is_verbose):
            self._note(f"  ✗ {one_line(str(data.get('error')))}\n")

    def end(self, outcome: TurnOutcome, **more: Any) -> None:
        """The answer, unless it has been printed as it came."""
        if self._is_live and outcome.text and self._streamed.strip().endswith(outcome.text.strip()):
            self._end_line()
        elif outcome.text:
            self._write(harmless(outcome.text).rstrip("\n") + "\n")
        self._streamed = ""

    def _end_line(self) -> None:
        if not self._streamed.endswith("\n"):
            self._write("\n")
            self._streamed += "\n"


class JsonPrinter:
    """One JSON object at the end; with ``has_trace``, all events in it."""

    def __init__(self, write: Write, *, has_trace: bool) -> None:
        self._write = write
        self._trace: list[dict[str, Any]] | None = [] if has_trace else None

    def begin(self, session_id: str, model: str | None, provider: str | None, tools: list[str], cwd: str) -> None:
        """Prints nothing: there is one object, at the end."""

    def event(self, event: str, data: dict[str, Any]) -> None:
        """Keeps it for the trace."""
        if self._trace is not None:
            self._trace.append({"event": event, "data": without_images(_jsonable(data))})

    def end(self, outcome: TurnOutcome, **more: Any) -> None:
        """The object."""
        trace = {} if self._trace is None else {"trace": self._trace}
        self._write(_line(result_of(outcome, **more, **trace)))


class StreamPrinter:
    """A line of JSON for what happens, as it happens; the last one is the result."""

    def __init__(self, write: Write, *, has_partials: bool) -> None:
        self._write = write
        self._has_partials = has_partials

    def begin(self, session_id: str, model: str | None, provider: str | None, tools: list[str], cwd: str) -> None:
        """The first line."""
        self._write(_line(init_of(session_id, model, provider, tools, cwd)))

    def event(self, event: str, data: dict[str, Any]) -> None:
        """A line, for events of which the stream tells."""
        line = stream_line(event, data, has_partials=self._has_partials)
        if line is not None:
            self._write(_line(line))

    def end(self, outcome: TurnOutcome, **more: Any) -> None:
        """The last line."""
        self._write(_line(result_of(outcome, **more)))


def printer_for(kind: OutputFormat, *, is_verbose: bool, has_partials: bool) -> Printer:
    """The printer for an output format, on this process's streams."""
    if kind == "text":
        is_live = sys.stdout is not None and sys.stdout.isatty()
        return TextPrinter(_to(sys.stdout), note, is_live=is_live, is_verbose=is_verbose)
    if kind == "stream-json":
        return StreamPrinter(_to(sys.stdout), has_partials=has_partials)
    return JsonPrinter(_to(sys.stdout), has_trace=kind == "json-trace")


def _to(stream: Any) -> Write:
    def write(text: str) -> None:
        # A process that was started without standard output has none.
        if stream is not None:
            stream.write(text)
            stream.flush()

    return write


def _line(value: dict[str, Any]) -> str:
    return escaped(json.dumps(_jsonable(value), ensure_ascii=False)) + "\n"


def _jsonable(value: Any) -> Any:
    from amplifier_core.utils.jsonable import to_jsonable

    return to_jsonable(value)

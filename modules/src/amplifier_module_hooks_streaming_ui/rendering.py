"""From events to lines: what each event adds to what is shown. Nothing here knows a terminal.

Everything is kept by session, and every call has a label, so what runs side by side is never taken for one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from amplifier_core.events import (
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    LLM_RESPONSE,
    ORCHESTRATOR_COMPLETE,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
    USER_NOTIFICATION,
)
from amplifier_modkit.pricing import Tokens
from amplifier_module_hooks_streaming_ui.config import UiSettings
from amplifier_module_hooks_streaming_ui.lines import Line, Style, arguments, labelled, outcome, prose, short

_MOST_PROSE_LINES = 200
_LABEL_CHARS, _ID_CHARS = 8, 4
_LEVELS: dict[Any, Style] = {"warning": "bad", "error": "bad"}
_NOTHING = Tokens(0, 0)


@dataclass(slots=True)
class _Session:
    """What is known of one session's turn."""

    said: list[Line] = field(default_factory=list[Line])
    """Text of the model that is shown if the turn goes on; the last of it is the answer, which the host shows."""
    used: Tokens = _NOTHING
    has_report: bool = False


class Renderer:
    """Turns the events of some sessions into lines."""

    def __init__(self, settings: UiSettings) -> None:
        self._settings = settings
        self._sessions: dict[str, _Session] = {}
        self._renderers: dict[str, Callable[[_Session, dict[str, Any]], list[Line]]] = {
            CONTENT_BLOCK_START: self._block_start,
            CONTENT_BLOCK_END: self._block_end,
            PROVIDER_REQUEST: self._request,
            LLM_RESPONSE: self._report,
            PROVIDER_RESPONSE: self._response,
            TOOL_PRE: self._tool_begins,
            TOOL_POST: self._tool_ends,
            TOOL_ERROR: self._tool_fails,
            USER_NOTIFICATION: self._notification,
        }

    @property
    def events(self) -> list[str]:
        """The events that it knows."""
        return [*self._renderers, ORCHESTRATOR_COMPLETE]

    def lines(self, event: str, data: dict[str, Any]) -> list[Line]:
        """What ``event`` adds to what is shown."""
        session = self._sessions.setdefault(_session_id(data), _Session())
        return labelled(self._renderers[event](session, data), label_of(data))

    def end_of_turn(
        self, data: dict[str, Any], turn_cost: Decimal | None = None, session_cost: Decimal | None = None
    ) -> list[Line]:
        """What the end of a turn adds: what it used and cost, once."""
        session = self._sessions.pop(_session_id(data), _Session())
        used = session.used
        if not self._settings.show_token_usage or not (used.total or session_cost):
            return []
        cached = f" ({100 * used.cache_read // used.input} % cached)" if used.cache_read else ""
        parts = [f"Input: {used.input:,}{cached}", f"Output: {used.output:,}", f"Total: {used.total:,}"]
        if session_cost is not None:
            parts.append(f"Turn: ${turn_cost or Decimal(0):.4f}")
            parts.append(f"Session: ${session_cost:.4f}")
        return labelled([Line(" | ".join(parts), "quiet")], label_of(data))

    def _block_start(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        is_shown = data.get("block_type") == "thinking" and self._settings.show_thinking_stream
        return [*_taken(session), Line("Thinking…", "quiet")] if is_shown else []

    def _block_end(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        block: Any = data.get("block")
        if not isinstance(block, Mapping):
            block = getattr(block, "__dict__", {})
        found = cast("Mapping[str, Any]", block)
        if data.get("block_type") == "thinking" and self._settings.show_thinking_stream:
            return prose(_text(found.get("thinking")), "quiet", _MOST_PROSE_LINES)
        if data.get("block_type") == "text" and _text(found.get("text")).strip():
            shown = _taken(session)
            session.said = prose(_text(found.get("text")), "plain", _MOST_PROSE_LINES)
            return shown
        return []

    def _request(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        session.has_report = False
        return _taken(session)

    def _report(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        if data.get("usage") is not None:
            session.has_report = True
            _add(session, data.get("usage"))
        return []

    def _response(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        # Where the provider has reported the call itself, the loop only says it again.
        if not session.has_report:
            _add(session, data.get("usage"))
        return []

    def _tool_begins(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        details = arguments(data.get("tool_input"), self._settings.show_tool_lines)
        return [*_taken(session), Line(f"> {_call(data)}", "title"), *details]

    def _tool_ends(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        is_success, details = outcome(data.get("tool_result"), self._settings.show_tool_lines)
        style: Style = "good" if is_success else "bad"
        return [Line(_call(data), style), *(_indented(line) for line in details)]

    def _tool_fails(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        error: Any = data.get("error")
        told = cast("Mapping[str, Any]", error).get("msg") if isinstance(error, Mapping) else error
        details = prose(_text(told), "quiet", self._settings.show_tool_lines) if told else []
        return [Line(_call(data), "bad"), *(_indented(line) for line in details)]

    def _notification(self, session: _Session, data: dict[str, Any]) -> list[Line]:
        return prose(_text(data.get("message")), _LEVELS.get(_text(data.get("level")), "plain"), _MOST_PROSE_LINES)


def label_of(data: dict[str, Any]) -> str:
    """Whose an event is: nothing for the session that a person talks to, else the agent's name and a part of its id.

    Ids of children end in ``_<agent>``; several of one agent may be at work at the same time.
    """
    if not data.get("parent_id"):
        return ""
    session_id, _, name = short(_session_id(data)).rpartition("_")
    if not session_id:
        return f"[{name[-_LABEL_CHARS:]}]"
    return f"[{name} {session_id[-_ID_CHARS:]}]"


def _call(data: dict[str, Any]) -> str:
    name = short(_text(data.get("tool_name"))) or "tool"
    call_id = short(_text(data.get("tool_call_id")))
    return f"{name} [{call_id[-_LABEL_CHARS:]}]" if call_id else name


def _taken(session: _Session) -> list[Line]:
    said, session.said = session.said, []
    return said


def _add(session: _Session, usage: Any) -> None:
    tokens, before = Tokens.of(usage), session.used
    session.used = Tokens(
        before.input + tokens.input, before.output + tokens.output, before.cache_read + tokens.cache_read
    )


def _indented(line: Line) -> Line:
    return Line(line.text, "quiet", 2, line.label, line.is_prose)


def _session_id(data: dict[str, Any]) -> str:
    return _text(data.get("session_id"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""From events to changes: what each event of a session and its children adds to the conversation.

Finished changes are given away and not kept; what is kept is what is open: a block per session, and running calls. So
the work per event and the memory do not grow with the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from amplifier.tui.view.calls import CallBoard
from amplifier.tui.view.changes import ROOT, Begun, Change, Note, Speaker
from amplifier.tui.view.diffs import Former
from amplifier.tui.view.module_events import (
    AGENT_BEGINS,
    AGENT_ENDS,
    LLM_STREAM_ABORTED,
    LLM_STREAM_BLOCK_DELTA,
    LLM_STREAM_BLOCK_END,
    LLM_STREAM_BLOCK_START,
    TOOL_OUTPUT,
)
from amplifier.tui.view.notes import NOTED, note_of
from amplifier.tui.view.speech import Speech
from amplifier_core.events import (
    APPROVAL_DENIED,
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    EXECUTION_END,
    LLM_REQUEST,
    PROVIDER_REQUEST,
    SESSION_END,
    THINKING_FINAL,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
)

_UNNAMED = "agent"


class Transcript:
    """A conversation as it goes; ``speeches`` and ``calls`` are what is still open."""

    def __init__(self, clock: Callable[[], float], former: Former = lambda path: None) -> None:
        self.calls = CallBoard(former)
        self._clock = clock
        self._speeches: dict[str, Speech] = {}
        self._speakers: dict[str, Speaker] = {}
        self._handlers: dict[str, Callable[[dict[str, Any]], list[Change]]] = {
            LLM_STREAM_BLOCK_DELTA: self._streamed,
            LLM_STREAM_BLOCK_START: self._stream_begun,
            LLM_STREAM_BLOCK_END: self._stream_ended,
            LLM_STREAM_ABORTED: self._closed,
            CONTENT_BLOCK_DELTA: self._block_continued,
            CONTENT_BLOCK_END: self._block_ended,
            THINKING_FINAL: self._thought,
            PROVIDER_REQUEST: self._gone_on,
            LLM_REQUEST: self._asked,
            APPROVAL_DENIED: self._call_denied,
            TOOL_PRE: self._call_begun,
            TOOL_OUTPUT: self._call_wrote,
            TOOL_POST: self._call_ended,
            TOOL_ERROR: self._call_ended,
            EXECUTION_END: self._turn_ended,
            SESSION_END: self._session_ended,
            **dict.fromkeys(AGENT_BEGINS, self._agent_begun),
            **dict.fromkeys(AGENT_ENDS, self._agent_ended),
        }

    def apply(self, event: str, data: dict[str, Any]) -> list[Change]:
        """What an event adds; an unknown one adds nothing."""
        handler = self._handlers.get(event)
        changes = [] if handler is None else handler(data)
        told = note_of(event, data)
        if told is not None:
            changes = [*changes, Note(*told, self._speaker(data))]
        return changes

    @property
    def events(self) -> list[str]:
        """Names of the events that can add something."""
        return [*self._handlers, *NOTED]

    @property
    def speeches(self) -> Iterator[Speech]:
        """Those who have begun to say something and not ended."""
        return (speech for speech in self._speeches.values() if speech.open is not None)

    def _streamed(self, data: dict[str, Any]) -> list[Change]:
        kind, text = str(data.get("block_type") or "text"), str(data.get("text") or "")
        return self._speech(data).add("provider", kind, text, self._clock())

    def _stream_begun(self, data: dict[str, Any]) -> list[Change]:
        kind, name = str(data.get("block_type") or "text"), str(data.get("name") or "")
        return self._speech(data).begin("provider", kind, self._clock(), name)

    def _stream_ended(self, data: dict[str, Any]) -> list[Change]:
        return self._speech(data).end_block("provider", self._clock())

    def _closed(self, data: dict[str, Any]) -> list[Change]:
        return self._speech(data).end(self._clock())

    def _block_continued(self, data: dict[str, Any]) -> list[Change]:
        kind, text = str(data.get("block_type") or "text"), str(data.get("text") or "")
        return self._speech(data).add("loop", kind, text, self._clock())

    def _block_ended(self, data: dict[str, Any]) -> list[Change]:
        speech, now = self._speech(data), self._clock()
        kind, text = _block(data)
        return [*(speech.end_block("loop", now) if speech.open is not None else []), *speech.whole(kind, text, now)]

    def _thought(self, data: dict[str, Any]) -> list[Change]:
        return self._speech(data).whole("thinking", str(data.get("text") or ""), self._clock())

    def _asked(self, data: dict[str, Any]) -> list[Change]:
        return self._speech(data).next_answer(self._clock())

    def _gone_on(self, data: dict[str, Any]) -> list[Change]:
        """The loop asks its model again: it has a result of every call, also of those that hooks did not let run."""
        return [*self.calls.stop(str(data.get("session_id") or ""), self._clock()), *self._asked(data)]

    def _call_denied(self, data: dict[str, Any]) -> list[Change]:
        self.calls.deny(data)
        return []

    def _call_begun(self, data: dict[str, Any]) -> list[Change]:
        denied = self.calls.denied(data, self._speaker(data))
        if denied is not None:
            return [*self._closed(data), denied]
        call = self.calls.begin(data, self._speaker(data), self._clock())
        return [*self._closed(data), Begun(call.name, call.given, call.speaker)]

    def _call_wrote(self, data: dict[str, Any]) -> list[Change]:
        self.calls.write(data)
        return []

    def _call_ended(self, data: dict[str, Any]) -> list[Change]:
        return [self.calls.end(data, self._speaker(data), self._clock())]

    def _turn_ended(self, data: dict[str, Any]) -> list[Change]:
        """Ends what is open in the session; the turn of the session itself ends what its agents have left open."""
        if not data.get("parent_id"):
            return [change for session_id in self._open_sessions() for change in self._close(session_id)]
        return self._close(str(data.get("session_id") or ""))

    def _open_sessions(self) -> list[str]:
        """Agents before those who sent them."""
        return list(reversed(dict.fromkeys([*self._speeches, *(call.session_id for call in self.calls)])))

    def _close(self, session_id: str) -> list[Change]:
        now = self._clock()
        speech = self._speeches.pop(session_id, None)
        return [*([] if speech is None else speech.end(now)), *self.calls.stop(session_id, now)]

    def _session_ended(self, data: dict[str, Any]) -> list[Change]:
        changes = self._turn_ended(data)
        self._speakers.pop(str(data.get("session_id") or ""), None)
        return changes

    def _agent_begun(self, data: dict[str, Any]) -> list[Change]:
        self.calls.send(data, str(data.get("sub_session_id")))
        self._name(str(data.get("sub_session_id")), str(data.get("agent") or _UNNAMED), self._speaker(data).depth + 1)
        return []

    def _agent_ended(self, data: dict[str, Any]) -> list[Change]:
        child = str(data.get("sub_session_id"))
        self._speakers.pop(child, None)
        return self._close(child)

    def _speech(self, data: dict[str, Any]) -> Speech:
        session_id = data.get("session_id") or ""
        speech = self._speeches.get(session_id)
        if speech is None:
            speech = self._speeches[session_id] = Speech(self._speaker(data))
        return speech

    def _speaker(self, data: dict[str, Any]) -> Speaker:
        session_id, parent_id = data.get("session_id") or "", data.get("parent_id")
        if not parent_id:
            return ROOT
        known = self._speakers.get(session_id)
        return known or self._name(session_id, _UNNAMED, self._speakers.get(parent_id, ROOT).depth + 1)

    def _name(self, session_id: str, agent: str, depth: int) -> Speaker:
        """A label that no other agent at work has."""
        taken = {each.label for each in self._speakers.values()}
        label, number = agent, 1
        while label in taken:
            number += 1
            label = f"{agent} {number}"
        speaker = self._speakers[session_id] = Speaker(label, depth)
        return speaker


def _block(data: dict[str, Any]) -> tuple[str, str]:
    """The kind and the text of a whole block, be it an object or a dict."""
    block: Any = data.get("block")
    fields = cast("dict[str, Any]", block if isinstance(block, dict) else getattr(block, "__dict__", {}))
    kind = str(data.get("block_type") or fields.get("type") or "")
    return kind, str(fields.get("thinking" if kind == "thinking" else "text") or "")

"""The tool calls that are running, each with the last lines it has written."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from amplifier.tui.view.call_words import found_by, result_of
from amplifier.tui.view.changes import Call, Speaker
from amplifier.tui.view.diffs import Diff, Former, diff_of

_TAIL = 3
_MOST_LINE = 2_000
_FOR_THE_MODEL = re.compile(r"; do not try .*\Z", re.DOTALL)
"""What a guard adds to a refusal for which nobody gave a reason."""


@dataclass(slots=True)
class RunningCall:
    """A call from its beginning to its end."""

    session_id: str
    call_id: str
    name: str
    given: Any
    speaker: Speaker
    began: float
    diff: Diff | None = None
    run_id: str | None = None
    agents: set[str] = field(default_factory=set[str])
    """The sessions that it has begun."""
    tail: deque[str] = field(default_factory=lambda: deque([""], maxlen=_TAIL + 1))

    def write(self, text: str) -> None:
        """Takes a piece of what the call writes while it runs; only the end is kept."""
        first, *others = text[-_MOST_LINE * (_TAIL + 1) :].split("\n")
        self.tail[-1] = (self.tail[-1] + first)[-_MOST_LINE:]
        self.tail.extend(line[-_MOST_LINE:] for line in others)

    def last_lines(self) -> list[str]:
        """The last lines that have something in them."""
        return [line for line in self.tail if line.strip()][-_TAIL:]


class CallBoard:
    """All running calls of a session and its children, in the order in which they began."""

    def __init__(self, former: Former) -> None:
        self._former = former
        self._running: dict[tuple[str, str], RunningCall] = {}
        self._denied: dict[tuple[str, str], str] = {}
        """Why calls that are about to be told of will not run."""

    def __iter__(self) -> Iterator[RunningCall]:
        return iter(self._running.values())

    def __len__(self) -> int:
        return len(self._running)

    def in_order(self) -> list[RunningCall]:
        """The calls of an agent below the one that has sent it."""
        sent = {agent for call in self for agent in call.agents}
        return [each for call in self if call.session_id not in sent for each in self._with_agents(call)]

    def send(self, data: dict[str, Any], agent: str) -> None:
        """A call has begun the session of an agent."""
        call = self._running.get((_session(data), _id(data)))
        if call is not None and agent != call.session_id:
            call.agents.add(agent)

    def begin(self, data: dict[str, Any], speaker: Speaker, now: float) -> RunningCall:
        """A call begins."""
        session_id, call_id, name = _session(data), _id(data), str(data.get("tool_name"))
        given = data.get("tool_input")
        diff = diff_of(name, given, self._former)
        call = RunningCall(session_id, call_id, name, given, speaker, now, diff)
        self._running[session_id, call_id] = call
        return call

    def deny(self, data: dict[str, Any]) -> None:
        """A call was refused; that is told before the call itself."""
        self._denied[_session(data), _id(data)] = _FOR_THE_MODEL.sub("", str(data.get("reason") or ""))

    def denied(self, data: dict[str, Any], speaker: Speaker) -> Call | None:
        """The call, if it was refused: by a guard of its session, or of the parent."""
        for session_id in (_session(data), str(data.get("parent_id") or "")):
            reason = self._denied.pop((session_id, _id(data)), None)
            if reason is not None:
                return Call(str(data.get("tool_name")), data.get("tool_input"), "bad", error=reason, speaker=speaker)
        return None

    def write(self, data: dict[str, Any]) -> None:
        """A call has written something; whose it is, is told by its id, else by the order in which calls began."""
        call = self._writer(data)
        if call is not None:
            call.write(str(data.get("text") or ""))

    def end(self, data: dict[str, Any], speaker: Speaker, now: float) -> Call:
        """A call is over, also one whose beginning nobody saw."""
        call = self._running.pop((_session(data), _id(data)), None) or self._unseen(data, speaker, now)
        is_good, output, error = result_of(data)
        milliseconds: Any = data.get("duration_ms")
        is_told = isinstance(milliseconds, int | float) and isfinite(milliseconds)
        seconds: float = milliseconds / 1000 if is_told else now - call.began
        ending = "good" if is_good else "bad"
        return Call(call.name, call.given, ending, output, error, seconds, call.diff, found_by(data), call.speaker)

    def stop(self, session_id: str, now: float) -> list[Call]:
        """The calls of a session that will never end, since it has, or has gone on without them."""
        self._denied = {key: reason for key, reason in self._denied.items() if key[0] != session_id}
        keys = [key for key in self._running if key[0] == session_id]
        stopped = [self._running.pop(key) for key in keys]
        return [
            Call(each.name, each.given, "stopped", seconds=now - each.began, speaker=each.speaker) for each in stopped
        ]

    def _with_agents(self, call: RunningCall) -> Iterator[RunningCall]:
        yield call
        for other in self:
            if other.session_id in call.agents:
                yield from self._with_agents(other)

    def _unseen(self, data: dict[str, Any], speaker: Speaker, now: float) -> RunningCall:
        call = self.begin(data, speaker, now)
        del self._running[call.session_id, call.call_id]
        return call

    def _writer(self, data: dict[str, Any]) -> RunningCall | None:
        session_id, run_id = _session(data), str(data.get("run_id"))
        if data.get("tool_call_id"):
            return self._running.get((session_id, _id(data)))
        mine = [each for each in self if each.session_id == session_id and each.name == data.get("tool_name")]
        known = next((each for each in mine if each.run_id == run_id), None)
        if known is None and (known := next((each for each in mine if each.run_id is None), None)) is not None:
            known.run_id = run_id
        return known


def _session(data: dict[str, Any]) -> str:
    return str(data.get("session_id") or "")


def _id(data: dict[str, Any]) -> str:
    return str(data.get("tool_call_id") or data.get("tool_name"))

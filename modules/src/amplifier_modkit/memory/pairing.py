"""Tool calls and their results brought together: in what is sent, every call is followed by its result.

The history may be broken, by a crash or a foreign writer; what is sent never is. Each repair is noted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, cast

from amplifier_modkit.memory.shapes import is_real_user, source_of
from amplifier_modkit.memory.wording import make_sendable, valid_name
from amplifier_modkit.messages import RESULT_BLOCKS, CallRef, Message, calls_in, links_in, results_in

SYNTHETIC_RESULT = "synthetic_result"
_NO_RESULT = (
    "[No result: this tool call was interrupted before its result was stored. "
    "It may or may not have had an effect; check before you repeat it.]"
)


class Healed(NamedTuple):
    """Messages that can be sent, and what was done to them."""

    messages: list[Message]
    notes: list[str]


def heal(messages: Iterable[Message]) -> Healed:
    """A conversation in which every tool call is followed by its results and every result has its call.

    Calls without a result get one that says so, results without a call and second ones are left out, and what stands
    between a call and its results moves behind them. A sound conversation comes back as it is.
    """
    pairing = Pairing()
    for message in messages:
        pairing.add(message)
    return pairing.healed()


class Pairing:
    """Heals a conversation while it grows: adding to a sound one takes the same time at any length.

    What is before the first open call is settled for good. A late result is still taken, until the user has spoken and
    the model has answered: then the conversation has gone on without it.
    """

    def __init__(self) -> None:
        self._settled: list[Message] = []
        self._notes: list[str] = []
        self._awaited: set[str] = set()
        """Calls without a result; what came since the message that makes them is settled, as long as it is in order."""
        self._awaited_since = 0
        """The place of that message."""
        self._group: _Group | None = None
        """The messages since the first call that is still open, once something came that is out of order."""

    def add(self, message: Message) -> None:
        """Takes the next message of the conversation."""
        message, notes = make_sendable(message)
        if notes:
            self._notes += notes
        if self._group is None and not self._is_in_order(message):
            self._group = self._take_back()
        if self._group is not None and self._group.is_left_behind_by(message):
            self._settle(self._group)
            self._group = None if self._is_in_order(message) else _Group()
        if self._group is None:
            self._settled.append(message)
            return
        self._group.add(message)
        if not self._group.open:
            self._settle(self._group)

    def healed(self) -> Healed:
        """The conversation so far, in a list of the caller's own; open calls have their synthetic result."""
        if self._awaited:
            self._group = self._take_back()
        if self._group is None:
            return Healed(self._settled.copy(), self._notes)
        messages, notes = self._group.healed()
        return Healed(self._settled + messages, self._notes + notes)

    def _is_in_order(self, message: Message) -> bool:
        """Whether a message follows as it should: after calls come all their results, and no result comes else."""
        calls, results = links_in(message)
        if self._awaited:
            if calls or not results or not self._awaited.issuperset(results):
                return False
            self._awaited.difference_update(results)
        elif results or message.get("role") == "tool":
            return False
        elif calls:
            self._awaited.update(calls)
            self._awaited_since = len(self._settled)
        return True

    def _take_back(self) -> _Group:
        """The messages since the calls that still wait for a result, as a group; an empty one if none do."""
        group = _Group()
        if self._awaited:
            for message in self._settled[self._awaited_since :]:
                group.add(message)
            del self._settled[self._awaited_since :]
            self._awaited.clear()
        return group

    def _settle(self, group: _Group) -> None:
        messages, notes = group.healed()
        self._settled += messages
        self._notes += notes
        self._group = None


class _Group:
    """Messages from a call on, until every call among them has its result."""

    __slots__ = ("_answers", "_given_up", "_messages", "_notes", "_user_has_spoken", "open")

    def __init__(self) -> None:
        self.open: dict[str, tuple[int, CallRef]] = {}
        """Calls without a result by their ids, each with the place of the message that makes it."""
        self._given_up: list[tuple[int, CallRef]] = []
        """Calls whose id was used again before a result came."""
        self._messages: list[Message] = []
        self._answers: dict[int, list[tuple[int, Message]]] = {}
        """By calling message: the messages that answer it, each with the place it came at."""
        self._notes: list[str] = []
        self._user_has_spoken = False

    def is_left_behind_by(self, message: Message) -> bool:
        """Whether the conversation goes on, with ``message``, without the results that are missing."""
        return self._user_has_spoken and message.get("role") == "assistant" and source_of(message) is None

    def add(self, message: Message) -> None:
        """Takes a message: a call, a result, or something in between."""
        calls, results = calls_in(message), results_in(message)
        place = len(self._messages)
        # A message may answer its own calls; those results stay where they are.
        foreign = [each for each in results if all(each != call.id for call in calls)]
        if foreign or message.get("role") == "tool":
            rest = self._take_results(message, foreign, place)
            if rest is None:
                return
            message = rest
        self._messages.append(message)
        for call in calls:
            if call.id in self.open:
                self._given_up.append(self.open[call.id])
            if call.id not in results:
                self.open[call.id] = (place, call)
        self._user_has_spoken = self._user_has_spoken or is_real_user(message)

    def healed(self) -> Healed:
        """The messages in order, each calling one followed by all its results."""
        missing: dict[int, list[CallRef]] = {}
        for place, call in (*self._given_up, *self.open.values()):
            missing.setdefault(place, []).append(call)
        healed: list[Message] = []
        notes = self._notes.copy()
        for place, message in enumerate(self._messages):
            healed.append(message)
            for came_at, answer in self._answers.get(place, ()):
                healed.append(answer)
                if came_at > place + 1:
                    notes.append(f"{came_at - place - 1} messages between a tool call and its result are moved behind")
            for call in missing.get(place, ()):
                healed.append(_synthetic_result(call))
                notes.append(f"Tool call '{call.id}' of '{call.name}' has no result and gets a synthetic one")
        return Healed(healed, notes)

    def _take_results(self, message: Message, ids: Sequence[str], place: int) -> Message | None:
        """Puts the results in ``message`` behind their calls; gives what is in it beside them, if anything."""
        by_caller: dict[int, list[str]] = {}
        for call_id in ids:
            if call_id in self.open:
                by_caller.setdefault(self.open.pop(call_id)[0], []).append(call_id)
            else:
                self._notes.append(f"A result of tool call '{call_id}' is left out: no call is waiting for it")
        if not ids:
            self._notes.append("A tool result without 'tool_call_id' is left out: it belongs to no call")
        for caller, answered in by_caller.items():
            answer = message if len(answered) == len(ids) else _with_results(message, answered)
            self._answers.setdefault(caller, []).append((place, answer))
        is_taken = any(len(answered) == len(ids) for answered in by_caller.values())
        if is_taken or message.get("role") == "tool":
            return None
        rest = _with_results(message, ())
        return rest if rest["content"] else None


def _with_results(message: Message, ids: Collection[str]) -> Message:
    """``message`` with only these of its result blocks; with none, only what is beside them."""
    kept: list[Any] = []
    for block in cast("list[Any]", message["content"] if isinstance(message.get("content"), list) else []):
        entries = cast("Message", block) if isinstance(block, dict) else {}
        call_id = entries.get("tool_call_id", entries.get("tool_use_id"))
        if (str(call_id) in ids) if entries.get("type") in RESULT_BLOCKS else not ids:
            kept.append(cast("Any", block))
    named = {"tool_call_id": next(iter(ids))} if ids and message.get("role") == "tool" else {}
    return {**message, **named, "content": kept}


def _synthetic_result(call: CallRef) -> Message:
    return {
        "role": "tool",
        "tool_call_id": call.id,
        "name": valid_name(call.name),
        "content": _NO_RESULT,
        "metadata": {"source": "context", "kind": SYNTHETIC_RESULT, "is_error": True},
    }

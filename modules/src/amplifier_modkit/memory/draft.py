"""A plan in the making: the messages of a view as units, their tokens, and what has been decided about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from amplifier_modkit.memory.plan import Plan, gaps_between
from amplifier_modkit.memory.shapes import cut, is_real_user, is_result, is_system, source_of, stub
from amplifier_modkit.memory.tokens import estimate
from amplifier_modkit.messages import Message, calls_in, results_in

UnitKind = Literal["system", "user", "turn"]


class Unit(NamedTuple):
    """What is kept or dropped as a whole: one message, or a message that calls tools with all its results."""

    kind: UnitKind
    indices: tuple[int, ...]


class Draft:
    """The view of a history as it was, and what a compaction does to it; lives for one compaction.

    ``tokens`` has an entry for every message that is still shown.
    """

    def __init__(self, history: Sequence[Message], estimates: Sequence[int], previous: Plan) -> None:
        self.history = history
        self.previous = previous
        self.covers = len(history)
        self.level = 0
        """The last step that was needed."""
        self._stubbed = set(previous.stubbed)
        self._clipped = dict(previous.clipped)
        self.tokens = {index: estimates[index] for index in previous.kept(self.covers)}
        for index, message in previous.shaped(history):
            if index is not None and message is not history[index]:
                self.tokens[index] = estimate(message)
        self.total = sum(self.tokens.values())
        self.units = units_of(history, list(self.tokens))
        self.last_user = self._last(lambda unit: unit.kind == "user")
        """What the user said last."""
        self.last_turn = self._last(lambda unit: _is_by_model(history[unit.indices[0]]))
        """What the model said last, with the results of its calls."""

    @property
    def is_changed(self) -> bool:
        """Whether anything is shorter than before."""
        return self.plan() != Plan(self.covers, self.previous.dropped, self.previous.stubbed, self.previous.clipped)

    def is_kept(self, unit: Unit) -> bool:
        """Whether a unit is still shown."""
        return unit.indices[0] in self.tokens

    def results(self) -> list[int]:
        """The tool results that are still shown, oldest first."""
        return [index for index in self.tokens if is_result(self.history[index])]

    def drop(self, unit: Unit) -> None:
        """Leaves a unit out."""
        for index in unit.indices:
            self.total -= self.tokens.pop(index)

    def keep_stub(self, index: int) -> None:
        """Shows a message as a stand-in, also one that was left out; one that is short stays as it is."""
        message = stub(self.history[index])
        tokens = estimate(message)
        if tokens < self.tokens.get(index, tokens + 1):
            self._set_tokens(index, tokens)
            if message is not self.history[index]:
                self._stubbed.add(index)

    def shown(self, index: int) -> Message:
        """A message as it is shown now."""
        message = self.history[index]
        message = stub(message) if index in self._stubbed else message
        return cut(message, self._clipped[index]) if index in self._clipped else message

    def cut(self, index: int, max_chars: int) -> None:
        """Shortens a message, unless that saves nothing."""
        message = self.history[index]
        tokens = estimate(cut(stub(message) if index in self._stubbed else message, max_chars))
        if tokens < self.tokens[index]:
            self._clipped[index] = max_chars
            self._set_tokens(index, tokens)

    def plan(self) -> Plan:
        """What was decided, without the texts that go with it."""
        return Plan(
            covers=self.covers,
            dropped=gaps_between(sorted(self.tokens), self.covers),
            stubbed=tuple(sorted(self._stubbed & self.tokens.keys())),
            clipped=tuple(sorted((index, chars) for index, chars in self._clipped.items() if index in self.tokens)),
        )

    def newly_dropped(self) -> list[Message]:
        """The messages that were shown before and are left out now, oldest first."""
        return [self.history[index] for index in self.previous.kept(self.covers) if index not in self.tokens]

    def counts(self) -> dict[str, int]:
        """What the decisions come to, as the fields of the event that tells of them."""
        plan = self.plan()
        return {
            "messages_removed": sum(end - first for first, end in plan.dropped),
            "messages_truncated": len(plan.clipped),
            "user_messages_stubbed": len(plan.stubbed),
            "system_messages_preserved": sum(1 for index in self.tokens if is_system(self.history[index])),
        }

    def _last(self, is_wanted: Callable[[Unit], bool]) -> Unit | None:
        return next((unit for unit in reversed(self.units) if is_wanted(unit)), None)

    def _set_tokens(self, index: int, tokens: int) -> None:
        self.total += tokens - self.tokens.get(index, 0)
        self.tokens[index] = tokens


def units_of(history: Sequence[Message], indices: Sequence[int]) -> list[Unit]:
    """The messages at ``indices`` as units, in the order in which they begin.

    A result belongs to the last message before it that made the call.
    """
    units: list[tuple[UnitKind, list[int]]] = []
    callers: dict[str, list[int]] = {}
    for index in indices:
        message = history[index]
        home = next((callers[each] for each in results_in(message) if each in callers), None)
        if home is not None:
            home.append(index)
            continue
        members = [index]
        units.append((_kind_of(message), members))
        callers.update((call.id, members) for call in calls_in(message))
    return [Unit(kind, tuple(members)) for kind, members in units]


def _kind_of(message: Message) -> UnitKind:
    if is_system(message):
        return "system"
    return "user" if is_real_user(message) else "turn"


def _is_by_model(message: Message) -> bool:
    return message.get("role") == "assistant" and source_of(message) is None

"""The steps of a compaction, from the mildest to the last resort; each is taken only if those before were not enough.

Never dropped: instructions, the last message of the user, and the most recent units. A tool call and its results stay
or go together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from amplifier_modkit.memory.draft import Draft, Unit
from amplifier_modkit.memory.plan import Plan
from amplifier_modkit.memory.shapes import is_real_user, is_system, source_of, text_length, water_level
from amplifier_modkit.messages import Message

# Below this a clipped message says hardly more than that it was clipped.
_LEAST_TOKENS = 50
_PASSES = 3


@dataclass(frozen=True, slots=True)
class Goal:
    """How far down a compaction has to go, in estimated tokens of the messages alone."""

    target: float
    """Where the mild steps go."""
    limit: float
    """What must not be exceeded; only for this are recent messages cut."""
    budget: float
    protected_recent: float
    """How many tokens at the end are left alone."""
    protected_tool_results: int
    truncate_chars: int


def draft_compaction(history: Sequence[Message], estimates: Sequence[int], previous: Plan, goal: Goal) -> Draft:
    """What to do with the view of ``history`` under the ``previous`` plan, so that it meets the goal if it can.

    What was shortened stays so: a compaction only goes on where the last one ended.
    """
    draft = Draft(history, estimates, previous)
    steps: tuple[tuple[float, Callable[[Draft, Goal], None]], ...] = (
        (goal.target, _cut_old_results),
        (goal.target, _drop_old_turns),
        (goal.target, _drop_all_but_the_latest),
        (goal.limit, _cut_recent_results),
        (goal.limit, _clip_the_largest),
    )
    for level, (enough, step) in enumerate(steps, start=1):
        if draft.total > enough:
            step(draft, goal)
            draft.level = level
    return draft


def _cut_old_results(draft: Draft, goal: Goal) -> None:
    results = draft.results()
    latest = {index for unit in _tail(draft, goal.protected_recent) for index in unit.indices}
    latest.update(results[max(0, len(results) - goal.protected_tool_results) :])
    latest.update(draft.last_turn.indices if draft.last_turn else ())
    _cut(draft, [index for index in results if index not in latest], goal.target, goal.truncate_chars)


def _drop_old_turns(draft: Draft, goal: Goal) -> None:
    for unit in _droppable(draft, goal.protected_recent):
        if draft.total <= goal.target:
            return
        if unit.kind == "user":
            draft.keep_stub(unit.indices[0])
        else:
            draft.drop(unit)


def _drop_all_but_the_latest(draft: Draft, goal: Goal) -> None:
    for unit in _droppable(draft, goal.protected_recent / 2):
        if draft.total <= goal.target:
            break
        draft.drop(unit)
    _begin_with_user(draft)


def _begin_with_user(draft: Draft) -> None:
    """Gives the user the first word, as providers want it: a stand-in of the last thing said before what is left."""
    first = next((unit for unit in draft.units if unit.kind != "system" and draft.is_kept(unit)), None)
    if first is None or draft.history[first.indices[0]].get("role") == "user":
        return
    for index in range(first.indices[0] - 1, -1, -1):
        if is_real_user(draft.history[index]):
            draft.keep_stub(index)
            return


def _cut_recent_results(draft: Draft, goal: Goal) -> None:
    _cut(draft, draft.results()[:-1], goal.limit, goal.truncate_chars)


def _clip_the_largest(draft: Draft, goal: Goal) -> None:
    _drop_hook_instructions(draft, goal.limit)
    last_user = -1 if draft.last_user is None else draft.last_user.indices[0]
    others = [index for index in draft.tokens if index != last_user and not is_system(draft.history[index])]
    _clip_to_fit(draft, others, goal.limit)
    if draft.tokens.get(last_user, 0) > goal.budget:
        _clip_to_fit(draft, [last_user], goal.limit)


def _drop_hook_instructions(draft: Draft, limit: float) -> None:
    """Drops what hooks put in as instructions, oldest first; the application's own instructions are not theirs."""
    for unit in draft.units:
        if draft.total > limit and unit.kind == "system" and source_of(draft.history[unit.indices[0]]) == "hook":
            draft.drop(unit)


def _clip_to_fit(draft: Draft, indices: Sequence[int], limit: float) -> None:
    """Clips the largest of the messages to one level, so low that the view fits if it can."""
    # What characters cost differs within a text, so one pass comes near, and the next ones nearer.
    for _ in range(_PASSES):
        if draft.total <= limit:
            return
        sizes = [draft.tokens[index] for index in indices]
        level = max(_LEAST_TOKENS, water_level(sizes, int(limit - (draft.total - sum(sizes)))))
        for index, size in zip(indices, sizes, strict=True):
            if size > level:
                draft.cut(index, int(text_length(draft.shown(index)) * level / size))


def _cut(draft: Draft, indices: Iterable[int], enough: float, max_chars: int) -> None:
    for index in indices:
        if draft.total <= enough:
            return
        draft.cut(index, max_chars)


def _droppable(draft: Draft, tail_tokens: float) -> list[Unit]:
    """What may be dropped while the tail is left alone, oldest first."""
    protected = {*_tail(draft, tail_tokens), draft.last_user, draft.last_turn}
    return [unit for unit in draft.units if unit.kind != "system" and unit not in protected and draft.is_kept(unit)]


def _tail(draft: Draft, tokens: float) -> list[Unit]:
    """The latest units that together have at most ``tokens``; instructions do not count."""
    tail: list[Unit] = []
    for unit in reversed(draft.units):
        if unit.kind == "system" or not draft.is_kept(unit):
            continue
        tokens -= sum(draft.tokens[index] for index in unit.indices)
        if tokens < 0:
            break
        tail.append(unit)
    return tail

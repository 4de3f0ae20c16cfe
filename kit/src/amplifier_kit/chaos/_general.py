"""Faults that every kind of module meets."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from itertools import takewhile

from amplifier_core.interfaces import implements
from amplifier_kit.chaos._calls import Call, cancel_at
from amplifier_kit.chaos._exercises import Exercise, raise_if, require_sound
from amplifier_kit.chaos._kinds import KINDS, Kind
from amplifier_kit.chaos._stage import BrokenPromiseError, Stage, Subject

_GRACE_TURNS = 5
_GRACE_S = 0.5


async def mount(subject: Subject) -> None:
    """Nothing is wrong at all."""
    async with subject.stage() as stage:
        await require_sound(stage, _kind(subject).ordinary(stage))


async def cancelled(subject: Subject) -> None:
    """Each call is cancelled at each of its waits."""
    for position in await _positions(subject):
        await subject.sweep(partial(_cancel_once, subject, position))


async def failing_collaborators(subject: Subject) -> None:
    """Whoever the module turns to raises."""
    for case in _kind(subject).failures:
        async with subject.stage(**case) as stage:
            told = ", ".join(who for who in case if who != "temper") or "everybody else"
            await require_sound(stage, _kind(subject).ordinary(stage), f"{told} in the session failed: ")


async def slow_collaborators(subject: Subject) -> None:
    """Whoever the module turns to takes long."""
    async with subject.stage("slow") as stage:
        for exercise in _kind(subject).ordinary(stage):
            await require_sound(stage, [exercise], "others in the session were slow: ")
            await _require_rest(stage, f"{exercise.told} ended")


async def malformed_input(subject: Subject) -> None:
    """Input of the wrong shape."""
    async with subject.stage() as stage:
        await require_sound(stage, _kind(subject).malformed(stage))


async def huge_input(subject: Subject) -> None:
    """Input of an absurd size."""
    async with subject.stage() as stage:
        await require_sound(stage, _kind(subject).huge(stage))


async def cleanup_during_call(subject: Subject) -> None:
    """The session is taken down at each wait of each call, and nothing may be left running afterwards."""
    for position in await _positions(subject):
        await subject.sweep(partial(_clean_up_once, subject, position))


async def mounted_twice(subject: Subject) -> None:
    """The plan names the module twice."""
    async with subject.stage() as stage:
        again = Exercise("mount() a second time in one session", lambda: subject.mount(stage.coordinator), _any_answer)
        outcome = await stage.run(Call(again.call))
        raise_if(again.judge(outcome))
        if callable(outcome.value) and (subject.kind == "hook" or not implements(subject.kind, outcome.value)):
            stage.coordinator.register_cleanup(outcome.value)
        await require_sound(stage, _kind(subject).ordinary(stage), "after a second mount in one session ")


async def two_sessions(subject: Subject) -> None:
    """Two sessions use the module at once; then one of them ends."""
    kind = _kind(subject)
    async with subject.stage("waiting") as one, subject.stage("waiting") as other:
        if kind.leak is not None:
            raise_if(await kind.leak(one, other))
        calls = [(stage, each, Call(each.call)) for stage in (one, other) for each in kind.ordinary(stage)]
        for stage, exercise, call in calls:
            raise_if(exercise.judge(await stage.run(call)), "in two sessions at once ")
        before, worked = _told(kind, other), await _work(kind, other)
        await one.close()
        circumstance = "one of two sessions was cleaned up, and in the other "
        gone = before - _told(kind, other)
        raise_if(f"{', '.join(gone)} is gone" if gone else None, circumstance)
        failing = [told for told, works in (await _work(kind, other)).items() if worked.get(told) and not works]
        raise_if(f"{', '.join(failing)} no longer works" if failing else None, circumstance)


async def _positions(subject: Subject) -> range:
    async with subject.stage() as stage:
        return range(len(_kind(subject).ordinary(stage)))


async def _cancel_once(subject: Subject, position: int, wait: int) -> bool:
    """Cancels one call at one wait; says whether it came that far."""
    async with subject.stage("waiting") as stage:
        exercise = _kind(subject).ordinary(stage)[position]
        call = Call(exercise.call, cancel_at(wait))
        outcome = await stage.run(call)
        if call.suspensions < wait:
            return False
        circumstance = f"{exercise.told} was cancelled at its wait {wait}"
        if not outcome.is_cancelled:
            raise BrokenPromiseError(f"{circumstance} and {outcome}")
        await _require_rest(stage, circumstance)
        again = _kind(subject).ordinary(stage)[position]
        raise_if(again.judge(await stage.run(Call(again.call))), f"{circumstance}; then ")
    return True


async def _clean_up_once(subject: Subject, position: int, wait: int) -> bool:
    """Cleans up at one wait of one call; says whether it came that far."""
    before = asyncio.all_tasks()
    cleanups: list[Call] = []
    async with subject.stage("waiting") as stage:

        def clean_up(number: int) -> None:
            if number == wait:
                cleanups.append(Call(stage.coordinator.cleanup))

        exercise = _kind(subject).ordinary(stage)[position]
        circumstance = f"clean-up ran at wait {wait} of {exercise.told}, and "
        outcome = await stage.run(Call(exercise.call, clean_up))
        # A clean-up may stop calls that are under way.
        raise_if(None if outcome.is_cancelled else exercise.judge(outcome), circumstance)
        for cleanup in cleanups:
            outcome = await stage.run(cleanup)
            has_failed = outcome.is_late or outcome.error is not None
            raise_if(f"the clean-up {outcome}" if has_failed else None, circumstance)
    await _require_no_tasks_but(before)
    return bool(cleanups)


async def _require_rest(stage: Stage, circumstance: str) -> None:
    for _ in range(_GRACE_TURNS):
        await asyncio.sleep(0)
    running = [] if _kind(stage.subject).may_leave_work else stage.around.running
    raise_if(f"{circumstance}, but {', '.join(running)} still ran" if running else None)


async def _require_no_tasks_but(before: set[asyncio.Task[object]]) -> None:
    left = asyncio.all_tasks() - before
    if left:
        await asyncio.wait(left, timeout=_GRACE_S)
    names = sorted({getattr(task.get_coro(), "__qualname__", "?") for task in left if not task.done()})
    raise_if(f"after clean-up these tasks still ran: {', '.join(names)}" if names else None)


def _told(kind: Kind, stage: Stage) -> Counter[str]:
    return Counter(exercise.told for exercise in kind.ordinary(stage))


async def _work(kind: Kind, stage: Stage) -> dict[str, bool]:
    """Each exercise, as far as time allows, and whether it works twice: what changes by itself says nothing."""
    work: dict[str, bool] = {}
    for exercise in takewhile(lambda _: not stage.subject.is_out_of_time, kind.ordinary(stage)):
        outcomes = [await stage.run(Call(exercise.call)) for _ in range(2)]
        work[exercise.told] = all(map(exercise.worked, outcomes))
    return work


def _any_answer(answer: object) -> str | None:
    return None


def _kind(subject: Subject) -> Kind:
    return KINDS[subject.kind]

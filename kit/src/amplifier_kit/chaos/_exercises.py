"""An exercise: one thing that a module can be asked to do, and how to tell whether it did it properly."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from amplifier_kit.chaos._calls import Call, Outcome
from amplifier_kit.chaos._stage import BrokenPromiseError, Stage

# What Python raises by itself when code meets what its author did not think of. Exactly these: a class that an author
# derives from one of them is a decision, not an accident.
_ACCIDENTS = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    NameError,
    RecursionError,
    TypeError,
    UnboundLocalError,
    ZeroDivisionError,
)

_shortener = reprlib.Repr()
_shortener.maxlevel, _shortener.maxstring, _shortener.maxother = 3, 60, 60


@dataclass(frozen=True, slots=True)
class Exercise:
    """One call, the claim on its answer, and whether a plain exception is an answer as well."""

    told: str
    call: Callable[[], Any]
    complaint: Callable[[Any], str | None]
    """What is wrong with an answer, ``None`` if nothing is."""
    may_raise: bool = True
    is_success: Callable[[Any], bool] = lambda answer: True

    def judge(self, outcome: Outcome) -> str | None:
        """What is wrong with an outcome, ``None`` if nothing is."""
        if outcome.is_late:
            return f"{self.told} did not end"
        if outcome.error is None:
            complaint = self.complaint(outcome.value)
            return f"{self.told} {complaint}" if complaint else None
        is_decision = isinstance(outcome.error, Exception) and type(outcome.error) not in _ACCIDENTS
        return None if is_decision and self.may_raise else f"{self.told} {outcome}"

    def worked(self, outcome: Outcome) -> bool:
        """Whether the call succeeded, not only ended properly."""
        return not outcome.is_late and outcome.error is None and self.is_success(outcome.value)


async def require_sound(stage: Stage, exercises: Iterable[Exercise], circumstance: str = "") -> None:
    """Does the exercises one after another, as far as time allows; raises for the first that goes wrong."""
    for exercise in exercises:
        if stage.subject.is_out_of_time:
            return
        raise_if(exercise.judge(await stage.run(Call(exercise.call))), circumstance)


def raise_if(complaint: str | None, circumstance: str = "") -> None:
    """Turns a complaint into a broken promise."""
    if complaint:
        raise BrokenPromiseError(f"{circumstance}{complaint}")


def shown(value: Any) -> str:
    """A value for a message, however large it is."""
    return _shortener.repr(value)


def expects(kind: type, name: str) -> Callable[[Any], str | None]:
    """A claim on the type of an answer."""
    return lambda answer: None if isinstance(answer, kind) else f"returned {shown(answer)}, expected {name}"

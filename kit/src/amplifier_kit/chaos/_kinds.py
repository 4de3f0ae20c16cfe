"""The five kinds of module: for each, what a module of that kind can be asked to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from amplifier_kit.chaos import _contexts, _hooks, _orchestrators, _providers, _tools
from amplifier_kit.chaos._collaborators import Temper
from amplifier_kit.chaos._exercises import Exercise
from amplifier_kit.chaos._stage import Stage

_EVERYTHING_FAILS: dict[str, Temper] = {"temper": "failing"}


@dataclass(frozen=True, slots=True)
class Kind:
    """Exercises for modules of one kind."""

    ordinary: Callable[[Stage], list[Exercise]]
    malformed: Callable[[Stage], Iterable[Exercise]]
    huge: Callable[[Stage], Iterable[Exercise]]
    leak: Callable[[Stage, Stage], Awaitable[str | None]] | None = None
    """What one session can see of another, ``None`` if nothing."""
    failures: tuple[dict[str, Temper], ...] = (_EVERYTHING_FAILS,)
    """Who fails, one case after another."""
    may_leave_work: bool = False
    """Whether what a call has begun may go on after it."""


KINDS: dict[str, Kind] = {
    "provider": Kind(_providers.ordinary, _providers.malformed, _providers.huge),
    "tool": Kind(_tools.ordinary, _tools.malformed, _tools.huge),
    "hook": Kind(_hooks.ordinary, _hooks.malformed, _hooks.huge, may_leave_work=True),
    "orchestrator": Kind(
        _orchestrators.ordinary,
        _orchestrators.malformed,
        _orchestrators.huge,
        _orchestrators.leak,
        # A tool that fails has a fault of its own: there the turn must go on.
        failures=({"provider": "failing"}, {"context": "failing"}, {"people": "failing"}),
    ),
    "context": Kind(_contexts.ordinary, _contexts.malformed, _contexts.huge, _contexts.leak),
}

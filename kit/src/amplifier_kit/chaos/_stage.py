"""The module under test on a stage: mounted in a real session, among collaborators of a chosen temper."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.session import AmplifierSession
from amplifier_kit.chaos._calls import Call, Outcome
from amplifier_kit.chaos._collaborators import Collaborators, Mount, QuietLoop, Temper, mounting

SECTIONS = {"provider": "providers", "tool": "tools", "hook": "hooks"}
"""The section of a mount plan by kind; an orchestrator and a context are named in ``session``."""

_MOST_WAITS = 40

SUBJECT = "chaos-subject"
"""The id of the module under test in its session."""


class BrokenPromiseError(Exception):
    """The module under test broke a promise; the text says how that was provoked."""


class NothingMountedError(BrokenPromiseError):
    """The module mounted nothing that could be put under stress, perhaps on purpose."""


@dataclass(slots=True)
class Subject:
    """A module under test and the time one fault may take; made anew for each fault."""

    kind: str
    mount: Mount
    """``async def mount(coordinator)``, with the config filled in."""
    sample_input: Mapping[str, Any] | None = None
    limit_s: float = 10.0
    _began_s: float = field(default_factory=time.monotonic)

    @property
    def patience_s(self) -> float:
        """How long one call may take, and for how long new ones are begun: together they keep the limit."""
        return self.limit_s / 2

    @property
    def is_out_of_time(self) -> bool:
        """Whether enough has been tried."""
        return time.monotonic() - self._began_s > self.patience_s

    async def sweep(self, try_at: Callable[[int], Awaitable[bool]]) -> None:
        """Tries something at the first wait of a call, at the second, and so on, while calls come that far."""
        wait = 1
        while wait <= _MOST_WAITS and not self.is_out_of_time and await try_at(wait):
            wait += 1

    def stage(self, temper: Temper = "sound", **exceptions: Temper) -> Stage:
        """A new session around the module."""
        return Stage(self, Collaborators(temper, **exceptions))


class Stage:
    """One session with the module under test; entering it mounts, leaving it cleans up, and both must go well."""

    def __init__(self, subject: Subject, around: Collaborators) -> None:
        self.subject = subject
        self.around = around
        self.session = AmplifierSession(
            _plan(subject.kind),
            loader=_Loader(_mounts(subject, around)),
            approval_system=around.people,
            display_system=around.people,
        )

    @property
    def coordinator(self) -> ModuleCoordinator:
        """The session's coordinator."""
        return self.session.coordinator

    def own(self, point: str) -> dict[str, Any]:
        """What the module under test has mounted at ``providers`` or ``tools``, by name."""
        around = (self.around.provider, self.around.tool)
        mounted = self.coordinator.get(point).items()
        return {name: module for name, module in mounted if not any(module is each for each in around)}

    async def run(self, call: Call) -> Outcome:
        """The outcome of a call, within the patience of the subject."""
        return await call.outcome(self.subject.patience_s)

    async def close(self) -> None:
        """Cleans up; a clean-up that fails or does not end is a broken promise."""
        outcome = await self.run(Call(self.session.cleanup))
        if outcome.is_late or outcome.error is not None:
            raise BrokenPromiseError(f"the session was cleaned up and clean-up {outcome}")
        problems = self.session.report.cleanup_errors
        if problems:
            raise BrokenPromiseError(f"the session was cleaned up and {'; '.join(problems)}")

    async def __aenter__(self) -> Self:
        outcome = await self.run(Call(self.session.initialize))
        failed = [problem.reason for problem in self.session.report.failed if problem.module_id == SUBJECT]
        if outcome.is_late or failed or outcome.error is not None:
            told = "; ".join(failed) or str(outcome)
            await self.run(Call(self.session.cleanup))
            raise BrokenPromiseError(f"the module was mounted in a session and mount() failed: {told}")
        if not self._has_subject():
            await self.run(Call(self.session.cleanup))
            raise NothingMountedError(f"mount() installed no {self.subject.kind} with the config it was given")
        return self

    def _has_subject(self) -> bool:
        kind = self.subject.kind
        if kind == "hook":
            return bool(self.coordinator.hooks.registered_since(0))
        return bool(self.own(SECTIONS[kind])) if kind in SECTIONS else self.coordinator.get(kind) is not None

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except BrokenPromiseError:
            if exc is None:
                raise


class _Loader:
    """Gives a session the mount functions it is made with."""

    def __init__(self, mounts: Mapping[str, Mount]) -> None:
        self._mounts = mounts

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Mount:
        """The mount function of a module."""
        return self._mounts[module_id]


def _plan(kind: str) -> dict[str, Any]:
    session = {"orchestrator": "chaos-loop", "context": "chaos-context"}
    plan: dict[str, Any] = {"session": session, "providers": ["chaos-provider"], "tools": ["chaos-tool"], "hooks": []}
    if kind in session:
        session[kind] = SUBJECT
    else:
        plan[SECTIONS[kind]].append(SUBJECT)
    return plan


def _mounts(subject: Subject, around: Collaborators) -> dict[str, Mount]:
    return {
        "chaos-loop": mounting("orchestrator", QuietLoop()),
        "chaos-context": mounting("context", around.context),
        "chaos-provider": mounting("providers", around.provider),
        "chaos-tool": mounting("tools", around.tool),
        SUBJECT: subject.mount,
    }

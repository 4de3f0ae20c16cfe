"""Tries a module: calls its ``mount()`` on a coordinator that is thrown away, looks at the outcome, and cleans up.

Whatever the module does, waiting for ever and ``sys.exit`` included, ends as a check; nothing of it stays behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any

from amplifier_core._awaiting import TimeLimitError
from amplifier_core._installed import Checkpoint, Installation
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.validation._background import BackgroundTasks
from amplifier_core.validation._checks import Kind, failed
from amplifier_core.validation._compliance import COMPLIANCE, is_cleanup, judge
from amplifier_core.validation._failures import Culprit, is_for_caller
from amplifier_core.validation._time_limit import interrupted_after, settle_foreign
from amplifier_core.validation.base import ValidationCheck

# A clean-up function may register others, even itself.
_CLEANUP_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class _StandInSession:
    """What a coordinator, and perhaps a module, wants to know of a session."""

    session_id: str = "validation"
    parent_id: str | None = None
    config: dict[str, Any] = field(
        default_factory=lambda: {"session": {"orchestrator": "loop-validation", "context": "context-validation"}}
    )


class _RefusingApproval:
    """Nobody is there to ask."""

    async def request_approval(self, *_: Any, **__: Any) -> str:
        return "Deny"


class _SilentDisplay:
    """Nobody is there to be told."""

    def show_message(self, *_: Any, **__: Any) -> None:
        return None


class _ThrowAwayCoordinator(ModuleCoordinator):
    """A coordinator that belongs to no session, and hands its clean-up functions out to be run one by one."""

    def __init__(self) -> None:
        super().__init__(_StandInSession(), _RefusingApproval(), _SilentDisplay())
        self._cleanups: list[Callable[[], Any]] = []

    def register_cleanup(self, cleanup_fn: Any) -> None:
        if callable(cleanup_fn):
            self._cleanups.append(cleanup_fn)

    def expects(self, cleanup_fn: Any) -> bool:
        """Whether an equal clean-up function is registered already."""
        return cleanup_fn in self._cleanups

    def take_cleanups(self) -> list[Callable[[], Any]]:
        """The functions registered since the last time, last in first out."""
        taken, self._cleanups = self._cleanups[::-1], []
        return taken


class Probe:
    """One try of one ``mount()``; ``culprit`` names it in messages and sets the time limit of each step."""

    def __init__(self, kind: Kind, culprit: Culprit) -> None:
        self._kind = kind
        self._culprit = culprit
        self._limit_s = culprit.limit_s
        self._coordinator = _ThrowAwayCoordinator()
        self._checks: list[ValidationCheck] = []

    async def run(self, mount: Callable[..., Any], config: dict[str, Any]) -> list[ValidationCheck]:
        """Mounts, judges and cleans up; what comes out is every check of it."""
        background = BackgroundTasks(self._limit_s)
        with background.watched():
            try:
                await self._mount(mount, config)
            finally:
                await self._clean_up()
                self._checks += await background.end()
        return self._checks

    async def _mount(self, mount: Callable[..., Any], config: dict[str, Any]) -> None:
        checkpoint = Checkpoint(self._coordinator)
        try:
            returned = await settle_foreign(lambda: _awaitable(mount(self._coordinator, config)), self._limit_s)
        except BaseException as error:
            self._note_failure(error, self._culprit)
            return
        try:
            with interrupted_after(self._limit_s):
                self._judge(checkpoint.installation(), returned)
        except BaseException as error:
            self._note_failure(error, replace(self._culprit, name="what mount() installed"))

    def _judge(self, installed: Installation, returned: Any) -> None:
        if is_cleanup(self._kind, returned) and not self._coordinator.expects(returned):
            self._coordinator.register_cleanup(returned)
        self._checks.extend(judge(self._kind, installed, returned))

    def _note_failure(self, error: BaseException, culprit: Culprit) -> None:
        if is_for_caller(error):
            raise error
        self._checks.append(failed(COMPLIANCE, f"Error during protocol compliance check: {culprit.told(error)}"))

    async def _clean_up(self) -> None:
        """Runs every clean-up function, shielded from the others; a request to stop is answered at the end."""
        requests: list[BaseException] = []
        for _ in range(_CLEANUP_ROUNDS):
            for cleanup_fn in self._coordinator.take_cleanups():
                try:
                    await settle_foreign(cleanup_fn, self._limit_s)
                except BaseException as error:
                    if is_for_caller(error):
                        requests.append(error)
                    else:
                        self._note_cleanup(cleanup_fn, error)
        if requests:
            raise requests[0]

    def _note_cleanup(self, cleanup_fn: Callable[[], Any], error: BaseException) -> None:
        name = getattr(cleanup_fn, "__qualname__", type(cleanup_fn).__name__)
        told = replace(self._culprit, name="it", if_slow="give what it waits for a time limit").told(error)
        is_failure = isinstance(error, Exception) and not isinstance(error, TimeLimitError)
        self._checks.append(
            failed("cleanup", f"Error during clean-up '{name}': {told}", "warning" if is_failure else "error")
        )


def _awaitable(answer: Any) -> Any:
    if not isawaitable(answer):
        raise TypeError(
            f"mount() gave {type(answer).__name__}, which cannot be awaited; write async def mount(coordinator, config)"
        )
    return answer

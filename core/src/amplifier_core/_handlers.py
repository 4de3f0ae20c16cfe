"""One registered hook handler: its place in the order, its failure policy, and how its answer is obtained.

A handler cannot break the emitter: whatever it does ends as an answer, as nothing, or as a refusal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import isawaitable
from types import CoroutineType
from typing import Any, Literal, Protocol

from amplifier_core._awaiting import TimeLimitError, belongs_to_caller, describe, settle_within
from amplifier_core._composition import UnreadableAnswerError, is_notable, read_answer
from amplifier_core.models import HookResult

logger = logging.getLogger("amplifier_core.hooks")

OnError = Literal["continue", "deny"]


class RegistrationHome(Protocol):
    """What a registration needs of the registry that holds it."""

    def remove(self, registration: Registration) -> None:
        """Takes the registration out."""
        ...

    def name_automatically(self, registration: Registration) -> str:
        """Gives a name to a registration made without one."""
        ...


class Registration:
    """A handler registered for one event; calling it removes it again (twice is fine).

    ``order`` grows with every registration of a registry, so equal priorities run in the order in which they came.
    """

    __slots__ = (
        "_home",
        "_name",
        "event",
        "handler",
        "is_guard",
        "is_registered",
        "order",
        "priority",
        "shadowed",
        "timeout",
    )

    def __init__(
        self,
        home: RegistrationHome,
        event: str,
        handler: Callable[..., Any],
        priority: int,
        name: str | None,
        on_error: OnError,
        timeout: float | None,
        order: int,
    ) -> None:
        self._home = home
        self._name = name
        self.event = event
        self.handler = handler
        self.priority = priority
        self.is_guard = on_error == "deny"
        """Whether the operation must not go on without this handler's consent."""
        self.timeout = timeout
        self.order = order
        self.is_registered = True
        self.shadowed: Registration | None = None
        """The registration that had this name before: equal names form a stack, the latest on top."""

    @property
    def name(self) -> str:
        """The name for logs and reasons; made up on first use, since most are never asked for."""
        if self._name is None:
            self._name = self._home.name_automatically(self)
        return self._name

    @property
    def given_name(self) -> str | None:
        """The name if it has one by now; asking does not make one up."""
        return self._name

    def __call__(self) -> None:
        """Removes this registration, and only this one."""
        self._home.remove(self)

    def __repr__(self) -> str:
        return f"<unregister '{self.name}'>"

    async def answer(self, event: str, data: dict[str, Any]) -> HookResult | None:
        """What the handler says about ``event``; ``None`` when it only wants things to go on.

        The handler gets a top-level dict of its own. Its failure is logged and becomes nothing, or a deny for a guard;
        an answer that cannot be read always becomes a deny.
        """
        try:
            outcome: Any = self.handler(event, data.copy())
            if outcome.__class__ is CoroutineType or isawaitable(outcome):
                outcome = await (outcome if self.timeout is None else settle_within(self.timeout, outcome))
        except BaseException as error:
            if belongs_to_caller(error):
                raise
            return self._after_failure(event, error)
        # What ``is_notable`` says, spelled out: nearly every answer is this one, and the call would cost more than
        # the question.
        try:
            if (
                type(outcome) is HookResult
                and outcome.action == "continue"
                and not (outcome.user_message or outcome.suppress_output)
            ):
                return None
        except Exception:
            # A field is gone or has a value that answers no questions: left to ``_read``, which refuses such a result.
            pass
        return self._read(event, outcome)

    def _read(self, event: str, outcome: Any) -> HookResult | None:
        try:
            answer = read_answer(outcome)
        except UnreadableAnswerError as error:
            logger.error(
                "SECURITY: Hook handler returned unparseable result for event '%s' (handler '%s'), "
                "the operation is denied: %s",
                event,
                self.name,
                error,
            )
            return HookResult(action="deny", reason="Hook handler returned invalid response")
        return answer if is_notable(answer) else None

    def _after_failure(self, event: str, error: BaseException) -> HookResult | None:
        log_failure(event, self.name, error)
        if not self.is_guard:
            return None
        return HookResult(action="deny", reason=f"Guard '{self.name}' failed on '{event}': {_told(error)}")


def log_failure(event: str, name: str, error: BaseException) -> None:
    """Writes the log line of a handler that raised or came too late."""
    if isinstance(error, TimeLimitError):
        logger.warning("Hook handler timed out for event '%s' (handler '%s'): %s", event, name, error)
    else:
        logger.error("Hook handler error for event '%s' (handler '%s'): %s", event, name, _told(error), exc_info=error)


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, TimeLimitError) else describe(error)

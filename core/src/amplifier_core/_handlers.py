"""One registered hook handler: its place in the order, its failure policy, and how its answer is obtained.

A handler cannot break the emitter: whatever it does ends as an answer, as nothing, or as a refusal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from inspect import isawaitable
from types import CoroutineType
from typing import Any, Literal, Protocol, cast

from amplifier_core._awaiting import TimeLimitError, belongs_to_caller, settle_within
from amplifier_core._composition import UnreadableAnswerError, changes_data, is_notable, read_answer
from amplifier_core._error_text import describe_error
from amplifier_core._veils import Sight
from amplifier_core.models import HookResult

logger = logging.getLogger("amplifier_core.hooks")

_CONTINUE = "continue"

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

    def read(self, event: str, outcome: Any) -> HookResult | None:
        """The answer in what the handler returned; one that cannot be read becomes a deny, whatever the policy."""
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

    def answer_for_failure(self, event: str, error: BaseException) -> HookResult | None:
        """What stands for the answer of a handler that failed: nothing, or a deny for a guard.

        Raises the error again when it is a request to the emitter, such as the cancellation of its task.
        """
        if belongs_to_caller(error):
            raise error
        log_failure(event, self.name, error)
        if not self.is_guard:
            return None
        return HookResult(action="deny", reason=f"Guard '{self.name}' failed on '{event}': {_told(error)}")


async def ask_in_turn(
    event: str, handlers: Sequence[Registration], data: dict[str, Any], sight: Sight | None = None
) -> tuple[dict[Registration, HookResult], dict[str, Any]]:
    """Asks the handlers one after another until one denies; gives every answer that says something, and the final data.

    Each handler gets a top-level dict of its own, with the changes of those before it. With a ``sight`` only guards
    get the data themselves.
    """
    answers: dict[Registration, HookResult] = {}
    for handler in handlers:
        shown = data if sight is None or handler.is_guard else sight.of(data)
        try:
            outcome: Any = handler.handler(event, shown.copy())
            if outcome.__class__ is CoroutineType or isawaitable(outcome):
                outcome = await (outcome if handler.timeout is None else settle_within(handler.timeout, outcome))
        except BaseException as error:
            answer = handler.answer_for_failure(event, error)
        else:
            if type(outcome) is HookResult:
                # The plain "go on" that nearly every answer is. By identity, so that no odd value is asked anything:
                # what is not exactly this is left to ``read``.
                said = outcome.__dict__
                if (
                    said.get("action") is _CONTINUE
                    and said.get("user_message", said) is None
                    and said.get("suppress_output") is False
                ):
                    continue
            answer = handler.read(event, outcome)
        if answer is None:
            continue
        answers[handler] = answer
        if answer.action == "deny":
            break
        if changes_data(answer):
            changed = cast("dict[str, Any]", answer.data)
            data = changed if sight is None or shown is data else sight.lifted(changed)
    return answers, data


def log_failure(event: str, name: str, error: BaseException) -> None:
    """Writes the log line of a handler that raised or came too late."""
    if isinstance(error, TimeLimitError):
        logger.warning("Hook handler timed out for event '%s' (handler '%s'): %s", event, name, error)
    else:
        logger.error("Hook handler error for event '%s' (handler '%s'): %s", event, name, _told(error), exc_info=error)


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, TimeLimitError) else describe_error(error)

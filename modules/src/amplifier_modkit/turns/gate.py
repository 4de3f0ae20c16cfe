"""The one place where a loop tells hooks what it does, and learns what they want: every action, at every event."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import ContextInjection, HookResult
from amplifier_modkit.turns.stopping import is_being_cancelled

logger = logging.getLogger(__name__)

_NOBODY_OBJECTS = HookResult()
_NO_INJECTIONS: dict[str, Any] = {"context_injection": None, "context_injections": []}


class DeniedError(Exception):
    """A hook refused a step; the text is its reason."""


class HookGate:
    """Emits the events of one turn and carries out what hooks answer; lives as long as the turn.

    Questions are asked and messages shown at once. What hooks put into the conversation is stored at once, too, except
    while tool calls are open: nothing may stand between a call and its result, so it waits for ``release()``.
    Ephemeral injections wait in ``take_injections()`` for the next request.
    """

    def __init__(self, hooks: HookRegistry, coordinator: ModuleCoordinator) -> None:
        self.hooks = hooks
        self._coordinator = coordinator
        self._is_holding = False
        self._held: list[tuple[str, HookResult]] = []
        self._ephemeral: list[ContextInjection] = []
        self._stored: list[ContextInjection] = []
        self._is_closed = False
        # Calls that run side by side may all need an answer, and a person gives one at a time.
        self._asking = asyncio.Lock()

    async def tell(self, event: str, data: dict[str, Any]) -> HookResult:
        """Emits ``event`` and does what the hooks ask; what is left in the answer is the loop's to do."""
        if self._is_closed or not self.hooks.has_listeners(event):
            return _NOBODY_OBJECTS
        result = await self.hooks.emit(event, data)
        if result.action in ("continue", "modify", "deny") and not result.user_message:
            return result
        if self._is_holding and result.action in ("ask_user", "inject_context"):
            return await self._process_and_hold(event, result)
        return await self._process(event, result)

    async def announce(self, event: str, data: dict[str, Any]) -> None:
        """Tells what has happened; a deny comes too late and is only logged."""
        verdict = await self.tell(event, data)
        if verdict.action == "deny":
            logger.warning("A hook denies '%s', which only tells what has happened: %s", event, verdict.reason)

    async def permit(self, event: str, data: dict[str, Any]) -> dict[str, Any]:
        """``data`` as the hooks leave them; raises ``DeniedError`` when one refuses."""
        return (await self.judge(event, data))[0]

    async def judge(self, event: str, data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """``data`` as the hooks leave them, and whether they changed them by a ``modify``.

        Raises ``DeniedError`` when one refuses.
        """
        if self._is_closed:
            raise DeniedError("the turn is over")  # nobody is asked any more, so nothing is allowed
        verdict = await self.tell(event, data)
        if verdict.action == "deny":
            raise DeniedError(verdict.reason or f"a hook refused '{event}' without giving a reason")
        if verdict.data is None or not _is_modified(verdict):
            return data, False
        return {**data, **verdict.data}, True

    def hold(self) -> None:
        """From now on what hooks put into the conversation waits."""
        self._is_holding = True

    @property
    def is_holding_back(self) -> bool:
        """Whether anything waits for ``release()``."""
        return bool(self._held)

    async def release(self) -> None:
        """Stores what has waited, in order."""
        self._is_holding = False
        held, self._held = self._held, []
        for event, result in held:
            await self._process(event, result)

    def take_injections(self) -> list[ContextInjection]:
        """The ephemeral injections since the last call: they go into one request and nowhere else."""
        taken, self._ephemeral = self._ephemeral, []
        return taken

    def take_stored(self) -> list[ContextInjection]:
        """The injections that went into the conversation since the last call."""
        taken, self._stored = self._stored, []
        return taken

    def close(self) -> None:
        """The turn is over: what a tool that was left behind still has to say is told to nobody."""
        self._is_closed = True

    async def _process_and_hold(self, event: str, result: HookResult) -> HookResult:
        rest = "modify" if _is_modified(result) else "continue"
        action = "ask_user" if result.action == "ask_user" else rest
        verdict = await self._process(event, result.model_copy(update={**_NO_INJECTIONS, "action": action}))
        if verdict.action != "deny" and (result.context_injections or result.context_injection):
            quiet = {"action": "inject_context", "user_message": None, "suppress_output": False}
            self._held.append((event, result.model_copy(update=quiet)))
        return verdict

    async def _process(self, event: str, result: HookResult) -> HookResult:
        try:
            async with self._asking if result.action == "ask_user" else nullcontext():
                verdict = await self._coordinator.process_hook_result(result, event)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            told = f"{type(error).__name__}: {error}"
            if result.action == "ask_user":
                logger.error("Nobody could be asked about '%s', so it is denied: %s", event, told)
                return HookResult(action="deny", reason=f"the question could not be asked: {told}")
            logger.error("What hooks wanted to put into the conversation at '%s' is left out: %s", event, told)
            rest = "modify" if _is_modified(result) else "deny" if result.action == "deny" else "continue"
            return result.model_copy(update={**_NO_INJECTIONS, "action": rest})
        if verdict.action == "inject_context":
            self._ephemeral += verdict.context_injections
        if verdict.action != "deny":
            self._stored += [each for each in result.context_injections if not each.ephemeral]
        return verdict


def _is_modified(verdict: HookResult) -> bool:
    if verdict.action == "inject_context":
        # Beside an injection the data of a composed answer are always there, and it says itself whether they changed.
        return bool(getattr(verdict, "is_modified", verdict.data is not None))
    return verdict.action == "modify"

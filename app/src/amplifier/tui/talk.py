"""The session behind a chat: opened, asked turn by turn, stopped, steered, and given up for another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, cast

from amplifier.bundles.plan import MountPlan
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.runtime.outcome import TurnOutcome
from amplifier.runtime.prompts import Prompt
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.settings import Settings
from amplifier.store import SessionStore, StoredSession
from amplifier.tui.approval import ChatApproval
from amplifier.tui.view.changes import Level
from amplifier.tui.view.view import View

MODES = ("default", "accept-edits", "plan", "dont-ask", "bypass")
"""All modes; the first of them are those through which one key goes."""
_CYCLED = MODES[:3]


@dataclass(frozen=True, slots=True)
class Opening:
    """What one session of a chat is made of."""

    plan: MountPlan
    setting: Setting
    settings: Settings
    places: Places


class Opener(Protocol):
    """Prepares a session: a stored one that goes on, or another one; ``changes`` are ``model`` and ``provider``."""

    def __call__(self, resumed: StoredSession | None, **changes: str) -> Opening:
        """What the session is made of; raises ``Problem``."""
        ...


class Display:
    """Messages of hooks, as notices of the chat."""

    def __init__(self, view: View) -> None:
        self._view = view

    def show_message(self, message: str, level: Level, source: str = "hook") -> None:
        """Shows ``message`` with its source."""
        self._view.notice(f"[{source}] {message}", level)


class Talk:
    """The one session that a chat has at a time. ``opening`` and ``runtime`` are there once ``open`` is done."""

    opening: Opening
    runtime: Runtime

    def __init__(self, opener: Opener, view: View, approval: ChatApproval, extend: Callable[[Places], str]) -> None:
        """``extend`` gives what is added to the system prompt in a place."""
        self.view = view
        self.approval = approval
        self.changes: dict[str, str] = {}
        """What the user has chosen in the chat beside the settings: ``model``, ``provider``."""
        self._opener = opener
        self._extend = extend
        self._begun: dict[StoredSession, SessionStore] = {}
        """The sessions that this chat has begun."""
        self._is_open = False
        self._stops = 0
        self._paid: Decimal | None = None
        """What the session has cost before it was opened anew with another model."""

    async def open(self, resumed: StoredSession | None = None, **changes: str) -> None:
        """Opens a session in the place of the one that is open; where that fails, the former one is opened again.

        With ``changes`` it is the same conversation, whose tokens and cost go on; else they begin anew.
        """
        was_open = self._is_open
        former, said = await self._standing() if was_open else (None, [])
        wanted = {**self.changes, **changes}
        opening = self._opener(resumed, **wanted)
        setting = opening.setting
        if resumed is None and setting.stored is not None and setting.store is not None:
            self._begun[setting.stored] = setting.store
        await self._end()
        try:
            await self._start(opening)
        except Problem:
            if was_open:
                await self._start(self._opener(former, **self.changes), said)
            raise
        self.changes = wanted
        if not changes:
            self._paid = None
            self.view.begin_session()
            self.tell_status()
        self._tidy(setting.stored)

    async def change(self, **changes: str) -> None:
        """Goes on with the same conversation and another model or provider."""
        stored, said = await self._standing()
        await self.open(stored, **changes)
        await self._take_over(said)

    async def close(self) -> None:
        """Ends the session, if there is one; sessions of this chat in which nothing was said are not kept."""
        await self._end()
        self._tidy(None)

    async def ask(self, prompt: str | Prompt) -> TurnOutcome:
        """Runs one turn; a stop by the user is an outcome like any other."""
        self._stops = 0
        self.runtime.session.coordinator.cancellation.reset()
        try:
            outcome = await self.runtime.run_turn(prompt)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._stops or (task is not None and task.cancelling()):
                raise
            outcome = TurnOutcome(self.runtime.session.session_id, "", "cancelled", "interrupted")
        self.tell_status()
        return outcome

    def stop(self) -> bool:
        """Has the turn end: after its current step, and at once if asked a second time. Gives whether at once."""
        self._stops += 1
        is_immediate = self._stops > 1
        self.runtime.stop(is_immediate)
        return is_immediate

    def steer(self, text: str) -> bool:
        """Says something to the turn that runs; whether anybody listens."""
        steer = self.capability("session.steer")
        return callable(steer) and bool(steer(text))

    def capability(self, name: str) -> Any:
        """What a module of the session offers under a name, if any does."""
        return self.runtime.session.coordinator.get_capability(name)

    @property
    def mode(self) -> str | None:
        """How much is asked; ``None`` where nothing asks."""
        mode = self.capability("approval.mode")
        return None if mode is None else str(mode.get())

    async def set_mode(self, name: str) -> None:
        """Changes how much is asked; raises ``Problem`` where there is nothing to change, or no such mode."""
        mode = self.capability("approval.mode")
        if mode is None:
            raise Problem("Nothing asks in this session, so there are no modes.", "Add hooks-approval to the bundle.")
        if name not in MODES:
            raise Problem(f"There is no mode '{name}'.", f"There is: {', '.join(MODES)}.")
        await mode.set(name)
        self.tell_status()

    async def next_mode(self) -> None:
        """Goes on to the next of the modes through which one key goes."""
        now = self.mode
        following = _CYCLED[(_CYCLED.index(now) + 1) % len(_CYCLED)] if now in _CYCLED else _CYCLED[0]
        await self.set_mode(following)

    @property
    def provider(self) -> tuple[str, Any]:
        """The name of the provider that is asked first, and the provider."""
        mounted = cast("dict[str, Any]", self.runtime.session.coordinator.get("providers"))
        return min(mounted.items(), key=lambda each: _priority(each[1]))

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        defaults = _defaults(self.provider[1])
        return self.changes.get("model") or defaults.get("model")

    @property
    def context_window(self) -> int | None:
        """The tokens that the model can take, where that is known."""
        window = _defaults(self.provider[1]).get("context_window")
        return window if isinstance(window, int) else None

    async def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return cast("list[dict[str, Any]]", await self.runtime.session.coordinator.get("context").get_messages())

    def tell_status(self) -> None:
        """Has the status line show how things stand."""
        cost = self._cost()
        facts = {"model": self.model, "mode": self.mode, "context_window": self.context_window}
        self.view.status(**facts, cost_usd=None if cost is None else str(cost))

    def _cost(self) -> Decimal | None:
        known = [each for each in (self._paid, self.runtime.session.status.cost_usd) if each is not None]
        return sum(known, Decimal(0)) if known else None

    async def _end(self) -> None:
        if self._is_open:
            self._paid = self._cost()
            self._is_open = False
            await self.runtime.__aexit__(None, None, None)

    def _tidy(self, current: StoredSession | None) -> None:
        for stored in [each for each in self._begun if each != current]:
            store = self._begun.pop(stored)
            if stored.folder.is_dir() and not stored.messages():
                store.delete(stored)

    async def _standing(self) -> tuple[StoredSession | None, list[dict[str, Any]]]:
        """Where the conversation is kept; where it is not, the conversation itself."""
        stored = self.opening.setting.stored
        return stored, await self.messages() if stored is None else []

    async def _take_over(self, said: list[dict[str, Any]]) -> None:
        if said:
            await self.runtime.session.coordinator.get("context").set_messages(said)

    async def _start(self, opening: Opening, said: list[dict[str, Any]] | None = None) -> None:
        display = Display(self.view)
        setting = replace(opening.setting, approval=self.approval, display=display, tell=self.view.notice)
        plan = replace(opening.plan, instruction=opening.plan.instruction + self._extend(opening.places))
        runtime = Runtime(plan, setting)
        await runtime.__aenter__()
        self.opening, self.runtime, self._is_open = replace(opening, plan=plan, setting=setting), runtime, True
        hooks = runtime.session.coordinator.hooks
        hooks.tap(self._show)
        self.approval.proposals.listen(hooks, "amplifier-chat")
        await self._take_over(said or [])
        for warning in runtime.warnings:
            self.view.notice(warning, "warning")
        self.tell_status()

    async def _show(self, event: str, data: dict[str, Any]) -> None:
        self.view.event(event, data)


def _defaults(provider: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", provider.get_info().defaults or {})


def _priority(provider: Any) -> float:
    priority = getattr(provider, "priority", 100)
    return priority if isinstance(priority, int | float) else 100

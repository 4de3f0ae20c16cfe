"""The hook registry: handlers register for events, emitters tell them, and their answers come back as one.

What a single handler may do to an emitter is settled in ``_handlers``, how answers compose in ``_composition``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, cast
from weakref import WeakSet

from amplifier_core import events
from amplifier_core._awaiting import belongs_to_caller, settle, settle_within
from amplifier_core._composition import UnreadableAnswerError, changes_data, compose, continue_with, read_answer
from amplifier_core._handlers import OnError, Registration, ask_in_turn, log_failure
from amplifier_core._ids import random_id
from amplifier_core._timestamps import Timestamps
from amplifier_core._veils import Sight, View
from amplifier_core.correlation import CORRELATED_EVENTS, REQUEST_EVENTS, REQUEST_ID_FIELD, resolve_request_id
from amplifier_core.models import ContextInjection, HookResult

__all__ = ["ContextInjection", "HookRegistry", "HookResult"]

logger = logging.getLogger(__name__)

Tap = Callable[[str, dict[str, Any]], Awaitable[None]]


class HookRegistry:
    """The handlers of one session, by event; lives as long as its coordinator.

    ``clock`` gives the time of events (an aware ``datetime``) and ``new_id`` the names of anonymous handlers, so that a
    run can be made deterministic.
    """

    SESSION_START: ClassVar[str] = events.SESSION_START
    SESSION_END: ClassVar[str] = events.SESSION_END
    PROMPT_SUBMIT: ClassVar[str] = events.PROMPT_SUBMIT
    TOOL_PRE: ClassVar[str] = events.TOOL_PRE
    TOOL_POST: ClassVar[str] = events.TOOL_POST
    CONTEXT_PRE_COMPACT: ClassVar[str] = events.CONTEXT_PRE_COMPACT
    ORCHESTRATOR_COMPLETE: ClassVar[str] = events.ORCHESTRATOR_COMPLETE
    USER_NOTIFICATION: ClassVar[str] = events.USER_NOTIFICATION

    def __init__(self, *, clock: Callable[[], datetime] | None = None, new_id: Callable[[], str] | None = None) -> None:
        self._timestamps = Timestamps(clock)
        self._new_id = new_id or random_id
        self._defaults: dict[str, Any] = {}
        # A dict serves as an ordered set: registering and removing stay quick with thousands of handlers.
        self._by_event: dict[str, dict[Registration, None]] = {}
        self._inherited: dict[str, dict[Registration, None]] = {}
        # Run order per event, made on demand. Never changed in place, so that an emit in progress keeps the handlers
        # it began with.
        self._run_order: dict[str, tuple[Registration, ...]] = {}
        self._latest_by_name: dict[str, Registration] = {}
        self._registered_so_far = 0
        self._heirs: WeakSet[HookRegistry] = WeakSet()
        self._taps: tuple[Tap, ...] = ()
        # In the order in which data go through them, those of the parents first.
        self._veils: tuple[View, ...] = ()

    def register(
        self,
        event: str,
        handler: Callable[..., Any],
        priority: int = 0,
        name: str | None = None,
        *,
        on_error: OnError = "continue",
        timeout: float | None = None,
    ) -> Registration:
        """Registers ``handler(event, data)`` and returns the callable that removes it.

        Lower priorities run first, equal ones in the order of registration. With ``on_error="deny"`` the handler is a
        guard: when it raises or exceeds ``timeout`` seconds the operation is denied, and it sees the final data even if
        a later handler changed them.
        """
        _require_sound_registration(event, handler, priority, on_error, timeout)
        self._registered_so_far += 1
        registration = Registration(self, event, handler, priority, name, on_error, timeout, self._registered_so_far)
        self._by_event.setdefault(event, {})[registration] = None
        self._run_order.pop(event, None)
        if name is not None:
            self._remember_name(name, registration)
        if registration.is_guard:
            for heir in list(self._heirs):
                heir.inherit_guard(registration)
        return registration

    on = register

    def unregister(self, name: str) -> None:
        """Removes the latest registration of that name; an unknown name is fine."""
        latest = self._latest_by_name.get(name)
        if latest is not None:
            self.remove(latest)

    def remove(self, registration: Registration) -> None:
        """Takes one registration out; one that is out already, or was inherited, is left as it is."""
        if registration not in self._by_event.get(registration.event, ()):
            return
        del self._by_event[registration.event][registration]
        self._run_order.pop(registration.event, None)
        registration.is_registered = False
        self._forget_name(registration)

    def list_handlers(self, event: str | None = None) -> dict[str, list[str]]:
        """Names of the handlers in run order, for one event or for every event that ever had one."""
        wanted = dict.fromkeys([*self._by_event, *self._inherited]) if event is None else (event,)
        return {each: [registration.name for registration in self._handlers_of(each)] for each in wanted}

    def set_default_fields(self, **fields: Any) -> None:
        """Replaces the fields that every event carries unless its data say otherwise."""
        self._defaults = fields

    async def emit(self, event: str, data: Any = None) -> HookResult:
        """Tells the handlers of ``event`` one after another and returns their composed answer.

        A deny ends it at once. Handlers that are registered or removed meanwhile count from the next emit on. Values
        inside ``data`` are passed on as they are, never copied.
        """
        payload: dict[str, Any] = data if type(data) is dict else _as_payload(data)  # pyright: ignore[reportUnknownVariableType]
        if event in CORRELATED_EVENTS:
            payload = self._with_request_id(event, payload)
        handlers = self._run_order.get(event) or self._handlers_of(event)
        if not handlers and not self._taps:
            return continue_with(payload.copy())
        current: dict[str, Any] = {**self._defaults, **payload, "timestamp": self._timestamps.now()}
        sight = Sight(event, self._veils) if self._veils else None
        answers, current = await ask_in_turn(event, handlers, current, sight)
        if answers:
            result, current = await _conclude(event, handlers, answers, current)
        else:
            result = continue_with(current if handlers else payload.copy())
        if self._taps:
            await _show_to_taps(self._taps, event, current if sight is None else sight.of(current))
        return result

    async def emit_and_collect(self, event: str, data: Any = None, timeout: float = 1.0) -> list[Any]:
        """Asks every handler of ``event`` for data, each for at most ``timeout`` seconds, and gives what they answered.

        Actions do not matter here; a handler that fails or comes too late is logged and left out.
        """
        payload = _as_payload(data)
        sight = Sight(event, self._veils) if self._veils else None
        collected: list[Any] = []
        for registration in self._handlers_of(event):
            shown = payload if sight is None or registration.is_guard else sight.of(payload)
            try:
                answer = await settle_within(timeout, _answer_for_collection(registration, event, shown))
            except BaseException as error:
                if belongs_to_caller(error):
                    raise
                log_failure(event, registration.name, error)
                continue
            if answer.data is not None:
                collected.append(answer.data)
        return collected

    def tap(self, tap: Tap) -> Callable[[], None]:
        """Shows ``tap(event, data)`` every event after its handlers ran; returns the function that ends it."""

        async def own(event: str, data: dict[str, Any]) -> None:
            await tap(event, data)

        def untap() -> None:
            self._taps = tuple(each for each in self._taps if each is not own)

        self._taps = (*self._taps, own)

        return untap

    def veil(self, view: View) -> Callable[[], None]:
        """Shows watchers what ``view(event, data)`` makes of the data, and lifts the veil again when called back.

        Watchers are taps, and all handlers that are no guards. The operation, and the guards that judge it, keep the
        data themselves; where a watcher answers ``modify``, what it left as it was shown stands for the original. A
        view that fails hides the event. Children have the veils of their parents.
        """

        def own(event: str, data: dict[str, Any]) -> dict[str, Any]:
            return view(event, data)

        def lift() -> None:
            self._veils = tuple(each for each in self._veils if each is not own)

        self.inherit_veil(own)

        return lift

    def has_listeners(self, event: str) -> bool:
        """Whether anybody would notice ``event``; lets emitters skip payloads that are costly to make."""
        return bool(self._taps or self._handlers_of(event))

    def registered_since(self, mark: int) -> list[Registration]:
        """Registrations made after ``mark`` (an earlier ``registered_so_far``) that are still in place."""
        if mark == self._registered_so_far:
            return []
        return [each for registrations in self._by_event.values() for each in registrations if each.order > mark]

    @property
    def registered_so_far(self) -> int:
        """How many registrations were ever made; marks a moment for ``registered_since``."""
        return self._registered_so_far

    def inherit_guards_from(self, parent: HookRegistry) -> None:
        """Makes the guards and the veils of ``parent``, now and later, hold for this registry's events as well.

        They can neither be removed here nor by the parent's later clean-up: a child may tighten the rules, never loosen
        them.
        """
        parent._heirs.add(self)
        for veil in parent._veils:
            self.inherit_veil(veil)
        for registrations in (*parent._inherited.values(), *parent._by_event.values()):
            for registration in registrations:
                if registration.is_guard:
                    self.inherit_guard(registration)

    def inherit_guard(self, registration: Registration) -> None:
        """Takes over one guard of a parent registry, and hands it on to this registry's own heirs."""
        inherited = self._inherited.setdefault(registration.event, {})
        if registration in inherited:
            return
        inherited[registration] = None
        self._run_order.pop(registration.event, None)
        for heir in list(self._heirs):
            heir.inherit_guard(registration)

    def inherit_veil(self, view: View) -> None:
        """Takes over one veil of a parent registry, and hands it on to this registry's own heirs."""
        if view in self._veils:
            return
        self._veils = (*self._veils, view)
        for heir in list(self._heirs):
            heir.inherit_veil(view)

    def name_automatically(self, registration: Registration) -> str:
        """Makes up a name for a registration that came without one."""
        name = f"_auto_{registration.event}_{self._new_id()}"
        if registration.is_registered:
            self._remember_name(name, registration)
        return name

    def _remember_name(self, name: str, registration: Registration) -> None:
        registration.shadowed = self._latest_by_name.get(name)
        self._latest_by_name[name] = registration

    def _forget_name(self, registration: Registration) -> None:
        before = registration.shadowed
        while before is not None and not before.is_registered:
            before = before.shadowed
        # Kept short even when a later registration shadows this one, or removed handlers would live on in the chain.
        registration.shadowed = before
        name = registration.given_name
        if name is None or self._latest_by_name.get(name) is not registration:
            return
        if before is None:
            del self._latest_by_name[name]
        else:
            self._latest_by_name[name] = before

    def _handlers_of(self, event: str) -> tuple[Registration, ...]:
        known = self._run_order.get(event)
        if known is not None:
            return known
        registrations = [*self._inherited.get(event, ()), *self._by_event.get(event, ())]
        if not registrations:
            return ()
        handlers = tuple(sorted(registrations, key=_priority))
        self._run_order[event] = handlers
        return handlers

    def _with_request_id(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        given = payload.get(REQUEST_ID_FIELD)
        explicit = given if isinstance(given, str) else None
        if event in REQUEST_EVENTS and not explicit:
            explicit = self._new_id()
        request_id = resolve_request_id(event, explicit)
        return payload if request_id is None else {**payload, REQUEST_ID_FIELD: request_id}


async def _show_to_taps(taps: Sequence[Tap], event: str, data: dict[str, Any]) -> None:
    for tap in taps:
        try:
            await tap(event, data.copy())
        except Exception:
            logger.exception("A tap failed on event '%s'", event)


async def _conclude(
    event: str, handlers: Sequence[Registration], answers: dict[Registration, HookResult], data: dict[str, Any]
) -> tuple[HookResult, dict[str, Any]]:
    """The one answer to an event on which handlers had something to say, and the final data."""
    last = next(reversed(answers.values()))
    if last.action == "deny":
        return last, data
    changers = [handler for handler in handlers if handler in answers and changes_data(answers[handler])]
    if changers:
        outdated = [handler for handler in handlers[: handlers.index(changers[-1])] if handler.is_guard]
        denial, data = await _show_final_data(event, outdated, handlers, answers, data)
        if denial is not None:
            return denial, data
    told = [(handler.name, answers[handler]) for handler in handlers if handler in answers]
    return compose(event, told, data, is_modified=bool(changers)), data


async def _show_final_data(
    event: str,
    outdated: list[Registration],
    handlers: Sequence[Registration],
    answers: dict[Registration, HookResult],
    data: dict[str, Any],
) -> tuple[HookResult | None, dict[str, Any]]:
    """Asks each guard that judged older data once more, so that its last answer is about what will really happen.

    A guard that changes the data then makes the others judge again; guards that cannot agree deny.
    """
    changed_again: set[Registration] = set()
    while outdated:
        guard = outdated.pop(0)
        answers.pop(guard, None)
        again, changed = await ask_in_turn(event, (guard,), data)
        if guard in again and again[guard].action == "deny":
            return again[guard], data
        answers.update(again)
        if changed is not data and _differ(changed, data):
            if guard in changed_again:
                reason = f"Guard '{guard.name}' and another one keep changing each other's data of '{event}'"
                return HookResult(action="deny", reason=reason), data
            changed_again.add(guard)
            data = changed
            outdated = [handler for handler in handlers if handler.is_guard and handler is not guard]
    return None, data


def _differ(new: dict[str, Any], old: dict[str, Any]) -> bool:
    # A guard that rewrites data says "modify" each time it sees them; only a real difference has to be judged by the
    # others.
    try:
        return bool(new != old)
    except Exception:
        return True


def _priority(registration: Registration) -> int:
    return registration.priority


def _require_sound_registration(event: str, handler: Any, priority: Any, on_error: Any, timeout: Any) -> None:
    if not isinstance(priority, int):
        raise TypeError(f"Priority of a handler for '{event}' must be an int, got {type(priority).__name__}")
    if on_error not in ("continue", "deny"):
        raise ValueError(f"on_error of a handler for '{event}' must be 'continue' or 'deny', got {on_error!r}")
    if timeout is None:
        return
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(
            f"timeout of a handler for '{event}' must be a positive number of seconds or None, got {timeout!r}"
        )
    if not _is_async(handler):
        logger.warning(
            "Handler %r for '%s' is not async: its time limit of %g s cannot interrupt it", handler, event, timeout
        )


def _is_async(handler: Any) -> bool:
    from inspect import iscoroutinefunction

    return iscoroutinefunction(handler) or iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def _as_payload(data: Any) -> dict[str, Any]:
    dump = getattr(data, "model_dump", None)
    if callable(dump):
        data = dump()
    return dict(cast("Mapping[str, Any]", data)) if isinstance(data, Mapping) else {}


async def _answer_for_collection(registration: Registration, event: str, payload: dict[str, Any]) -> HookResult:
    try:
        return read_answer(await settle(registration.handler(event, payload.copy())))
    except UnreadableAnswerError as error:
        raise TypeError(f"cannot read the answer: {error}") from error

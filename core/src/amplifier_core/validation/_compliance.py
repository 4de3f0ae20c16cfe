"""Whether what a module mounted, registered or returned is what its kind promises."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isroutine
from typing import Any

from amplifier_core._discovery import TYPE_TO_MOUNT_POINT
from amplifier_core._handlers import Registration
from amplifier_core._installed import Installation
from amplifier_core.coordinator import NAMED_POINTS
from amplifier_core.interfaces import implements, missing_members
from amplifier_core.validation._checks import Kind, binds, check_instance, failed, passed
from amplifier_core.validation.base import ValidationCheck, signature_of

COMPLIANCE = "protocol_compliance"

_KIND_AT = {point: kind for kind, point in TYPE_TO_MOUNT_POINT.items()}


def judge(kind: Kind, installed: Installation, returned: Any) -> Iterator[ValidationCheck]:
    """Every check of what ``mount()`` did, while it is still in place."""
    yield from _judge_hooks(kind, installed, returned) if kind.name == "hook" else _judge(kind, installed, returned)
    yield from _strangers(kind, installed)


def is_cleanup(kind: Kind, returned: Any) -> bool:
    """Whether what ``mount()`` returned is to be called at clean-up: a callable that is no instance of the kind."""
    is_instance = _looks_like_handler(returned) if kind.name == "hook" else implements(kind.name, returned)
    return callable(returned) and not is_instance


def _judge(kind: Kind, installed: Installation, returned: Any) -> Iterator[ValidationCheck]:
    mounted = [entry for entry in installed.modules.at(kind.point) if entry.value is not None]
    for entry in mounted:
        yield from _judge_instance(kind, entry.value, entry.key)
    if mounted:
        return
    if returned is not None and implements(kind.name, returned):
        yield from _judge_instance(kind, returned, getattr(returned, "name", None))
    elif callable(returned):
        text = f"mount() returned a cleanup callable (no {kind.name} mounted yet - may be conditional)"
        yield ValidationCheck(COMPLIANCE, True, text, "warning")
    else:
        text = f"No {kind.name} was mounted and mount() did not return a {kind.interface} instance"
        yield failed(COMPLIANCE, text + _elsewhere(kind, installed))


def _judge_instance(kind: Kind, instance: Any, name: Any) -> Iterator[ValidationCheck]:
    who = f"{kind.title} '{name}'" if kind.point in NAMED_POINTS else kind.title
    missing = missing_members(kind.name, instance)
    if missing:
        lacking = f"(missing {', '.join(missing)})"
        yield failed(COMPLIANCE, f"{who} does not implement {kind.interface} interface {lacking}")
        return
    yield passed(COMPLIANCE, f"{who} implements {kind.interface} interface")
    yield from check_instance(kind, instance, who)


def _judge_hooks(kind: Kind, installed: Installation, returned: Any) -> Iterator[ValidationCheck]:
    if installed.registrations:
        yield passed(COMPLIANCE, "Hooks registered via coordinator.hooks.register()")
    elif _looks_like_handler(returned):
        text = "mount() registered no hooks; it returned a handler, which nobody will call"
        yield failed(COMPLIANCE, f"{text}. Pass it to coordinator.hooks.register(event, handler)", "warning")
        yield from check_instance(kind, returned, f"Handler {type(returned).__name__}")
    else:
        text = "mount() registered no hooks; call coordinator.hooks.register(event, handler) there"
        yield failed(COMPLIANCE, f"{text}, unless the config or on_session_ready decides on it", "warning")
    for handler, registration in _by_handler(installed.registrations):
        yield from check_instance(kind, handler, f"Handler {_called(handler)} for '{registration.event}'")


def _by_handler(registrations: list[Registration]) -> list[tuple[Any, Registration]]:
    """Each handler once, with the first event it is registered for."""
    distinct: list[tuple[Any, Registration]] = []
    for registration in registrations:
        if not any(_is_same(registration.handler, handler) for handler, _ in distinct):
            distinct.append((registration.handler, registration))
    return distinct


def _is_same(one: Any, other: Any) -> bool:
    # A bound method is a new object each time it is read, so only equality finds it again; foreign objects may have an
    # equality of their own.
    return one is other or (isroutine(one) and isroutine(other) and one == other)


def _called(handler: Any) -> str:
    return getattr(handler, "__qualname__", type(handler).__name__)


def _looks_like_handler(returned: Any) -> bool:
    """Whether a returned object is a handler by its signature; plain functions are taken for clean-ups."""
    if not callable(returned) or isroutine(returned):
        return False
    found = signature_of(returned)
    return found is not None and binds(found, "event", "data") and not binds(found)


def _strangers(kind: Kind, installed: Installation) -> Iterator[ValidationCheck]:
    """What was mounted at the points of other kinds must fit there: a session would refuse the whole module."""
    for point, entry in installed.modules:
        if point == kind.point or entry.value is None:
            continue
        other = _KIND_AT[point]
        missing = missing_members(other, entry.value)
        if missing:
            what = f"{type(entry.value).__name__} at '{point}' as '{entry.key}'"
            yield failed(COMPLIANCE, f"mount() put {what}, which is no {other} (missing {', '.join(missing)})")


def _elsewhere(kind: Kind, installed: Installation) -> str:
    places = [f"{type(entry.value).__name__} at '{point}'" for point, entry in installed.modules]
    return f"; it mounted {', '.join(places)}, and a {kind.name} belongs at '{kind.point}'" if places else ""

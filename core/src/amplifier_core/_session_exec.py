"""One turn: calling the orchestrator with what it asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from amplifier_core._awaiting import settle
from amplifier_core._plan import session_settings
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.kernel_events import SESSION_CONFIG
from amplifier_core.utils.truncate import redact_config

logger = logging.getLogger(__name__)

_RESERVED = frozenset({"context", "providers", "tools", "hooks", "coordinator"})
_TAKES_KEYWORDS = 0x08
"""``inspect.CO_VARKEYWORDS``: the function has a ``**kwargs``."""


async def run_orchestrator(coordinator: ModuleCoordinator, prompt: str, options: dict[str, Any] | None = None) -> Any:
    """Runs the mounted orchestrator on ``prompt`` and gives its answer as it is.

    ``coordinator`` and the ``options`` are passed only to an orchestrator that takes them.
    """
    _reject_reserved(options or {})
    orchestrator, providers, tools = (coordinator.get(point) for point in ("orchestrator", "providers", "tools"))
    extras = {"coordinator": coordinator, **(options or {})}
    return await settle(
        orchestrator.execute(
            prompt=prompt,
            context=coordinator.get("context"),
            providers={} if providers is None else providers,
            tools={} if tools is None else tools,
            hooks=coordinator.hooks,
            **_accepted(orchestrator, extras),
        )
    )


async def emit_raw_field_if_configured(
    coordinator: ModuleCoordinator, config: dict[str, Any], session_id: str, event_base: str = SESSION_CONFIG
) -> None:
    """Emits the redacted plan as ``session:config`` when the plan asks for raw events."""
    if session_settings(config).get("raw"):
        await coordinator.hooks.emit(SESSION_CONFIG, {"session_id": session_id, "raw": redact_config(config)})


def _reject_reserved(options: dict[str, Any]) -> None:
    taken = sorted(options.keys() & _RESERVED)
    if taken:
        raise TypeError(f"Option '{taken[0]}' of execute() is what the session itself passes on; choose another name")


def _accepted(orchestrator: Any, extras: dict[str, Any]) -> dict[str, Any]:
    takes = _keyword_test(orchestrator.execute)
    for name in extras:
        if name != "coordinator" and not takes(name):
            logger.warning(
                "Orchestrator %s does not take the option '%s'; it is ignored", type(orchestrator).__name__, name
            )
    return {name: value for name, value in extras.items() if takes(name)}


def _keyword_test(function: Any) -> Callable[[str], bool]:
    """A test whether ``function`` takes a keyword."""
    # The code object is read far quicker than a signature is made, and this runs once a turn.
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return _keyword_test_by_signature(function)
    if code.co_flags & _TAKES_KEYWORDS:
        return lambda name: True
    names = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return names.__contains__


def _keyword_test_by_signature(function: Any) -> Callable[[str], bool]:
    from inspect import Parameter, signature

    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):
        return lambda name: True
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return lambda name: True
    return parameters.__contains__

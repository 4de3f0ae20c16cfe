"""Secrets taken out of what the command writes down, by the module that does it for sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from amplifier.problems import Problem

_MODULE, _CAPABILITY = "hooks-redaction", "redaction.redact"


def redactor() -> Callable[[Any], Any]:
    """The function that gives any value with its secrets masked; raises ``Problem`` where the module is not there."""
    from amplifier_core.coordinator import ModuleCoordinator
    from amplifier_core.loader import ModuleLoader

    async def mounted() -> Any:
        coordinator = ModuleCoordinator()
        mount = await ModuleLoader(coordinator).load(_MODULE, {})
        await mount(coordinator)
        return coordinator.get_capability(_CAPABILITY)

    try:
        redact = asyncio.run(mounted())
    except Exception as error:
        raise Problem(
            f"Secrets cannot be masked: the module '{_MODULE}' does not load: {error}.",
            "Install amplifier-modules, or export without --redact.",
        ) from None
    return redact

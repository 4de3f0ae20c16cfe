"""How the guard takes its place in a session: registered, joined to the desk of its parent, and offered to others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from amplifier_core.events import TOOL_PRE
from amplifier_core.models import HookResult
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_modkit.spawning.handing_down import HANDED_DOWN
from amplifier_module_hooks_approval.config import ApprovalConfig
from amplifier_module_hooks_approval.desk import DESK, ApprovalDesk
from amplifier_module_hooks_approval.guard import SAVE_RULE, ApprovalGuard
from amplifier_module_hooks_approval.modes import APPROVAL_MODE_CHANGED, ApprovalMode

logger = logging.getLogger(__name__)

GRANTED, MODE, REGISTER_PROVIDER = "approval.granted", "approval.mode", "approval.register_provider"
"""The capabilities that are offered."""

_NAME = "hooks-approval"
_PRIORITY = -10


def stand_guard(coordinator: Any, given: Mapping[str, Any] | None) -> Callable[[], Awaitable[None]]:
    """Registers the guard for a session; returns what ends it.

    A session goes on without a module that fails to mount, so a guard that cannot be made refuses every call.
    """
    try:
        config = ApprovalConfig.read(given)
        guard = _guard_for(coordinator, config)
    except Exception as error:
        return _refuse_everything(coordinator, error)
    coordinator.hooks.register(TOOL_PRE, guard, priority=_PRIORITY, name=_NAME, on_error="deny")
    coordinator.register_contributor("observability.events", _NAME, lambda: [APPROVAL_MODE_CHANGED])
    return guard.audit.flush


def _guard_for(coordinator: Any, config: ApprovalConfig) -> ApprovalGuard:
    found = coordinator.get_capability(DESK)
    desk = found if isinstance(found, ApprovalDesk) else ApprovalDesk()
    session_id: str = coordinator.session_id
    mode = ApprovalMode(coordinator, config.mode, desk.modes.get(coordinator.parent_id))
    guard = ApprovalGuard(coordinator, config, desk, mode, working_dir_of(coordinator))
    desk.modes[session_id] = mode
    desk.homes[session_id] = coordinator
    offered = {DESK: desk, GRANTED: desk.granted, REGISTER_PROVIDER: desk.register_provider}
    for name, value in {**offered, MODE: mode}.items():
        coordinator.register_capability(name, value)
    coordinator.register_contributor(HANDED_DOWN, _NAME, lambda: {**offered, **_saving(coordinator)})
    coordinator.register_cleanup(lambda: _leave(desk, session_id))
    return guard


def _saving(coordinator: Any) -> dict[str, Any]:
    save = coordinator.get_capability(SAVE_RULE)
    return {} if save is None else {SAVE_RULE: save}


def _leave(desk: ApprovalDesk, session_id: str) -> None:
    desk.modes.pop(session_id, None)
    desk.homes.pop(session_id, None)


def _refuse_everything(coordinator: Any, error: Exception) -> Callable[[], Awaitable[None]]:
    reason = f"hooks-approval cannot read its config, so nothing is allowed until it is corrected: {error}"
    logger.error(reason)

    async def refuse(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="deny", reason=reason)

    async def nothing() -> None:
        """There is nothing to end."""

    coordinator.hooks.register(TOOL_PRE, refuse, priority=_PRIORITY, name=_NAME, on_error="deny")
    return nothing

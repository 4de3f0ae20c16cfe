"""The coordinator: mount points, capabilities, channels and clean-up of one session.

Every module gets the same coordinator and finds the others through it. It connects and never decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from amplifier_core._awaiting import settle
from amplifier_core._channels import Contributor, collect_contributions
from amplifier_core._done import Done
from amplifier_core._error_text import describe_error
from amplifier_core._hook_results import process_hook_result
from amplifier_core._ids import random_id
from amplifier_core._timestamps import Timestamps
from amplifier_core.cancellation import CancellationToken
from amplifier_core.hooks import HookRegistry
from amplifier_core.kernel_events import MODULE_CLEANUP_FAILED
from amplifier_core.models import HookResult
from amplifier_core.report import LoadReport

logger = logging.getLogger(__name__)

SINGLE_POINTS = ("orchestrator", "context", "module-source-resolver")
NAMED_POINTS = ("providers", "tools")
# Clean-up functions may register others while they run; one that does so for ever must not hold up the end.
_MOST_ADDED_CLEANUPS = 1000
_SESSION_ALIASES = ("orchestrator", "context")


class ModuleCoordinator:
    """The meeting point of a session's modules; made with the session, and usable without one in tests.

    ``clock`` and ``new_id`` are the session's sources of time and ids, offered to modules under the same names.
    """

    def __init__(
        self,
        session: Any = None,
        approval_system: Any = None,
        display_system: Any = None,
        *,
        clock: Callable[[], datetime] | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self._session = session
        self._session_id: str = "" if session is None else session.session_id
        self._parent_id: str | None = None if session is None else session.parent_id
        self._config: Any = {} if session is None else session.config
        self._approval_system = approval_system
        self._display_system = display_system
        self._approval_was_set = self._display_was_set = False
        self.clock: Callable[[], datetime] = clock or _utc_now
        self.new_id: Callable[[], str] = new_id or random_id
        self._timestamps = Timestamps()
        self._hooks = HookRegistry(clock=clock, new_id=new_id)
        self._hooks.set_default_fields(session_id=self._session_id, parent_id=self._parent_id)
        self._cancellation = CancellationToken()
        self._capabilities: dict[str, Any] = {}
        self._channels: dict[str, list[Contributor]] = {}
        self._cleanup_fns: list[Any] = []
        self._current_turn_injections = 0
        self.report = LoadReport()
        self.loader: Any = None
        self.session_state: dict[str, Any] = {}
        self.mount_points: dict[str, Any] = {
            "orchestrator": None,
            "providers": {},
            "tools": {},
            "context": None,
            "hooks": self._hooks,
            "module-source-resolver": None,
        }

    @property
    def session(self) -> Any:
        """The session this coordinator belongs to."""
        return self._session

    @property
    def session_id(self) -> str:
        """Id of the session, empty without one."""
        return self._session_id

    @property
    def parent_id(self) -> str | None:
        """Id of the session that made this one."""
        return self._parent_id

    @property
    def config(self) -> Any:
        """The mount plan: the very object the session was made with."""
        return self._config

    @property
    def hooks(self) -> HookRegistry:
        """The session's hook registry."""
        return self._hooks

    @property
    def cancellation(self) -> CancellationToken:
        """The session's cancellation token."""
        return self._cancellation

    @property
    def channels(self) -> dict[str, list[Contributor]]:
        """Contributors by channel."""
        return self._channels

    @property
    def capabilities(self) -> dict[str, Any]:
        """Capabilities by name."""
        return self._capabilities

    @property
    def pending_cleanups(self) -> int:
        """How many clean-up functions wait to be run."""
        return len(self._cleanup_fns)

    @property
    def approval_system(self) -> Any:
        """Who asks the user; set by the application."""
        return self._approval_system

    @approval_system.setter
    def approval_system(self, system: Any) -> None:
        self._approval_system = system
        self._approval_was_set = system is not None

    @property
    def display_system(self) -> Any:
        """Who shows messages to the user; set by the application."""
        return self._display_system

    @display_system.setter
    def display_system(self, system: Any) -> None:
        self._display_system = system
        self._display_was_set = self._display_was_set or system is not None

    @property
    def injection_budget_per_turn(self) -> int | None:
        """Tokens that hooks may inject per turn before a warning; ``None`` is no limit."""
        return self._session_setting("injection_budget_per_turn")

    @property
    def injection_size_limit(self) -> int | None:
        """Characters that one injection may have; ``None`` is no limit."""
        return self._session_setting("injection_size_limit")

    def mount(self, mount_point: str, module: Any, name: str | None = None) -> Done:
        """Puts ``module`` at a mount point, at once; awaiting the answer is optional.

        Single points (orchestrator, context, module-source-resolver) replace what was there. ``providers`` and
        ``tools`` are kept by ``name``, else by ``module.name``. ``mount("session", module, name="orchestrator" |
        "context")`` names the point itself.
        """
        point = self._point_of(mount_point, name)
        if point == "hooks":
            raise ValueError("Hooks should be registered directly with the HookRegistry: coordinator.hooks.register(…)")
        if point in SINGLE_POINTS:
            self._mount_single(point, module)
        elif point in NAMED_POINTS:
            self.mount_points[point][_required_name(point, module, name)] = module
        return Done()

    def unmount(self, mount_point: str, name: str | None = None) -> Done:
        """Takes a module from its mount point, at once; clean-up functions are not called."""
        point = self._point_of(mount_point, name)
        if point in SINGLE_POINTS:
            self.mount_points[point] = None
        elif point in NAMED_POINTS:
            if not name:
                raise ValueError(f"Name required to unmount from {point}")
            self.mount_points[point].pop(name, None)
        return Done()

    def get(self, mount_point: str, name: str | None = None) -> Any:
        """What is mounted: module or ``None`` for a single point, the live dict or one entry of it for the others."""
        if mount_point == "session" and name is None:
            return {alias: self.mount_points[alias] for alias in _SESSION_ALIASES}
        point = self._point_of(mount_point, name)
        mounted = self.mount_points[point]
        return mounted.get(name) if point in NAMED_POINTS and name is not None else mounted

    def register_capability(self, name: str, value: Any) -> None:
        """Offers ``value`` to other modules under ``name``; the latest wins."""
        self._capabilities[name] = value

    def get_capability(self, name: str) -> Any:
        """What was offered under ``name``, or ``None``."""
        return self._capabilities.get(name)

    def register_contributor(self, channel: str, name: str, callback: Callable[[], Any]) -> None:
        """Adds a source of contributions to ``channel``."""
        self._channels.setdefault(channel, []).append({"name": name, "callback": callback})

    async def collect_contributions(self, channel: str) -> list[Any]:
        """What the contributors of ``channel`` have to offer now, in the order of registration, without ``None``."""
        return await collect_contributions(self._channels, channel)

    def register_cleanup(self, cleanup_fn: Any) -> None:
        """Adds a function to be called once at clean-up, last in first out; what is not callable is ignored."""
        if callable(cleanup_fn):
            self._cleanup_fns.append(cleanup_fn)

    def has_cleanup(self, cleanup_fn: Any, since: int = 0) -> bool:
        """Whether an equal clean-up function waits already, leaving out the first ``since`` of them.

        Modules may both register and return theirs.
        """
        return cleanup_fn in self._cleanup_fns[since:]

    async def cleanup(self) -> None:
        """Runs every registered clean-up function once, last in first out, each shielded from the failure of another.

        The first ``KeyboardInterrupt``, ``SystemExit`` or ``CancelledError`` is raised again after all have run.
        """
        await self.run_cleanups(keep=0)

    async def run_cleanups(self, keep: int) -> None:
        """Runs clean-up functions, last in first out, until only the first ``keep`` are left."""
        first: BaseException | None = None
        runs_left = len(self._cleanup_fns) + _MOST_ADDED_CLEANUPS
        while len(self._cleanup_fns) > keep:
            cleanup_fn = self._cleanup_fns.pop()
            runs_left -= 1
            if runs_left < 0:
                self._give_up_cleanups(cleanup_fn, keep)
                break
            if callable(cleanup_fn):
                interruption = await self._run_cleanup(cleanup_fn)
                first = first or interruption
        if first is not None:
            raise first

    async def process_hook_result(self, result: HookResult, event: str, hook_name: str = "unknown") -> HookResult:
        """Carries out the answer of an emit: asks, injects, shows; returns what is left for the orchestrator.

        Raises ``ValueError`` when an injection is longer than the plan allows.
        """
        return await process_hook_result(self, result, event, hook_name)

    async def request_cancel(self, immediate: bool = False) -> None:
        """Asks the session and its children to stop."""
        if immediate:
            self._cancellation.request_immediate()
        else:
            self._cancellation.request_graceful()

    def reset_turn(self) -> None:
        """Begins a new turn for the injection budget; called by orchestrators."""
        self._current_turn_injections = 0

    def timestamp(self) -> str:
        """The current time as ISO 8601 text in UTC."""
        if self.clock is _utc_now:
            return self._timestamps.now()
        return self.clock().astimezone(UTC).isoformat()

    def to_dict(self) -> dict[str, Any]:
        """What is mounted, by name, for display and diagnosis."""
        return {
            "tools": list(self.mount_points["tools"]),
            "providers": list(self.mount_points["providers"]),
            "capabilities": list(self._capabilities),
            "has_orchestrator": self.mount_points["orchestrator"] is not None,
            "has_context": self.mount_points["context"] is not None,
            # These two tell what was set after construction, as callers of this method have come to expect.
            "has_approval_provider": self._approval_was_set,
            "has_display_service": self._display_was_set,
        }

    def _session_setting(self, key: str) -> Any:
        config = self._config
        if hasattr(config, "model_dump"):
            config = config.model_dump()
        for step in ("session", key):
            config = cast("Mapping[str, Any]", config).get(step) if isinstance(config, Mapping) else None
        return config

    def _point_of(self, mount_point: str, name: str | None) -> str:
        if mount_point == "session":
            if name not in _SESSION_ALIASES:
                raise ValueError(f"Under 'session' only 'orchestrator' and 'context' can be mounted, not {name!r}")
            return name
        if mount_point not in self.mount_points:
            raise ValueError(f"Unknown mount point: {mount_point}; known are {', '.join(self.mount_points)}")
        return mount_point

    def _mount_single(self, point: str, module: Any) -> None:
        if point == "orchestrator" and self.mount_points[point] is not None:
            logger.warning("Replacing the orchestrator mounted before: %r", self.mount_points[point])
        self.mount_points[point] = module

    async def _run_cleanup(self, cleanup_fn: Callable[[], Any]) -> BaseException | None:
        """Runs one clean-up function; gives what must be raised again once all have run."""
        try:
            try:
                await settle(cleanup_fn())
            except Exception as error:
                await self._note_failed_cleanup(cleanup_fn, error)
        except BaseException as interruption:
            return interruption
        return None

    def _give_up_cleanups(self, cleanup_fn: Any, keep: int) -> None:
        told = f"{_name_of(cleanup_fn)} keeps registering clean-up functions; those left are not run"
        logger.error("Error during cleanup: %s", told)
        self.report.cleanup_errors.append(told)
        del self._cleanup_fns[keep:]

    async def _note_failed_cleanup(self, cleanup_fn: Callable[[], Any], error: Exception) -> None:
        told = describe_error(error)
        name = _name_of(cleanup_fn)
        logger.error("Error during cleanup: %s raised %s", name, told)
        self.report.cleanup_errors.append(f"{name} raised {told}")
        await self._hooks.emit(MODULE_CLEANUP_FAILED, {"callable": name, "error": told})


def _name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _required_name(point: str, module: Any, name: str | None) -> str:
    found = name or getattr(module, "name", None)
    if not found:
        raise ValueError(f"Name required for {point}: pass name=… or give the module a 'name'")
    return found


def _utc_now() -> datetime:
    return datetime.now(UTC)

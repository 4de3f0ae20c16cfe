"""The session: a mount plan brought to life, run turn by turn, and taken down again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from amplifier_core import _session_init
from amplifier_core._awaiting import is_cancellation, settle, task_is_being_cancelled
from amplifier_core._error_text import describe_error, error_text
from amplifier_core._exclusive import Exclusive
from amplifier_core._ids import random_id
from amplifier_core._installed import Checkpoint, Installation
from amplifier_core._plan import require_overlay, require_sound_plan, session_settings
from amplifier_core._session_exec import emit_raw_field_if_configured, run_orchestrator
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import CANCEL_COMPLETED, SESSION_END, SESSION_RESUME, SESSION_START
from amplifier_core.kernel_events import KERNEL_EVENTS
from amplifier_core.loader import ModuleLoader
from amplifier_core.models import SessionStatus
from amplifier_core.report import LoadReport
from amplifier_core.utils.truncate import redact_config

if TYPE_CHECKING:
    from amplifier_core.stream import EventStream

logger = logging.getLogger(__name__)

initialize_session = _session_init.initialize_session
_own_initialize_session = initialize_session

# A child names its parent by id only; this is how it finds the token to be cancelled by. Weak, and asked for nothing
# but that id.
_live_sessions: WeakValueDictionary[str, AmplifierSession] = WeakValueDictionary()


class AmplifierSession:
    """One agent at work: its plan, its coordinator and its state, from ``initialize()`` to ``cleanup()``.

    ``config`` is the mount plan, kept by reference. ``clock`` and ``new_id`` replace time and ids for deterministic
    runs. After a clean-up the next ``execute()`` initialises anew.
    """

    def __init__(
        self,
        config: dict[str, Any],
        loader: Any = None,
        session_id: str | None = None,
        parent_id: str | None = None,
        approval_system: Any = None,
        display_system: Any = None,
        is_resumed: bool = False,
        *,
        clock: Callable[[], datetime] | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        require_sound_plan(config)
        self.config = config
        self.session_id: str = session_id or (new_id or random_id)()
        self.parent_id = parent_id
        self._is_resumed = is_resumed
        self._clock = clock
        self._new_id = new_id
        self.status = SessionStatus(session_id=self.session_id, started_at=self._now())
        self.coordinator = ModuleCoordinator(
            session=self, approval_system=approval_system, display_system=display_system, clock=clock, new_id=new_id
        )
        self.coordinator.register_contributor("observability.events", "amplifier-core", lambda: list(KERNEL_EVENTS))
        self.loader: Any = loader if loader is not None else ModuleLoader(coordinator=self.coordinator)
        self._borrows_loader = False
        self._initialized = False
        self._lifecycle_event_emitted = False
        self._is_executing = False
        self._installation: Installation | None = None
        self._mounting = Exclusive(f"session {self.session_id} is being set up or taken down")
        self._teardown = Exclusive(f"session {self.session_id} is being cleaned up")
        self._join_family()

    @property
    def initialized(self) -> bool:
        """Whether the modules are mounted."""
        return self._initialized

    @property
    def is_resumed(self) -> bool:
        """Whether the session goes on from an earlier one; decides between ``session:resume`` and ``session:start``."""
        return self._is_resumed

    @property
    def report(self) -> LoadReport:
        """What mounted, what did not and why, and what went wrong at clean-up; made to be printed."""
        return self.coordinator.report

    async def initialize(self) -> None:
        """Mounts the modules of the plan; does nothing the second time.

        Raises ``RuntimeError`` when the orchestrator or the context does not mount. Whatever had been mounted by then
        is taken down again and a retry is possible.
        """
        async with self._mounting:
            if not self._initialized:
                await self._mount_plan()

    async def execute(self, prompt: str, **options: Any) -> Any:
        """Runs one turn and returns the orchestrator's answer as it is; initialises first when needed.

        ``options`` go to an orchestrator that takes them. What the orchestrator raises comes out unchanged. One turn at
        a time: a second call meanwhile is a ``RuntimeError``.
        """
        if self._is_executing:
            raise RuntimeError(
                f"Session {self.session_id} is busy: a turn is still running; await it or cancel it first"
            )
        self._is_executing = True
        try:
            return await self._run_turn(prompt, options)
        finally:
            self._is_executing = False

    def stream(self, prompt: str, **options: Any) -> EventStream:
        """Runs one turn and gives its events as they happen, the result last; leaving early cancels the turn."""
        from amplifier_core.stream import EventStream

        return EventStream(self.coordinator.hooks, self.session_id, lambda: self.execute(prompt, **options))

    def fork(
        self,
        overlay: dict[str, Any] | None = None,
        *,
        session_id: str | None = None,
        loader: Any = None,
        approval_system: Any = None,
        display_system: Any = None,
        is_resumed: bool = False,
    ) -> AmplifierSession:
        """Makes a child session: this plan with ``overlay`` merged in, this session as parent.

        Cancelling this session cancels the child, and this session's guards guard the child too. The child mounts its
        own modules; approval, display, sources of modules, time and ids are this session's unless given.
        """
        own = self.coordinator
        require_overlay(overlay)
        child = AmplifierSession(
            self._merge_configs(self.config, overlay or {}),
            loader=loader,
            session_id=session_id,
            parent_id=self.session_id,
            approval_system=own.approval_system if approval_system is None else approval_system,
            display_system=own.display_system if display_system is None else display_system,
            is_resumed=is_resumed,
            clock=self._clock,
            new_id=self._new_id,
        )
        if loader is None:
            child.loader = self._loader_for(child)
            child._borrows_loader = child.loader is self._loader_in_use
        own.cancellation.register_child(child.coordinator.cancellation)
        child.coordinator.hooks.inherit_guards_from(own.hooks)
        child.coordinator.mount("module-source-resolver", own.get("module-source-resolver"))
        return child

    async def cleanup(self) -> None:
        """Emits ``session:end``, runs every clean-up function, last in first out, and unmounts what the plan mounted.

        Each step runs whatever becomes of the others. The first ``KeyboardInterrupt``, ``SystemExit`` or
        ``CancelledError`` is raised again at the end.
        """
        if self._teardown.is_held_by_this_task:
            return
        async with self._teardown, self._mounting:
            await self._run_all(self._tell_end, self.coordinator.cleanup, self._unmount_plan, self._cleanup_loader)

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.cleanup()

    def _merge_configs(self, base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
        """Both plans as one, dict by dict; where they disagree the overlay wins. Neither is changed."""
        merged = dict(base)
        for key, value in overlay.items():
            below = merged.get(key)
            if isinstance(below, dict) and isinstance(value, dict):
                merged[key] = self._merge_configs(below, value)  # pyright: ignore[reportUnknownArgumentType]
            else:
                merged[key] = value
        return merged

    def _now(self) -> datetime:
        return datetime.now() if self._clock is None else self._clock().replace(tzinfo=None)

    def _join_family(self) -> None:
        parent = _live_sessions.get(self.parent_id) if self.parent_id else None
        if parent is not None:
            parent.coordinator.cancellation.register_child(self.coordinator.cancellation)
        _live_sessions[self.session_id] = self

    @property
    def _loader_in_use(self) -> Any:
        # An application may have set one on the coordinator.
        return self.loader if self.coordinator.loader is None else self.coordinator.loader

    def _loader_for(self, child: AmplifierSession) -> Any:
        # A ModuleLoader works for one coordinator; a loader of the application's own is shared.
        loader = self._loader_in_use
        return loader.for_coordinator(child.coordinator) if isinstance(loader, ModuleLoader) else loader

    async def _mount_plan(self) -> None:
        coordinator = self.coordinator
        coordinator.loader = self._loader_in_use
        coordinator.report = LoadReport()
        self.status.ended_at = None
        checkpoint = Checkpoint(coordinator)
        try:
            await _current_initialize_session()(self.config, coordinator, self.session_id, self.parent_id)
        except BaseException as error:
            await self._run_all(checkpoint.unwind, self._cleanup_loader)
            if isinstance(error, _session_init.RequiredModuleError):
                raise RuntimeError(f"Session initialization failed: {error}") from error
            raise
        self._installation = checkpoint.installation()
        self._initialized = True

    async def _initialize_for_turn(self) -> None:
        try:
            await self.initialize()
        except Exception as error:
            cause = error.__cause__ if isinstance(error.__cause__, _session_init.RequiredModuleError) else error
            raise RuntimeError(f"Session not initialized: {error_text(cause)}") from cause

    async def _tell_start(self) -> None:
        if not self._lifecycle_event_emitted:
            self._lifecycle_event_emitted = True
            event = SESSION_RESUME if self._is_resumed else SESSION_START
            await self.coordinator.hooks.emit(event, self._start_payload(event))
        await emit_raw_field_if_configured(self.coordinator, self.config, self.session_id)

    def _start_payload(self, event: str) -> dict[str, Any]:
        settings = session_settings(self.config)
        # Redacting is the costliest part of a start; without listeners nobody could see the result.
        shown: Any = redact_config(self.config) if self.coordinator.hooks.has_listeners(event) else {}
        payload: dict[str, Any] = {"session_id": self.session_id, "parent_id": self.parent_id, "config": shown}
        if settings.get("metadata"):
            payload["metadata"] = settings["metadata"]
        if settings.get("raw"):
            payload["raw"] = shown
        return payload

    async def _run_turn(self, prompt: str, options: dict[str, Any]) -> Any:
        self.status.status = "running"
        try:
            await self._initialize_for_turn()
            await self._tell_start()
            self._require_mounts()
            response = await run_orchestrator(self.coordinator, prompt, options)
        except BaseException as error:
            if self._note_failure(error) == "cancelled":
                await self._tell_cancelled({"error": describe_error(error)})
            raise
        # An orchestrator may answer its cancellation with what it has so far.
        was_cancelled = self.coordinator.cancellation.is_cancelled or task_is_being_cancelled()
        self.status.status = "cancelled" if was_cancelled else "completed"
        self.status.last_activity = self._now()
        if was_cancelled:
            await self._tell_cancelled({})
        return response

    def _require_mounts(self) -> None:
        get = self.coordinator.get
        if get("orchestrator") is None:
            raise RuntimeError("No orchestrator module mounted" + self._why_missing("orchestrator"))
        if get("context") is None:
            raise RuntimeError("No context manager mounted" + self._why_missing("context"))
        if not get("providers"):
            raise RuntimeError("No providers mounted" + self._why_missing("provider"))

    def _why_missing(self, kind: str) -> str:
        problems = [*self.report.failed, *self.report.skipped]
        told = "; ".join(str(problem) for problem in problems if problem.kind == kind)
        return f" ({told})" if told else ""

    def _note_failure(self, error: BaseException) -> str:
        cancelled = self.coordinator.cancellation.is_cancelled or is_cancellation(error)
        told = error_text(error) or repr(error)
        self.status.status = "cancelled" if cancelled else "failed"
        self.status.last_error = {"message": told}
        self.status.last_activity = self._now()
        if cancelled:
            logger.info("Execution cancelled: %s", told)
        else:
            logger.error("Execution failed: %s", told)
        return self.status.status

    async def _tell_cancelled(self, details: dict[str, Any]) -> None:
        token = self.coordinator.cancellation
        # A task that is cancelled without the token having been asked is stopped at once, too.
        was_immediate = token.is_immediate or not token.is_cancelled
        await self.coordinator.hooks.emit(CANCEL_COMPLETED, {"was_immediate": was_immediate, **details})

    async def _tell_end(self) -> None:
        if not self._initialized:
            return
        self._initialized = False
        self.status.ended_at = self._now()
        stats = self.status.to_dict()
        payload = {"session_id": self.session_id, "status": self.status.status, "stats": stats}
        await self.coordinator.hooks.emit(SESSION_END, payload)

    def _unmount_plan(self) -> None:
        installation, self._installation = self._installation, None
        if installation is not None:
            installation.take_out()

    async def _cleanup_loader(self) -> None:
        cleanup = getattr(self._loader_in_use, "cleanup", None)
        if cleanup is not None and not self._borrows_loader:
            await settle(cleanup())

    async def _run_all(self, *steps: Callable[[], Any]) -> None:
        first: BaseException | None = None
        for step in steps:
            try:
                await settle(step())
            except Exception as error:
                told = describe_error(error)
                logger.error("Error during cleanup of session %s: %s", self.session_id, told)
                self.report.cleanup_errors.append(told)
            except BaseException as error:
                first = first or error
        if first is not None:
            raise first


def _current_initialize_session() -> Callable[..., Awaitable[None]]:
    # Tests and tools replace the function under either name; both are looked up when it is needed.
    if initialize_session is not _own_initialize_session:
        return initialize_session
    return _session_init.initialize_session

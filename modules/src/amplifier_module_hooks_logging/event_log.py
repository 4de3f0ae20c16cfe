"""The log of one session: which events it hears, and how they get into its file."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self, cast

from amplifier_core.events import ALL_EVENTS, MODULE_LOAD_FAILED
from amplifier_core.models import HookResult
from amplifier_modkit.jsonl import JsonlWriter
from amplifier_modkit.locations import filled, session_file
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_hooks_logging.config import LoggingConfig
from amplifier_module_hooks_logging.records import to_record

logger = logging.getLogger(__name__)

LOG = "logging.event_log"
"""The capability under which a session's log is found: a module may ask it for its ``path``, or to ``flush()``."""

LOG_LOST = "log:lost"
"""Only in the file: ``count`` records are missing here."""

_CHANNEL = "observability.events"
_SETTING = "'session_log_template' of hooks-logging"


class EventLog:
    """A handler that hands every event over to be written; lives as long as the session's modules are mounted."""

    def __init__(self, config: LoggingConfig, coordinator: Any, path: Path) -> None:
        self._config = config
        self._coordinator = coordinator
        self._session_id: str = coordinator.session_id
        self._heard: set[str] = set()
        self._writer = JsonlWriter(
            path,
            to_record=self._record_of,
            lost_record=lambda count: self._record_of((LOG_LOST, {"count": count, "lvl": "WARNING"})),
            max_bytes=config.max_bytes,
            keep=config.keep,
            compress=config.compress,
        )

    @classmethod
    def begin(cls, config: LoggingConfig, coordinator: Any) -> Self | None:
        """Begins the log of the coordinator's session with what is known to have failed; ``None`` if it has one."""
        if coordinator.get_capability(LOG) is not None:
            logger.warning(
                "hooks-logging is in the plan of session '%s' twice; the second one does nothing",
                coordinator.session_id,
            )
            return None
        log = cls(config, coordinator, _path_of(config, coordinator))
        log._tell_earlier_failures()
        log._listen([*ALL_EVENTS, *config.additional_events])
        return log

    @property
    def path(self) -> Path:
        """The file."""
        return self._writer.path

    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        """Takes an event; nothing is made of it here, so that nobody has to wait."""
        self._writer.put((event, data))
        return HookResult()

    async def discover(self) -> None:
        """Listens to the events that modules announce, too; to be called when all of them are mounted."""
        if not self._config.auto_discover:
            return
        announced = [self._coordinator.get_capability(_CHANNEL)]
        announced += await self._coordinator.collect_contributions(_CHANNEL)
        self._listen(name for contribution in announced for name in _names_in(contribution))

    async def flush(self) -> None:
        """Waits until everything so far is written, but not for ever."""
        if not await self._writer.flush():
            logger.warning("The log %s is not written to the end: the disk does not take it in time", self.path)

    def _listen(self, events: Iterable[str]) -> None:
        for event in events:
            if event not in self._heard and not self._is_excluded(event):
                self._heard.add(event)
                self._coordinator.hooks.register(event, self, self._config.priority, "hooks-logging")

    def _is_excluded(self, event: str) -> bool:
        return any(fnmatchcase(event, pattern) for pattern in self._config.exclude_events)

    def _tell_earlier_failures(self) -> None:
        """Modules that came before this one could not be heard; the session's report has what became of them."""
        if self._is_excluded(MODULE_LOAD_FAILED):
            return
        report = self._coordinator.report
        for problem in (*report.failed, *report.skipped):
            data = {"module_type": problem.kind, "module_id": problem.module_id, "error": problem.reason}
            data |= {"reason_code": problem.reason_code, "parent_id": self._coordinator.parent_id}
            self._writer.put((MODULE_LOAD_FAILED, {**data, "timestamp": self._coordinator.timestamp()}))

    def _record_of(self, told: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        event, data = told
        return to_record(
            event,
            data,
            self._session_id,
            strips_raw=self._config.strip_raw,
            max_value_chars=self._config.max_value_chars,
        )


def _path_of(config: LoggingConfig, coordinator: Any) -> Path:
    working_dir = working_dir_of(coordinator)
    if config.session_log_template is None:
        return session_file("events.jsonl", coordinator.session_id, working_dir, setting=_SETTING)
    return filled(config.session_log_template, coordinator.session_id, working_dir, setting=_SETTING)


def _names_in(contribution: Any) -> list[str]:
    if isinstance(contribution, str):
        return [contribution]
    if not isinstance(contribution, list | tuple | set | frozenset):
        return []
    return [name for name in cast("Iterable[Any]", contribution) if isinstance(name, str)]

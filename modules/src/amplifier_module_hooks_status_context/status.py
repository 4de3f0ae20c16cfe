"""Tells the model where it works: collects the facts, and looks up the repository only when it may have changed."""

from __future__ import annotations

import asyncio
import logging
import platform
from typing import Any

from amplifier_core.events import ARTIFACT_WRITE, PROMPT_SUBMIT, PROVIDER_REQUEST, TOOL_ERROR, TOOL_POST
from amplifier_core.models import HookResult
from amplifier_modkit.paths.io_threads import IoThreads
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_hooks_status_context.config import StatusConfig
from amplifier_module_hooks_status_context.git_state import GitState, GitTimeoutError, read_git_state
from amplifier_module_hooks_status_context.wording import Facts, reminder

logger = logging.getLogger(__name__)

_NAME = "hooks-status-context"
# Git is given its time; the thread a little more, in which it is stopped.
_MORE_S = 1.0


class StatusContext:
    """The facts of one session; lives as long as the session's modules are mounted."""

    def __init__(self, config: StatusConfig, coordinator: Any) -> None:
        self._config = config
        self._coordinator = coordinator
        self._working_dir = working_dir_of(coordinator, config.working_dir)
        self._threads = IoThreads(config.git_timeout_s + _MORE_S)
        self._git: GitState | None = None
        self._git_note = ""
        self._is_outdated = True

    def register(self) -> None:
        """Registers the handlers."""
        handlers = {PROVIDER_REQUEST: self.on_request, PROMPT_SUBMIT: self.on_prompt}
        handlers |= {ARTIFACT_WRITE: self.on_write, TOOL_POST: self.on_tool, TOOL_ERROR: self.on_tool}
        for event, handler in handlers.items():
            self._coordinator.hooks.register(event, handler, self._config.priority, _NAME)

    async def on_request(self, event: str, data: dict[str, Any]) -> HookResult:
        """Puts the facts at the end of the request; what stands before stays as it was, so it can be cached."""
        if self._config.include_git and self._is_outdated:
            await self._look_up()
        facts = Facts(self._lines(), self._git, self._git_note)
        return HookResult(
            action="inject_context",
            context_injection=reminder(facts, self._config),
            # Some providers move system messages to the front, which would spoil what they have cached.
            context_injection_role="user",
            ephemeral=True,
        )

    async def on_prompt(self, event: str, data: dict[str, Any]) -> HookResult:
        """Between two turns the user may have done anything."""
        self._is_outdated = True
        return HookResult()

    async def on_write(self, event: str, data: dict[str, Any]) -> HookResult:
        """A file was written."""
        self._note_change()
        return HookResult()

    async def on_tool(self, event: str, data: dict[str, Any]) -> HookResult:
        """A tool that may have written has run."""
        if data.get("tool_name") not in self._config.read_only_tools:
            self._note_change()
        return HookResult()

    def _note_change(self) -> None:
        # Git that was too slow once is not asked after each tool: that would slow down the whole turn.
        self._is_outdated = self._is_outdated or not self._git_note

    async def _look_up(self) -> None:
        # Before the wait: what changes meanwhile has to be looked up again.
        self._is_outdated = False
        try:
            self._git, self._git_note = await self._threads.run(lambda leave: self._read()), ""
        except Exception as error:
            self._git, self._git_note = None, "not available"
            logger.warning("The state of the repository at %s is left out: %s", self._working_dir, self._reason(error))
        except asyncio.CancelledError:
            self._is_outdated = True
            raise

    def _read(self) -> GitState | None:
        return read_git_state(
            self._working_dir,
            commits=self._config.git_include_commits,
            untracked=self._config.git_status_include_untracked,
            timeout_s=self._config.git_timeout_s,
        )

    def _reason(self, error: Exception) -> str:
        if isinstance(error, GitTimeoutError):
            return (
                f"git took more than {self._config.git_timeout_s:g} s; raise 'git_timeout_s' of {_NAME} to wait longer"
            )
        return f"{type(error).__name__}: {error}"

    def _lines(self) -> tuple[tuple[str, str], ...]:
        config, coordinator = self._config, self._coordinator
        lines: list[tuple[str, str]] = []
        if config.include_environment:
            lines += [("Working directory", str(self._working_dir)), ("Platform", platform.system().lower())]
        if config.include_datetime:
            lines.append(("Date", self._today()))
        if config.include_session:
            lines.append(("Session", coordinator.session_id))
            if coordinator.parent_id:
                lines.append(("Parent session", coordinator.parent_id))
        return tuple(lines)

    def _today(self) -> str:
        now = self._coordinator.clock().astimezone()
        return now.strftime("%Y-%m-%d (UTC%z)" if self._config.datetime_include_timezone else "%Y-%m-%d")

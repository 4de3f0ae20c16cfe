"""The module ``tool-bash``: runs shell commands, judged by what they do, in a sandbox, with nothing left behind."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_module_tool_bash.bash_tool import BashTool
from amplifier_module_tool_bash.config import BashConfig
from amplifier_module_tool_bash.events import SANDBOX_DEGRADED, TOOL_OUTPUT
from amplifier_module_tool_bash.jobs import Jobs
from amplifier_module_tool_bash.jobs_tool import BashJobsTool
from amplifier_module_tool_bash.rules import Rules
from amplifier_module_tool_bash.runner import Runner

__amplifier_module_type__ = "tool"
__amplifier_config__ = BashConfig

logger = logging.getLogger(__name__)


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], Awaitable[None]]:
    """Mounts the two tools; what is returned ends every command and removes temporary files."""
    settings = BashConfig.read(config)
    runner = await Runner.of_session(coordinator, settings)
    jobs = Jobs(settings.max_jobs)
    tool = BashTool(runner, Rules(settings, coordinator), jobs)
    await coordinator.mount("tools", tool, name=tool.name)
    await coordinator.mount("tools", BashJobsTool(jobs), name=BashJobsTool.name)
    coordinator.register_contributor("observability.events", "tool-bash", lambda: [TOOL_OUTPUT, SANDBOX_DEGRADED])
    if tool.sandbox_missing:
        logger.warning(
            "tool-bash runs commands with less of a sandbox than wanted: %s", "; ".join(tool.sandbox_missing)
        )

    async def end_everything() -> None:
        await jobs.end_all()
        runner.close()

    return end_everything


async def on_session_ready(coordinator: Any) -> None:
    """Tells observers what the sandbox leaves open."""
    tool = coordinator.get("tools", "bash")
    if isinstance(tool, BashTool) and tool.sandbox_missing:
        facts = {"tool_name": tool.name, "sandbox": tool.metadata["sandbox"], "missing": list(tool.sandbox_missing)}
        await coordinator.hooks.emit(SANDBOX_DEGRADED, facts)

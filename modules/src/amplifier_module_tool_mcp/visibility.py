"""Tells the model which servers there are, and which are not to be had; the same facts always in the same words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from amplifier_core.models import HookResult
from amplifier_module_tool_mcp.config import Visibility
from amplifier_module_tool_mcp.texts import one_line

_MOST_CHARS = 160


@dataclass(frozen=True, slots=True)
class Sight:
    """One server as it is shown."""

    name: str
    state: str
    tools: tuple[str, ...] = ()
    problem: str | None = None


class ServerList:
    """Shows the servers in each request; lives as long as the module is mounted."""

    def __init__(self, config: Visibility, look: Callable[[], Sequence[Sight]]) -> None:
        self._config = config
        self._look = look
        self._last = ""

    async def show(self, event: str, data: dict[str, Any]) -> HookResult:
        """A request is about to be sent."""
        sights = self._look()
        text = told(sights, self._config.max_servers_visible) if sights else ""
        # What stays in the conversation is said once.
        if not text or (not self._config.ephemeral and text == self._last):
            return HookResult()
        self._last = text
        return HookResult(
            action="inject_context",
            context_injection=text,
            context_injection_role=self._config.inject_role,
            ephemeral=self._config.ephemeral,
        )


def told(sights: Sequence[Sight], most: int) -> str:
    """The list; servers that are too many are counted."""
    lines = [_line(sight) for sight in sights[:most]]
    if len(sights) > most:
        lines.append(f"- and {len(sights) - most} more")
    return (
        '<system-reminder source="tool-mcp">\n'
        "MCP servers of this session; their tools are called mcp_<server>_<tool>.\n"
        + "\n".join(lines)
        + "\n</system-reminder>"
    )


def _line(sight: Sight) -> str:
    name = _plain(sight.name)
    if sight.state == "ready":
        return f"- {name}: {len(sight.tools)} tools"
    if sight.state == "connecting":
        return f"- {name}: not connected yet"
    return f"- {name}: not available ({_plain(sight.problem or 'unknown')})"


def _plain(text: str) -> str:
    # A server may have written that; it must not end the reminder.
    return one_line(text, _MOST_CHARS).replace("<", "(").replace(">", ")")

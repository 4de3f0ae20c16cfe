"""Whether a command may run: what the rules say to the parsed text, and whether somebody has approved of it.

A command that the rules ask about runs only if the capability ``approval.granted`` says so: a function of the tool's
name and its input, async or not, true if a guard has allowed exactly this call. Whoever decides on calls offers it.
Without it the command is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from inspect import isawaitable
from typing import Any

from amplifier_modkit import shell
from amplifier_module_tool_bash.config import BashConfig
from amplifier_module_tool_bash.problems import ApprovalError, RefusedError

APPROVAL_GRANTED = "approval.granted"
_OTHER_WAY = "Do it in another way, or ask the user to do it."


class Rules:
    """The rules of one session."""

    def __init__(self, config: BashConfig, coordinator: Any) -> None:
        self._config = config
        self._profile: shell.Profile = config.safety_profile
        self._coordinator = coordinator

    @cached_property
    def _lists(self) -> shell.CommandLists:
        return shell.CommandLists(
            allowed=self._config.allowed_commands,
            denied=self._config.denied_commands,
            override_allow=self._config.safety_overrides.allow,
            override_block=self._config.safety_overrides.block,
        )

    def verdict(self, command: str) -> shell.Verdict:
        """What the rules say; may take some milliseconds, the first time some more."""
        return shell.judge(shell.parse(command), self._profile, self._lists)

    async def require_allowed(self, tool_name: str, tool_input: Mapping[str, Any], command: str) -> None:
        """Raises ``RefusedError`` for what is denied, and ``ApprovalError`` for what nobody has approved of."""
        verdict = await asyncio.to_thread(self.verdict, command)
        if verdict.decision == "deny":
            raise RefusedError(f"Refused by the safety profile '{self._profile}': {_told(verdict)}. {_OTHER_WAY}")
        if verdict.decision == "ask" and not await self._is_granted(tool_name, tool_input):
            raise ApprovalError(
                f"Needs the user's approval, and nobody has given it: {_told(verdict)}. {_OTHER_WAY} The user can "
                "allow it with an approval hook, under 'allowed_commands', or with another 'safety_profile'."
            )

    async def _is_granted(self, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        granted = self._coordinator.get_capability(APPROVAL_GRANTED)
        answer = granted(tool_name, tool_input) if callable(granted) else False
        return (await answer if isawaitable(answer) else answer) is True


def _told(verdict: shell.Verdict) -> str:
    commands = ", ".join(f"'{command}'" for command in verdict.commands)
    return f"{verdict.reason} ({commands})" if commands else verdict.reason

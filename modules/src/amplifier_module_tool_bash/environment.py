"""The environment of commands: that of this process without secrets, and without what makes a shell run more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from amplifier_modkit.secrets import secret_env_names
from amplifier_module_tool_bash.config import BashConfig

# Ways to keys and to other programs of the user, and what a shell runs or takes for commands without being asked.
_NEVER_NEEDED = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "BASH_ENV", "ENV", "BASH_FUNC_*",
    "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS",
)  # fmt: skip


def environment(inherited: Mapping[str, str], config: BashConfig) -> dict[str, str]:
    """The variables for a command."""
    secret = secret_env_names(inherited)

    def is_passed_on(name: str) -> bool:
        if _is_named(name, config.env_deny):
            return False
        return _is_named(name, config.env_allow) or not (name in secret or _is_named(name, _NEVER_NEEDED))

    return {**{name: value for name, value in inherited.items() if is_passed_on(name)}, **config.env}


def _is_named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

"""The config of the module: commands for the moments of a session, and how they are run.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from amplifier_modkit.module_config import ModuleConfig

ALIASES = {
    "bash": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "apply_patch": "MultiEdit",
    "glob": "Glob",
    "grep": "Grep",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "task": "Task",
    "todo": "TodoWrite",
}


class Command(BaseModel):
    """One command, as the convention of command hooks writes it; keys that are not known here are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    command: str = Field(min_length=1)
    type: Literal["command"] = "command"
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    on_failure: Literal["continue", "block"] | None = None


class Group(BaseModel):
    """Commands for what ``matcher`` matches as a whole: a tool, the start of a session. Empty and ``*`` match all."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    matcher: str = ""
    hooks: list[dict[str, Any]] = Field(default=[])

    @field_validator("matcher")
    @classmethod
    def _require_pattern(cls, matcher: str) -> str:
        try:
            re.compile(matcher if matcher != "*" else "")
        except re.error as error:
            raise ValueError(f"matcher {matcher!r} is no regular expression: {error}") from error
        return matcher

    def matches(self, subject: str) -> bool:
        """Whether the commands are meant for ``subject``."""
        return self.matcher in ("", "*") or re.fullmatch(self.matcher, subject) is not None


class ShellHooksConfig(ModuleConfig):
    """Every key with its default."""

    hooks: dict[str, list[Group]] = Field(default={})
    files: list[str] = Field(default=[])
    """Settings files with more hooks. Only these are read, and each must be there."""
    timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds that a command may take if it does not say so itself."""
    fail_closed: bool = False
    """Whether a command that fails, in any other way than by exit code 2, blocks as well."""
    max_output_bytes: int = Field(default=100_000, gt=0)
    allow_env: list[str] = Field(default=[])
    """Variables that commands get although they look like secrets."""
    tool_aliases: dict[str, str] = Field(default=ALIASES)
    """What commands written for other agents call our tools."""
    priority: int = -20

"""The config of the module.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig


class ReminderConfig(ModuleConfig):
    """Every key with its default."""

    inject_role: Literal["system", "user", "assistant"] = "user"
    """The role of the reminder where there is no tool result to put it behind."""
    priority: int = 10
    recent_tool_threshold: int = Field(default=3, ge=0)
    """Calls of other tools after which the list counts as forgotten; 0 reminds with every request."""

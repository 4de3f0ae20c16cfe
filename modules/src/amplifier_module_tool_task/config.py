"""The config of the module: the names of the tool, what children inherit, and their limits.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig

ToolName = Literal["task", "delegate"]


class TaskConfig(ModuleConfig):
    """Every key with its default. Patterns are module ids, ids without ``tool-`` or ``hooks-``, or names of tools."""

    tool_names: tuple[ToolName, ...] = Field(default=("task",), min_length=1)
    """The names under which the tool is offered."""
    exclude_tools: tuple[str, ...] = ()
    inherit_tools: tuple[str, ...] | None = None
    """Tools that children have; all without it. What is excluded stays out in any case."""
    exclude_hooks: tuple[str, ...] = ()
    inherit_hooks: tuple[str, ...] | None = None
    """Hook modules that children mount. Guards of this session guard them whatever is said here."""
    max_recursion_depth: int = Field(default=1, ge=0)
    """Generations below the first session; a child cannot loosen it."""
    timeout: float | None = Field(default=1800.0, gt=0)
    """Seconds that one task may take."""
    max_iterations: int = Field(default=200, ge=1)
    """Model calls that one task may take."""
    max_concurrent: int = Field(default=5, ge=1)
    """Children at work at the same time; further ones wait."""

    def inheritance(self, section: Literal["tools", "hooks"]) -> dict[str, list[str]]:
        """What ``session.spawn`` is told about the modules of one section."""
        wanted: dict[str, tuple[str, ...] | None] = {
            f"inherit_{section}": self.inherit_tools if section == "tools" else self.inherit_hooks,
            f"exclude_{section}": (self.exclude_tools if section == "tools" else self.exclude_hooks) or None,
        }
        return {key: list(patterns) for key, patterns in wanted.items() if patterns is not None}

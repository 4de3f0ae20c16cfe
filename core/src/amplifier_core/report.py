"""The load report of a session: what mounted, what did not and why, and what nobody read.

Modules, loader and session write into it while they work; people read it with ``print(session.report)``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MountedModule:
    """One module of the plan that mounted, with the names it installed at its mount point."""

    kind: str
    module_id: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f" as {', '.join(self.names)}" if self.names and self.names != (self.module_id,) else ""
        return f"{self.kind} {self.module_id}{names}"


@dataclass(frozen=True, slots=True)
class ModuleProblem:
    """One module that did not do its part; ``reason_code`` is stable, ``reason`` is for people."""

    kind: str
    module_id: str
    reason: str
    reason_code: str = "unknown"

    def __str__(self) -> str:
        return f"{self.kind} {self.module_id}: {self.reason}"


@dataclass(frozen=True, slots=True)
class UnknownConfigKey:
    """A key of a module's config that the module does not declare."""

    module_id: str
    key: str
    nearest: str | None = None

    def __str__(self) -> str:
        hint = f" (did you mean '{self.nearest}'?)" if self.nearest else ""
        return f"{self.module_id}: nobody reads config key '{self.key}'{hint}"


@dataclass(slots=True)
class LoadReport:
    """Everything a session knows about its own set-up and clean-up; lives as long as the coordinator."""

    mounted: list[MountedModule] = field(default_factory=list[MountedModule])
    skipped: list[ModuleProblem] = field(default_factory=list[ModuleProblem])
    failed: list[ModuleProblem] = field(default_factory=list[ModuleProblem])
    unknown_keys: list[UnknownConfigKey] = field(default_factory=list[UnknownConfigKey])
    cleanup_errors: list[str] = field(default_factory=list[str])

    @property
    def is_clean(self) -> bool:
        """Whether everything that was asked for is there and nothing was left unread."""
        return not (self.skipped or self.failed or self.unknown_keys or self.cleanup_errors)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON data; keys are stable."""
        return asdict(self)

    def __str__(self) -> str:
        sections = (
            ("mounted", self.mounted),
            ("skipped", self.skipped),
            ("failed", self.failed),
            ("unread config", self.unknown_keys),
            ("clean-up errors", self.cleanup_errors),
        )
        lines = [f"{title}: {entry}" for title, entries in sections for entry in entries]
        return "\n".join(lines) if lines else "nothing mounted"

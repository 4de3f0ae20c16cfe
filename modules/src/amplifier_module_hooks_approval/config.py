"""The config of the module: rules, the mode it begins with, how long people are waited for, and the audit trail.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from amplifier_modkit.module_config import ModuleConfig
from amplifier_module_hooks_approval.modes import Mode
from amplifier_module_hooks_approval.rules import Rule

Action = Literal["auto_approve", "auto_deny", "allow", "ask", "deny"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PatternRule(_Section):
    """A rule in the older form: what to do about commands, or about inputs of another tool, that fit a pattern."""

    pattern: str = Field(min_length=1)
    action: Action
    tool: str = "bash"


class ToolSettings(_Section):
    """What is settled for one tool."""

    require_approval: bool


class AuditSettings(_Section):
    """Where decisions are written down, and how much of them is kept."""

    enabled: bool = True
    path: str | None = Field(default=None, min_length=1)
    """The file; ``{session_id}`` and ``{project}`` are filled in. Without it, ``audit/approvals.jsonl`` of the user."""
    max_bytes: int = Field(default=4 << 20, ge=1 << 12)
    """The most that one file has."""
    keep: int = Field(default=4, ge=0, le=1_000)
    """How many full files are kept beside the current one."""


_USUAL_RULES = tuple(PatternRule(pattern=each, action="auto_approve") for each in ("ls:*", "pwd", "echo:*"))


class ApprovalConfig(ModuleConfig):
    """What a plan may say about approvals."""

    mode: Mode = "default"
    deny: tuple[str, ...] = ()
    """Rules ``Tool(specifier)`` for what never runs, in no mode."""
    ask: tuple[str, ...] = ()
    """Rules for what is asked about each time."""
    allow: tuple[str, ...] = ()
    """Rules for what needs no question."""
    rules: tuple[PatternRule, ...] = _USUAL_RULES
    default_action: Literal["deny", "allow", "continue"] = "deny"
    """What becomes of a question that nobody answers in time."""
    default_timeout: float | None = Field(default=None, gt=0)
    """Seconds to wait for an answer; without it a provider may take for ever, and an approval system 300 s."""
    tools: dict[str, ToolSettings] = Field(default_factory=dict[str, ToolSettings])
    policy_driven_only: bool = False
    """Whether only tools named in ``session_state["require_approval_tools"]`` need approval."""
    audit: AuditSettings = AuditSettings()

    @field_validator("deny", "ask", "allow")
    @classmethod
    def _require_rules(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            Rule.read(text)
        return texts

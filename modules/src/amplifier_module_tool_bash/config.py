"""The config keys of tool-bash, beside those of the path policy.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from amplifier_modkit.paths.settings import PathSettings
from amplifier_modkit.shell.terms import Profile

SandboxMode = Literal["required", "best-effort", "off"]
Entries = tuple[str, ...]


class SafetyOverrides(BaseModel):
    """Commands that take precedence over the safety profile."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow: Entries = ()
    block: Entries = ()


class BashConfig(PathSettings):
    """What a plan may say about commands; the keys of paths are kept by the sandbox."""

    timeout: float = Field(30.0, gt=0)
    """Seconds that a command may take that does not say how long it needs."""
    max_timeout: float = Field(3600.0, gt=0)
    """The most that a command may ask for."""
    max_output_bytes: int = Field(100_000, ge=100)
    """The most that is kept of each stream; its beginning and its end, if there is more."""
    safety_profile: Profile = "strict"
    allowed_commands: Entries = ()
    """Commands that need no approval, as ``git status`` or ``npm *``."""
    denied_commands: Entries = ()
    """Commands that never run, whatever else allows them."""
    safety_overrides: SafetyOverrides = SafetyOverrides()
    max_concurrent: int | None = Field(None, gt=0)
    """How many commands run at the same time; others wait. Without it, any number."""
    max_jobs: int = Field(8, ge=0)
    """How many commands run in the background at the same time."""
    require_approval: bool = True
    """Told to hooks by the tool's attribute of this name; they decide what to make of it."""
    sandbox: SandboxMode = "best-effort"
    network: bool = False
    """Whether commands in the sandbox reach the network."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for every command, secrets or not."""
    env_allow: Entries = ()
    """Names of variables that commands get although they look like secrets; ``*`` and ``?`` are wildcards."""
    env_deny: Entries = ()
    """Names of variables that commands do not get."""

    @field_validator("sandbox", mode="before")
    @classmethod
    def _read_off(cls, value: Any) -> Any:
        return "off" if value is False else value  # what YAML makes of a plain ``off``

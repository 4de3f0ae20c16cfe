"""The config of the module: which rules, what is left alone, and whether the model gets masks as well.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig


class RedactionConfig(ModuleConfig):
    """Every key with its default."""

    rules: list[Literal["secrets", "pii-basic"]] = Field(default=["secrets", "pii-basic"])
    allowlist: list[str] = Field(default=[])
    """Places in the data of events that are left alone: ``tool_input.command``, ``messages[0].content``."""
    skip_events: list[str] = Field(default=[])
    redact_model_input: bool = False
    """Whether the model, too, gets masks in the place of secrets."""
    priority: int = -100
    """Early, so that hardly anybody sees an event before it is masked."""

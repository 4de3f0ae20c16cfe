"""The config keys of context-persistent, beside those that all our contexts share.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import Field

from amplifier_modkit.memory.policy import ContextConfig
from amplifier_module_context_persistent.journal import Durability


class PersistentContextConfig(ContextConfig):
    """What a plan may say about the memory and its journal."""

    protected_recent: float = Field(0.10, ge=0, lt=1)
    transcript_path: str | None = Field(None, min_length=1)
    """Where the journal is; ``{session_id}`` and ``{project}`` are filled in."""
    memory_files: tuple[str, ...] = ()
    """Files whose text stands at the beginning of a conversation."""
    durability: Durability = "group"
    group_interval_ms: int = Field(200, ge=0)
    truncate_boundary: float = 0.50
    """Not used: accepted because plans for the existing module set it. ``protected_recent`` says what is kept."""

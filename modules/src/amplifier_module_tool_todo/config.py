"""The config of the module.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from amplifier_modkit.module_config import ModuleConfig


class TodoConfig(ModuleConfig):
    """Every key with its default."""

    share_with_sub_sessions: bool = False
    """Whether sub-sessions can read this session's list; they have one of their own in any case."""

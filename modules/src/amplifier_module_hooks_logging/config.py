"""The config of the module: where the log is, what goes into it, and how large it gets.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig

# Pieces of what is told whole a moment later.
_PIECES = ("llm:stream_*delta", "content_block:delta", "thinking:delta")


class LoggingConfig(ModuleConfig):
    """What a plan may say about the log."""

    session_log_template: str | None = Field(default=None, min_length=1)
    """Where the log is; ``{session_id}`` and ``{project}`` are filled in."""
    priority: int = 100
    """Place among the handlers: whatever changes or masks data has a lower one."""
    auto_discover: bool = True
    """Whether events are logged that modules announce on ``observability.events``."""
    additional_events: tuple[str, ...] = ()
    exclude_events: tuple[str, ...] = _PIECES
    """Events that are not logged; ``*``, ``?`` and ``[…]`` are wildcards."""
    strip_raw: bool = True
    """Whether what goes over the wire, and the messages of requests, are left out."""
    max_value_chars: int = Field(default=8_000, ge=200)
    """Longer texts are cut in the middle."""
    max_bytes: int = Field(default=16 << 20, ge=1 << 16)
    """The most that one file has."""
    keep: int = Field(default=4, ge=0, le=1_000)
    """How many full files are kept beside the current one."""
    compress: bool = True

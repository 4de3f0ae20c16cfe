"""The config keys of tool-filesystem, beside those of the path policy.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import Field

from amplifier_modkit.paths.settings import PathSettings


class FilesystemConfig(PathSettings):
    """What a plan may say about the file tools."""

    require_read: bool = True
    """Whether a file must have been read in this session, and be the same still, before it is changed."""
    io_timeout: float = Field(30.0, gt=0)
    """Seconds that one file operation may take."""
    max_image_bytes: int = Field(3_750_000, ge=0)
    """Larger images are described and not shown; in base64 this is the most that providers take."""
    max_read_chars: int = Field(262_144, gt=0)
    """The most that one read gives, however many lines were asked for."""

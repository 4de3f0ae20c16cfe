"""The base of a module's config: the kernel reports unknown keys, so a module that reads its config passes them over.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class ModuleConfig(BaseModel):
    """The config keys of one module; a subclass declares them, and is what ``__amplifier_config__`` names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, config: Mapping[str, Any] | None) -> Self:
        """The settings in a module's config; keys that are unknown here were told by the kernel and are left out."""
        return cls.model_validate({key: value for key, value in (config or {}).items() if key in cls.model_fields})

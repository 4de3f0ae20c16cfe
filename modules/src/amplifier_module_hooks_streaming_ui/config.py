"""The config of the module: how much is shown.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig


class UiSettings(ModuleConfig):
    """What stands under ``ui``."""

    show_thinking_stream: bool = True
    """Whether the model's thinking is shown."""
    show_tool_lines: int = Field(default=5, ge=0)
    """Lines of a tool's arguments, and of its result, that are shown."""
    show_token_usage: bool = True
    """Whether the end of a turn tells what it used and cost."""


class StreamingUiConfig(ModuleConfig):
    """What a plan may say about the display."""

    ui: UiSettings = UiSettings()
    priority: int = 90

    @classmethod
    def read(cls, config: Mapping[str, Any] | None) -> Self:
        """The settings in a module's config; unknown keys, under ``ui`` as well, are left out."""
        given = dict(config or {})
        if isinstance(given.get("ui"), Mapping):
            given["ui"] = UiSettings.read(given["ui"])
        return super().read(given)

"""The module ``hooks-streaming-ui``: shows what a session does, for hosts that have no display of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amplifier_module_hooks_streaming_ui.config import StreamingUiConfig
from amplifier_module_hooks_streaming_ui.display import StreamingUi

__amplifier_module_type__ = "hook"
__amplifier_config__ = StreamingUiConfig


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], None]:
    """Begins to show, on the session's display or else on the console; returns the clean-up that ends it."""
    return StreamingUi(StreamingUiConfig.read(config), coordinator).begin()

"""The context that keeps a conversation in memory and nowhere else."""

from __future__ import annotations

from typing import Any

from amplifier_modkit.memory.context import CompactingContext, ContextConfig


class SimpleContext(CompactingContext):
    """A conversation that lives as long as its session.

    Takes its settings as a ``ContextConfig`` or by name: ``SimpleContext(max_tokens=1000, compaction_threshold=0.5)``.
    """

    def __init__(self, config: ContextConfig | None = None, *, coordinator: Any = None, **settings: Any) -> None:
        settled = ContextConfig.model_validate(settings) if config is None else config
        super().__init__(settled.policy(), coordinator=coordinator)

"""Compaction as a view: what was added stays."""

from my_context.manager import MyContextManager

__amplifier_module_type__ = "context"


async def mount(coordinator, config: dict):
    context = MyContextManager(
        max_tokens=config.get("max_tokens", 100000), compaction_threshold=config.get("compaction_threshold", 0.8)
    )
    await coordinator.mount("session", context, name="context")
    return context

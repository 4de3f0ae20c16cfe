"""Two tools that share a shelf of notes."""

from .settings import ShelfSettings
from .tools import PutTool, Shelf, TakeTool

__amplifier_module_type__ = "tool"
__amplifier_config__ = ShelfSettings


async def mount(coordinator, config):
    settings = ShelfSettings(**config)
    shelf = Shelf(settings.capacity)
    for tool in (PutTool(shelf), TakeTool(shelf)):
        await coordinator.mount("tools", tool)
    coordinator.register_capability("shelf.notes", shelf)
    coordinator.register_contributor("observability.events", "tool-shelf", lambda: ["shelf:full"])
    coordinator.register_cleanup(shelf.close)

"""The module ``tool-todo``: lets the model keep a list of what it has to do, across resumes as well."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import PROMPT_SUBMIT
from amplifier_modkit.spawning.handing_down import HANDED_DOWN
from amplifier_module_tool_todo.board import PARENT_TODOS, TodoBoard
from amplifier_module_tool_todo.config import TodoConfig
from amplifier_module_tool_todo.tool import TODO_UPDATED, TodoTool

__amplifier_module_type__ = "tool"
__amplifier_config__ = TodoConfig


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any] | None = None) -> None:
    """Mounts the tool, and has the list of a resumed conversation restored before its first turn."""
    board = TodoBoard(coordinator)
    await coordinator.mount("tools", TodoTool(board, coordinator), name="todo")
    coordinator.hooks.register(PROMPT_SUBMIT, board.restore_at_prompt, name="tool-todo")
    coordinator.register_contributor("observability.events", "tool-todo", lambda: [TODO_UPDATED])
    if TodoConfig.read(config).share_with_sub_sessions:
        coordinator.register_contributor(HANDED_DOWN, "tool-todo", lambda: {PARENT_TODOS: board.snapshot})


async def on_session_ready(coordinator: ModuleCoordinator) -> None:
    """Restores the list of a conversation that the context has brought along."""
    tool = coordinator.get("tools", "todo")
    if isinstance(tool, TodoTool):
        await tool.board.restore()

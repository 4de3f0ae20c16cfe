"""What makes a tool module valid."""

from __future__ import annotations

from amplifier_core.validation._checks import AsyncMethod, Kind, NonEmptyText, OptionalSchema
from amplifier_core.validation._validator import ModuleValidator

TOOL = Kind(
    "tool",
    "Tool",
    "Tool",
    (
        NonEmptyText("tool_name", "name"),
        NonEmptyText("tool_description", "description", if_empty="warning"),
        OptionalSchema("tool_input_schema"),
        AsyncMethod("tool_execute", "execute", ("input",)),
    ),
)


class ToolValidator(ModuleValidator):
    """Validates tool modules."""

    kind = TOOL

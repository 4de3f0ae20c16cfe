"""Tools on offer, and the choice among them, as the API reads them. Tools of the service itself are passed through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amplifier_core.message_models import ToolSpec
from amplifier_modkit.llm.names import read_tool_choice
from amplifier_modkit.llm_responses.marks import Item

_WITH_NAME = ("custom", "namespace")
_OWN_CHOICES = ("mcp", "allowed_tools")


def to_tools(specs: Iterable[ToolSpec]) -> list[Item]:
    """The tools; a spec with a ``type`` other than ``function`` is one of the service's own."""
    return [_to_tool(spec) for spec in specs]


def to_tool_choice(choice: str | Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str | Item:
    """A choice in any of the forms in use: a mode, a tool by its name, or what the service itself offers."""
    read = None if isinstance(choice, Mapping) and choice.get("type") in _OWN_CHOICES else read_tool_choice(choice)
    if read is None:
        return choice if isinstance(choice, str) else dict(choice)
    return read.mode if read.name is None else _by_name(read.name, tools)


def _to_tool(spec: ToolSpec) -> Item:
    more = dict(spec.model_extra or {})
    kind = more.pop("type", None) or "function"
    if kind != "function":
        named = {"name": spec.name, "description": spec.description or ""} if kind in _WITH_NAME else {}
        return {"type": kind, **named, **more}
    tool: Item = {"type": "function", "name": spec.name, "parameters": spec.parameters, "strict": False, **more}
    return tool if spec.description is None else {**tool, "description": spec.description}


def _by_name(name: str, tools: Sequence[Mapping[str, Any]]) -> Item:
    named = next((tool["type"] for tool in tools if tool.get("name") == name), None)
    # A tool of the service has no name but its type.
    is_type = named is None and any(tool["type"] == name for tool in tools)
    return {"type": name} if is_type else {"type": named or "function", "name": name}

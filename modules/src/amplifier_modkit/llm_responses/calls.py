"""The tool calls that the caller carries out, and their results, between items of the API and our blocks.

Functions come with JSON arguments; ``custom`` tools with free text; ``apply_patch`` with an operation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from amplifier_core.message_models import ToolCallBlock
from amplifier_modkit.llm.blocks import read_arguments, tool_call
from amplifier_modkit.llm_responses.marks import Item, mark_of, new_mark, without

CALL_ITEMS = ("function_call", "custom_tool_call", "apply_patch_call")
_FREE_TEXT = "input"
_CUT = "{"


def read_call(item: Mapping[str, Any], origin: str, has_thought: bool) -> ToolCallBlock:
    """The block that an item stands for."""
    name = "apply_patch" if item.get("type") == "apply_patch_call" else str(item.get("name") or "")
    call_id, arguments = str(item.get("call_id") or item.get("id") or ""), _arguments(item)
    mark = new_mark(origin, _rest(item, arguments), has_thought=has_thought)
    return tool_call(call_id, name, arguments, **mark)


def to_call_item(block: Mapping[str, Any], origin: str) -> Item:
    """The item of a call block: as it came, if it came from there, otherwise as a call of a function."""
    mark = mark_of(block, origin)
    rest: dict[str, Any] = {} if mark is None else mark["item"]
    named = {"type": rest.get("type", "function_call"), "call_id": block.get("id"), "name": block.get("name")}
    given: Any = block.get("input") or {}
    match named["type"]:
        case "custom_tool_call":
            return {**named, _FREE_TEXT: given.get(_FREE_TEXT, ""), **without(rest, "type")}
        case "apply_patch_call":
            return {**without(named, "name"), "operation": given, **without(rest, "type")}
        case _:
            text = _argument_text(given, rest, block.get("raw_arguments"))
            return {**named, "arguments": text, **without(rest, "type", "arguments")}


def to_result_item(kind: str, call_id: Any, output: str | list[Item], is_error: bool) -> Item:
    """The item that answers a call; ``kind`` is the type of the call's own item."""
    answer: Item = {"type": f"{kind}_output", "call_id": call_id, "output": output}
    if kind == "apply_patch_call":
        text = output if isinstance(output, str) else "\n".join(part.get("text", "") for part in output)
        return {**answer, "output": text, "status": "failed" if is_error else "completed"}
    return answer


def _arguments(item: Mapping[str, Any]) -> dict[str, Any] | str:
    match item.get("type"):
        case "custom_tool_call":
            return {_FREE_TEXT: str(item.get(_FREE_TEXT) or "")}
        case "apply_patch_call":
            return read_arguments(item.get("operation"))
        case _:
            # One that was cut before its first argument must not be taken for one that has none.
            is_cut = item.get("status") == "incomplete"
            return read_arguments(item.get("arguments") or (_CUT if is_cut else None))


def _rest(item: Mapping[str, Any], arguments: dict[str, Any] | str) -> dict[str, Any]:
    """What the block itself does not say; the text of the arguments only where it cannot be told from them."""
    rest = without(item, "call_id", "name", _FREE_TEXT, "operation")
    if item.get("type") == "function_call":
        del rest["type"]
    if rest.get("arguments") in (_written(arguments), arguments):
        del rest["arguments"]
    return rest


def _argument_text(given: dict[str, Any], rest: Mapping[str, Any], broken: Any) -> str:
    # The model's own text keeps its prefix cache warm; it counts only while it says the same as the block.
    if isinstance(broken, str) and not given:
        return broken
    raw = rest.get("arguments")
    return raw if isinstance(raw, str) and read_arguments(raw) == given else _written(given)


def _written(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), default=str)

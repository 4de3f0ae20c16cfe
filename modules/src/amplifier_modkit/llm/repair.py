"""Puts a request in order before a vendor sees it: every call has one result right behind it, nothing foreign is left.

Histories are cut short, resumed, and carried from one vendor to another; a vendor refuses the whole request for each
gap. What is repaired here is repaired in the request only; the stored conversation stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_modkit.llm.blocks import CARRIED, VENDOR, blocks_in, fields_of, output_text, read_arguments, text_in
from amplifier_modkit.llm.names import safe_name
from amplifier_modkit.messages import CALL_BLOCKS, RESULT_BLOCKS

NO_RESULT = "No result: the call was interrupted before its result was recorded. Make it again if it is needed."
_NOTHING: Mapping[str, Any] = {}
_ONLY_FOR_ITS_VENDOR = ("thinking", "redacted_thinking", "reasoning")


class Repaired(NamedTuple):
    """A request in order, what was done to its tool calls, and the names of tools by those they have in it."""

    request: ChatRequest
    repairs: list[dict[str, Any]]
    names: dict[str, str]


def repair(request: ChatRequest, origin: str) -> Repaired:
    """The request in order, for the vendor that marks its blocks with ``origin``."""
    messages, repairs = _Repair(request.messages, origin).run()
    tools, names = _safe_tools(request.tools or ())
    changes: dict[str, Any] = {"messages": messages, **({"tools": tools or None} if request.tools else {})}
    return Repaired(request.model_copy(update=changes), repairs, names)


def _safe_tools(tools: Iterable[ToolSpec]) -> tuple[list[ToolSpec], dict[str, str]]:
    offered: dict[str, ToolSpec] = {}
    names: dict[str, str] = {}
    for tool in tools:
        name = safe_name(tool.name)
        if name in offered:
            continue  # vendors refuse two tools of one name
        offered[name] = tool if name == tool.name else tool.model_copy(update={"name": name})
        if name != tool.name:
            names[name] = tool.name
    return list(offered.values()), names


@dataclass(slots=True)
class _Call:
    """A call of the history: the id it has there, and its block as it is sent."""

    given_id: Any
    block: dict[str, Any]


@dataclass(slots=True)
class _Entry:
    """One message taken apart: what it says, the calls it makes, the results it brings."""

    said: Message | None
    calls: list[_Call] = field(default_factory=list[_Call])
    results: list[Message] = field(default_factory=list[Message])
    is_open: bool = True


class _Repair:
    """One repair from beginning to end."""

    def __init__(self, messages: Sequence[Message], origin: str) -> None:
        self._origin = origin
        self._taken: set[str] = set()
        self._entries = [self._read(message) for message in messages]
        self._waiting = self._results_by_id()
        self._used: set[int] = set()
        self._repairs: list[dict[str, Any]] = []

    def run(self) -> tuple[list[Message], list[dict[str, Any]]]:
        ordered: list[Message] = []
        for place, entry in enumerate(self._entries):
            ordered.extend(self._orphans_of(entry))
            if entry.said is not None:
                ordered.append(entry.said)
            ordered.extend(self._result_for(call, place) for call in entry.calls)
        return ordered, self._repairs

    def _read(self, message: Message) -> _Entry:
        content: Any = message.content
        if message.role in ("tool", "function"):
            return _Entry(None, results=_results_in(message))
        listed = (message.model_extra or {}).get("tool_calls") if message.role == "assistant" else None
        if not listed and not isinstance(content, list):
            return _Entry(message)
        return self._read_blocks(message, listed)

    def _read_blocks(self, message: Message, listed: Any) -> _Entry:
        kept: list[dict[str, Any]] = []
        calls: list[_Call] = []
        results: list[Message] = []
        is_changed = False
        for block in blocks_in(message):
            kind = block.get("type")
            if kind in RESULT_BLOCKS:
                results.append(_result_of(block))
            elif self._is_foreign(block):
                is_changed = True
            elif kind in CALL_BLOCKS and message.role == "assistant":
                call = self._call(block, block.get("id"), block.get("name"), block.get("input"))
                is_changed = is_changed or call.block is not block
                calls.append(call)
                kept.append(call.block)
            else:
                kept.append(block)
        told = {call.given_id for call in calls}
        more = [self._listed_call(each) for each in _maps(listed) if each.get("id") not in told]
        if not more and not results and not is_changed:
            return _Entry(message, calls)
        kept += [call.block for call in more]
        changes = {"content": kept, **({"tool_calls": None} if listed else {})}
        said = message.model_copy(update=changes) if kept else None
        return _Entry(said, [*calls, *more], results)

    def _is_foreign(self, block: Mapping[str, Any]) -> bool:
        vendor = block.get(VENDOR)
        if vendor is None or vendor == self._origin:
            return False
        return CARRIED in block or block.get("type") in _ONLY_FOR_ITS_VENDOR

    def _listed_call(self, call: Mapping[str, Any]) -> _Call:
        nested = [*_maps([call.get("function")]), _NOTHING]
        function = nested[0]
        name = call.get("name") or call.get("tool") or function.get("name")
        given = call.get("arguments", call.get("input", function.get("arguments")))
        return self._call(None, call.get("id"), name, given)

    def _call(self, block: dict[str, Any] | None, given_id: Any, name: Any, given: Any) -> _Call:
        call_id = self._free_id(given_id)
        called = safe_name(name if isinstance(name, str) else "")
        if block is not None and block["type"] == "tool_call" and (call_id, called) == (given_id, name):
            return _Call(given_id, block)
        others = {} if block is None else {key: each for key, each in block.items() if key != "type"}
        fixed = {"type": "tool_call", **others, "id": call_id, "name": called, "input": _as_input(given)}
        return _Call(given_id, fixed)

    def _free_id(self, given: Any) -> str:
        first = call_id = safe_name(given if isinstance(given, str) and given else "call")
        number = 1
        while call_id in self._taken:
            number += 1
            call_id = f"{first[:56]}-{number}"
        self._taken.add(call_id)
        return call_id

    def _results_by_id(self) -> dict[str, list[tuple[int, Message]]]:
        waiting: dict[str, list[tuple[int, Message]]] = {}
        for place, entry in enumerate(self._entries):
            for result in entry.results:
                waiting.setdefault(str(result.tool_call_id), []).append((place, result))
        return waiting

    def _result_for(self, call: _Call, place: int) -> Message:
        call_id, name = call.block["id"], call.block["name"]
        for found_at, result in self._waiting.get(str(call.given_id), ()):
            if found_at < place or id(result) in self._used:
                continue
            self._used.add(id(result))
            if any(entry.said is not None for entry in self._entries[place + 1 : found_at]):
                self._repairs.append({"kind": "late_result", "tool_call_id": call.given_id, "tool_name": name})
            return result if result.tool_call_id == call_id else result.model_copy(update={"tool_call_id": call_id})
        self._repairs.append({"kind": "missing_result", "tool_call_id": call.given_id, "tool_name": name})
        return Message(role="tool", tool_call_id=call_id, name=name, content=NO_RESULT, metadata={"is_error": True})

    def _orphans_of(self, entry: _Entry) -> Iterable[Message]:
        for result in entry.results:
            if id(result) not in self._used:
                self._repairs.append({"kind": "orphan_result", "tool_call_id": result.tool_call_id})
                told = f"A tool result whose call is not in the conversation:\n{text_in(result)}"
                yield Message(role="user", content=told)


def _results_in(message: Message) -> list[Message]:
    blocks = blocks_in(message) if isinstance(cast("Any", message.content), list) else []
    nested = [_result_of(block) for block in blocks if block.get("type") in RESULT_BLOCKS]
    return nested or [message]


def _result_of(block: Mapping[str, Any]) -> Message:
    call_id = block.get("tool_call_id", block.get("tool_use_id"))
    output: Any = block.get("output", block.get("content"))
    is_content = isinstance(output, list) and all(
        fields_of(each).get("type") in ("text", "image") for each in cast("list[Any]", output)
    )
    return Message.model_construct(
        None,
        role="tool",
        tool_call_id=call_id,
        content=output if is_content else output_text(output),
        metadata={"is_error": True} if block.get("is_error") else None,
    )


def _maps(values: Any) -> Iterable[Mapping[str, Any]]:
    for value in cast("list[Any]", values) if isinstance(values, list) else ():
        fields: Any = getattr(value, "__dict__", value)
        if isinstance(fields, Mapping):
            yield cast("Mapping[str, Any]", fields)


def _as_input(given: Any) -> dict[str, Any]:
    arguments = read_arguments(given)
    # A vendor wants an object; what could not be read as one is told in the call's result.
    return arguments if isinstance(arguments, dict) else {}

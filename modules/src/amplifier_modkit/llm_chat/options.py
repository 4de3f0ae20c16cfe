"""Everything of a request beside its messages: tools, limits, and how to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    Degradation,
    ResponseFormat,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ToolSpec,
)
from amplifier_modkit.llm.blocks import fields_of
from amplifier_modkit.llm.names import read_tool_choice
from amplifier_modkit.llm_chat.dialect import Dialect

# Settings of the protocol that the kernel's request has no field for; they may come as extras of the request.
_PASSED_ON = ("seed", "parallel_tool_calls", "frequency_penalty", "presence_penalty", "user")
_SPEC_FIELDS = frozenset({"name", "parameters", "description", "type"})
_ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a plan sets for requests that do not say."""

    max_tokens: int | None = None
    temperature: float | None = None


def to_options(request: ChatRequest, dialect: Dialect, defaults: Defaults, notes: list[Degradation]) -> dict[str, Any]:
    """The settings of ``request`` in the words of ``dialect``; what the server does not take is told in ``notes``."""
    extras = request.model_extra or {}
    wishes: dict[str, Any] = {
        dialect.max_tokens_key: defaults.max_tokens if request.max_output_tokens is None else request.max_output_tokens,
        "temperature": defaults.temperature if request.temperature is None else request.temperature,
        "top_p": request.top_p,
        "stop": request.stop or None,
        "reasoning_effort": request.reasoning_effort,
        "response_format": to_response_format(request.response_format),
        **{key: extras.get(key) for key in _PASSED_ON},
    }
    if request.tools:
        wishes["tools"] = to_tools(request.tools)
        wishes["tool_choice"] = to_tool_choice(request.tool_choice)
    given = {key: value for key, value in wishes.items() if value is not None}
    refused = {key: given.pop(key) for key in sorted(dialect.left_out & given.keys())}
    notes += [
        Degradation(requested=f"{key}={value!r}", actual="left out", reason="the server does not take it")
        for key, value in refused.items()
    ]
    return given


def to_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """The tools on offer; one that has a ``type`` of its own is the server's, and goes as it is."""
    return [_to_tool(fields_of(tool)) for tool in tools]


def to_tool_choice(choice: Any) -> str | dict[str, Any] | None:
    """A choice in any spelling: a word, the name of a tool, or an object of one of the known protocols."""
    read = read_tool_choice(choice)
    if read is None:
        return None
    return read.mode if read.name is None else {"type": "function", "function": {"name": read.name}}


def to_response_format(wanted: ResponseFormat | None) -> dict[str, Any] | None:
    """The form that the answer shall have; free text needs no word."""
    if isinstance(wanted, ResponseFormatJson):
        return {"type": "json_object"}
    if not isinstance(wanted, ResponseFormatJsonSchema):
        return None
    strict = {} if wanted.strict is None else {"strict": wanted.strict}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted.json_schema, **strict}}


def _to_tool(spec: Mapping[str, Any]) -> dict[str, Any]:
    kind = spec.get("type", "function")
    given = {key: value for key, value in spec.items() if value is not None}
    if kind != "function":
        return {key: value for key, value in given.items() if key != "parameters" or value}
    function = {"name": spec["name"], "parameters": spec["parameters"] or _ANYTHING}
    if spec.get("description"):
        function["description"] = spec["description"]
    extras = {key: value for key, value in given.items() if key not in _SPEC_FIELDS}
    return {"type": "function", "function": {**function, **extras}}

"""Everything in a request but its messages, as the API reads it; what a model does not do is told as a degradation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_core.message_models import (
    ChatRequest,
    Degradation,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
)
from amplifier_modkit.llm_responses.abilities import EFFORTS, Abilities
from amplifier_modkit.llm_responses.marks import Item
from amplifier_modkit.llm_responses.tools import to_tool_choice, to_tools

ENCRYPTED_REASONING = "reasoning.encrypted_content"
JSON_REMINDER = "Answer with nothing but JSON."

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_OWN_WISHES = (
    "include",
    "max_tool_calls",
    "moderation",
    "parallel_tool_calls",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "safety_identifier",
    "service_tier",
    "top_logprobs",
    "truncation",
)
_LIFETIMES = {"24h": "12h", "in_memory": "30m"}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a config asks of every request; ``None`` leaves it to the service."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning: str | None = None
    reasoning_summary: str | None = None
    verbosity: str | None = None
    truncation: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None


@dataclass(slots=True)
class WishWriter:
    """Writes the wishes of one request; ``degradations`` are those that cannot be met."""

    request: ChatRequest
    model: str
    abilities: Abilities
    wishes: Wishes
    body: dict[str, Any] = field(default_factory=dict[str, Any])
    degradations: list[Degradation] = field(default_factory=list[Degradation])

    def write(self) -> dict[str, Any]:
        """The keys of the request's body."""
        extras = self.request.model_extra or {}
        effort = self._write_reasoning(bool(extras.get("extended_thinking")))
        self._write_sampling(effort)
        self._write_limits()
        self._write_tools()
        self._write_text(extras)
        self._write_cache()
        for name in _OWN_WISHES:
            if isinstance(extras.get(name), str | int | float | bool | list | dict):
                self.body[name] = extras[name]
        return self.body

    def _write_reasoning(self, is_thinking_asked: bool) -> str | None:
        request, reasons = self.request, self.abilities.reasons
        asked = request.reasoning_effort or self.wishes.reasoning
        if reasons is False:
            if request.reasoning_effort not in (None, "none") or is_thinking_asked:
                self._tell(f"reasoning effort {asked or 'high'}", "none", "does not reason")
            return None
        is_known = asked is None or reasons is None or asked in self.abilities.efforts
        effort = asked if is_known else self._nearest(str(asked))
        wanted = {"effort": effort, "summary": self.wishes.reasoning_summary if reasons else None}
        reasoning = {name: value for name, value in wanted.items() if value is not None}
        if reasoning:
            self.body["reasoning"] = reasoning
        return effort

    def _nearest(self, asked: str) -> str:
        efforts = self.abilities.efforts
        is_weaker = asked in EFFORTS and EFFORTS.index(asked) < EFFORTS.index(efforts[0])
        nearest = efforts[0] if is_weaker else efforts[-1] if asked in EFFORTS else "medium"
        self._tell(f"reasoning effort {asked}", nearest, f"knows the efforts {', '.join(efforts)}")
        return nearest

    def _write_sampling(self, effort: str | None) -> None:
        request = self.request
        temperature = self.wishes.temperature if request.temperature is None else request.temperature
        for name, value in (("temperature", temperature), ("top_p", request.top_p)):
            if value is None:
                continue
            if self.abilities.samples(effort):
                self.body[name] = value
            else:
                self._tell(f"{name} {value}", "the model's own", "takes none while it reasons")

    def _write_limits(self) -> None:
        limit = self.request.max_output_tokens or self.wishes.max_tokens
        if limit is not None:
            self.body["max_output_tokens"] = limit
        if self.request.stop:
            self._tell("stop sequences", "none", "cannot have them: the API has no such parameter")

    def _write_tools(self) -> None:
        request = self.request
        if request.tools:
            self.body["tools"] = to_tools(request.tools)
            if request.tool_choice is not None:
                self.body["tool_choice"] = to_tool_choice(request.tool_choice, self.body["tools"])

    def _write_text(self, extras: Mapping[str, Any]) -> None:
        text: Item = {}
        match self.request.response_format:
            case ResponseFormatJsonSchema() as wanted:
                text["format"] = _schema_format(wanted)
            case ResponseFormatJson():
                text["format"] = {"type": "json_object"}
            case _:
                pass
        verbosity = extras.get("verbosity") or self.wishes.verbosity
        if verbosity is not None:
            text["verbosity"] = verbosity
        if text:
            self.body["text"] = text

    def _write_cache(self) -> None:
        wishes = self.wishes
        if wishes.truncation is not None:
            self.body["truncation"] = wishes.truncation
        key = wishes.prompt_cache_key or self.request.conversation_id
        if key:
            self.body["prompt_cache_key"] = key
        if wishes.prompt_cache_retention and self.abilities.has_cache_options:
            lifetime = wishes.prompt_cache_retention
            self.body["prompt_cache_options"] = {"ttl": _LIFETIMES.get(lifetime, lifetime)}
        elif wishes.prompt_cache_retention:
            self.body["prompt_cache_retention"] = wishes.prompt_cache_retention

    def _tell(self, requested: str, actual: str, reason: str) -> None:
        told = Degradation(requested=requested, actual=actual, reason=f"{self.model} {reason}")
        self.degradations.append(told)


def _schema_format(wanted: ResponseFormatJsonSchema) -> Item:
    given = wanted.json_schema
    inner: Any = given.get("schema")
    # Some write the whole of what chat completions take: the schema beside its name.
    is_wrapped = isinstance(inner, dict) and "name" in given
    schema = cast("dict[str, Any]", inner) if is_wrapped else given
    strict = wanted.strict if wanted.strict is not None else given.get("strict") if is_wrapped else None
    name = str(given.get("name") if is_wrapped else schema.get("title") or "answer")
    shape: Item = {"type": "json_schema", "name": _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME], "schema": schema}
    return shape if strict is None else {**shape, "strict": strict}

"""What a request wishes beside its messages: length, thinking, sampling, the shape of the answer, the choice of tools.

What a model does not take is left out and told as a degradation; a wish is never a reason for a refusal.
"""

from __future__ import annotations

from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    Degradation,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ToolSpec,
)
from amplifier_modkit.llm.names import read_tool_choice
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.models import CATALOGUE, Budget, Level, bare, traits_of
from amplifier_module_provider_gemini.parts import wire_name
from amplifier_module_provider_gemini.schemas import clean

_MOST_STOPS = 5
_HOTTEST = 2.0
_LEVELS: dict[str, Level] = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}
_BUDGETS = {"none": 0, "minimal": 512, "low": 2_048, "medium": 8_192, "high": 24_576, "xhigh": 32_768, "max": 32_768}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}
_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_TOOL_KEYS = frozenset({"type", "name", "description", "parameters"})


class Options:
    """The wishes of one request for one model, worked out one by one; read ``body`` and ``degradations`` after."""

    def __init__(self, request: ChatRequest, model: str, config: GeminiConfig, *, stream: bool) -> None:
        self._request = request
        self._model = bare(model)
        self._config = config
        self._traits = traits_of(model)
        self._generation: dict[str, Any] = {}
        self.body: dict[str, Any] = {}
        self.degradations: list[Degradation] = []
        self._set_tools()
        self._set_tool_choice()
        self._set_length(stream)
        self._set_thinking()
        self._set_sampling()
        self._set_stop()
        self._set_shape()
        self._set_service()
        if self._generation:
            self.body["generationConfig"] = self._generation

    def _set_tools(self) -> None:
        specs = self._request.tools or []
        own = [spec for spec in specs if not _is_of_service(spec)]
        tools: list[dict[str, Any]] = [_service_tool(spec) for spec in specs if _is_of_service(spec)]
        if self._config.enable_web_search:
            tools.append({"googleSearch": {}})
        if own and tools and not self._traits.is_modern:
            self._degrade("tools of the service", "none of them", f"{self._model} takes them only without others")
            tools = []
        if own and tools:
            self.body["toolConfig"] = {"includeServerSideToolInvocations": True}
        if own:
            tools.insert(0, {"functionDeclarations": [self._declaration(spec) for spec in own]})
        if tools:
            self.body["tools"] = tools

    def _declaration(self, spec: ToolSpec) -> dict[str, Any]:
        schema, lost = clean(spec.parameters)
        self._tell_lost(lost, f"tool '{spec.name}'")
        declared: dict[str, Any] = {"name": wire_name(spec.name)}
        if spec.description:
            declared["description"] = spec.description
        # An object without properties is refused; a tool without parameters is not.
        if schema.keys() - {"type", "properties", "additionalProperties", "required"} or schema.get("properties"):
            declared["parametersJsonSchema"] = {"type": "object", **schema}
        return declared

    def _set_tool_choice(self) -> None:
        if not any("functionDeclarations" in tool for tool in self.body.get("tools", ())):
            return
        if (self._request.model_extra or {}).get("parallel_tool_calls") is False:
            self._degrade("one tool call at a time", "as many as the model makes", "the service cannot limit them")
        choice = read_tool_choice(self._request.tool_choice)
        if choice is not None:
            only = {"allowedFunctionNames": [wire_name(choice.name)]} if choice.name else {}
            config = {"functionCallingConfig": {"mode": _MODES[choice.mode], **only}}
            self.body["toolConfig"] = {**self.body.get("toolConfig", {}), **config}

    def _set_length(self, stream: bool) -> None:
        wished = self._request.max_output_tokens or self._config.max_tokens
        if wished is None:
            return
        traits, known = self._traits, CATALOGUE.find(self._model)
        most = traits.longest or (known.max_output_tokens if known else wished)
        if not stream:
            most = min(most, traits.longest_whole or most)
        self._generation["maxOutputTokens"] = length = max(1, min(wished, most))
        if length != wished:
            self._degrade(f"max_output_tokens={wished}", str(length), f"this is what {self._model} allows")

    def _set_thinking(self) -> None:
        effort = self._read_effort()
        tokens = self._config.thinking_budget_tokens
        traits = self._traits
        if not traits.can_think:
            if effort not in (None, "none") or tokens:
                self._degrade("thinking", "none", f"{self._model} is not known to think")
            return
        thinking: dict[str, Any] = {"includeThoughts": True} if self._config.include_thoughts else {}
        if traits.budget is not None:
            thinking.update(self._budget(effort, tokens, traits.budget))
        else:
            if tokens is not None and tokens >= 0:
                self._degrade("thinking_budget_tokens", "a level of thinking", f"{self._model} has no budget")
            if effort is not None:
                thinking["thinkingLevel"] = self._level(effort)
        if thinking.get("thinkingBudget") == 0:
            thinking.pop("includeThoughts", None)
        if thinking:
            self._generation["thinkingConfig"] = thinking

    def _read_effort(self) -> str | None:
        if (self._request.model_extra or {}).get("extended_thinking") is False:
            return "none"
        wished = self._request.reasoning_effort
        if wished is None:
            return self._config.effort
        if wished.lower() not in _LEVELS:
            self._degrade(f"reasoning_effort={wished}", "the model's own", f"known are {', '.join(_LEVELS)}")
            return self._config.effort
        return wished.lower()

    def _budget(self, effort: str | None, tokens: int | None, budget: Budget) -> dict[str, int]:
        # What a request says goes before what the plan says.
        wished = tokens if self._request.reasoning_effort is None and tokens is not None else None
        if wished is None:
            wished = tokens if effort is None else _BUDGETS[effort]
        if wished is None:
            return {}
        if wished < 0:
            return {"thinkingBudget": -1}
        allowed = min(max(wished, budget.least), budget.most)
        if wished == 0 and allowed:
            self._degrade("no thinking", f"{allowed} tokens of it", f"{self._model} always thinks")
        return {"thinkingBudget": allowed}

    def _level(self, effort: str) -> Level:
        wished, known = _LEVELS[effort], self._traits.levels
        level = wished if wished in known else known[0]
        if level.lower() != effort:
            self._degrade(f"reasoning_effort={effort}", level.lower(), f"{self._model} has nothing nearer")
        return level

    def _set_sampling(self) -> None:
        request = self._request
        temperature = self._config.temperature if request.temperature is None else request.temperature
        if temperature is not None and self._takes("temperature", temperature):
            self._generation["temperature"] = min(max(temperature, 0.0), _HOTTEST)
        if request.top_p is not None and self._takes("top_p", request.top_p):
            self._generation["topP"] = min(max(request.top_p, 0.0), 1.0)

    def _takes(self, name: str, value: float) -> bool:
        if not self._traits.takes_sampling:
            self._degrade(f"{name}={value:g}", "the model's own", f"{self._model} takes no {name}")
        return self._traits.takes_sampling

    def _set_stop(self) -> None:
        wished = [each for each in self._request.stop or () if each]
        if wished:
            self._generation["stopSequences"] = wished[:_MOST_STOPS]
        if len(wished) > _MOST_STOPS:
            self._degrade(f"{len(wished)} stops", f"the first {_MOST_STOPS}", "the service takes no more")

    def _set_shape(self) -> None:
        shape = self._request.response_format
        if not isinstance(shape, ResponseFormatJson | ResponseFormatJsonSchema):
            return
        if self._request.tools and not self._traits.is_modern:
            self._degrade("an answer in JSON", "free text", f"{self._model} cannot do that and call tools")
            return
        self._generation["responseMimeType"] = "application/json"
        if isinstance(shape, ResponseFormatJsonSchema):
            schema, lost = clean(shape.json_schema)
            self._tell_lost(lost, "the answer")
            self._generation["responseJsonSchema"] = schema

    def _set_service(self) -> None:
        threshold = self._config.safety_threshold
        if threshold is not None:
            self.body["safetySettings"] = [
                {"category": f"HARM_CATEGORY_{harm}", "threshold": threshold} for harm in _HARMS
            ]
        if self._config.service_tier is not None:
            self.body["serviceTier"] = self._config.service_tier

    def _tell_lost(self, lost: list[str], place: str) -> None:
        if lost:
            words = ", ".join(f"'{word}'" for word in lost)
            self._degrade(f"{words} in the schema of {place}", "left out", "the service does not know it")

    def _degrade(self, requested: str, actual: str, reason: str) -> None:
        self.degradations.append(Degradation(requested=requested, actual=actual, reason=reason))


def _is_of_service(spec: ToolSpec) -> bool:
    return (spec.model_extra or {}).get("type") not in (None, "custom", "function")


def _service_tool(spec: ToolSpec) -> dict[str, Any]:
    """A tool of the service itself: its ``type`` is the name it has there, what it has besides its settings."""
    extras = spec.model_extra or {}
    return {extras["type"]: {key: value for key, value in extras.items() if key not in _TOOL_KEYS}}

"""What a request wishes beside its messages: length, thinking, effort, sampling, the shape of the answer.

What a model does not take is left out and told as a degradation; a wish is never a reason for a refusal.
"""

from __future__ import annotations

from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    Degradation,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
)
from amplifier_modkit.llm.names import read_tool_choice
from amplifier_module_provider_anthropic.config import AnthropicConfig
from amplifier_module_provider_anthropic.models import CATALOGUE, Traits, traits_of
from amplifier_module_provider_anthropic.outgoing import closed

VERSION = "2026-10-21"
_VERSION_WITH_SAMPLING = "2023-06-01"
_INTERLEAVED = "interleaved-thinking-2025-05-14"
_TASK_BUDGET = "task-budgets-2026-03-13"
_FAST_MODE = "fast-mode-2026-02-01"
_LEAST_BUDGET = 1024
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 48_000}
_EFFORTS = {"none": "low", "minimal": "low", **{effort: effort for effort in _BUDGETS}}


class Options:
    """The wishes of one request for one model, worked out one by one; read ``body``, ``betas`` and the rest after."""

    def __init__(self, request: ChatRequest, model: str, config: AnthropicConfig) -> None:
        self._request = request
        self._model = model
        self._config = config
        self._traits: Traits = traits_of(model)
        self.body: dict[str, Any] = {}
        self.betas: list[str] = list(config.betas)
        self.degradations: list[Degradation] = []
        self.version = VERSION
        self._effort = self._read_effort()
        self._set_length()
        self._set_thinking()
        self._set_tool_choice()
        self._set_sampling()
        self._set_stop()
        self._set_output()
        self._set_service()

    @property
    def facts(self) -> dict[str, Any]:
        """What is told about the request."""
        budget = self.body.get("thinking", {}).get("budget_tokens")
        fixed = {} if budget is None else {"thinking_budget": budget}
        return {"thinking_enabled": self.is_thinking, **fixed}

    @property
    def is_thinking(self) -> bool:
        """Whether the request asks for thinking."""
        return self.body.get("thinking", {}).get("type", "disabled") != "disabled"

    def _read_effort(self) -> str | None:
        wished = self._request.reasoning_effort
        if wished is None:
            return self._config.effort
        effort = _EFFORTS.get(wished.lower())
        if effort is None:
            self._degrade(f"reasoning_effort={wished}", "the model's own", f"known are {', '.join(_EFFORTS)}")
        return effort

    def _set_length(self) -> None:
        most = CATALOGUE.info(self._model).max_output_tokens
        wished = self._request.max_output_tokens or self._config.max_tokens or most
        self.body["max_tokens"] = length = max(1, min(wished, most) if CATALOGUE.find(self._model) else wished)
        if length != wished:
            self._degrade(f"max_output_tokens={wished}", str(length), f"this is what {self._model} allows")

    def _set_thinking(self) -> None:
        kind, config = self._traits.thinking, self._config
        wish = (self._request.model_extra or {}).get("extended_thinking")
        has_asked = bool(wish) or config.thinking_type is not None or config.thinking_budget_tokens is not None
        is_off = wish is False or (config.thinking_type == "disabled" and not wish)
        if is_off or self._request.reasoning_effort == "none":
            self._switch_thinking_off()
        elif kind == "budget":
            if has_asked or self._request.reasoning_effort is not None or config.effort is not None:
                self._think_for(config.thinking_budget_tokens or _BUDGETS[self._effort or "medium"])
        elif kind == "none":
            if has_asked:
                self._degrade("thinking", "none", f"{self._model} is not known to think")
        elif has_asked or kind != "on_demand":
            given = config.thinking_type if config.thinking_type in ("adaptive", "between_tools") else None
            display = {} if given == "between_tools" else {"display": config.thinking_display}
            self.body["thinking"] = {"type": given or "adaptive", **display}
            if config.thinking_budget_tokens is not None:
                self._degrade("thinking_budget_tokens", "adaptive thinking", f"{self._model} has no fixed budget")

    def _switch_thinking_off(self) -> None:
        if self._traits.thinking == "always":
            self._degrade("no thinking", "adaptive thinking", f"{self._model} always thinks")
            self.body["thinking"] = {"type": "adaptive", "display": self._config.thinking_display}
        elif self._traits.thinking == "by_default":
            self.body["thinking"] = {"type": "disabled"}

    def _think_for(self, wished: int) -> None:
        budget = min(wished, self.body["max_tokens"] - 1)
        if budget < _LEAST_BUDGET:
            self._degrade("thinking", "none", f"it needs more than {_LEAST_BUDGET} tokens of an answer's length")
            return
        self.body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if self._request.tools:
            self.betas.append(_INTERLEAVED)

    def _set_tool_choice(self) -> None:
        choice = read_tool_choice(self._request.tool_choice)
        is_single = (self._request.model_extra or {}).get("parallel_tool_calls") is False
        if not self._request.tools or (choice is None and not is_single):
            return
        mode, name = choice or ("auto", None)
        is_forced = mode in ("required", "tool")
        if is_forced and self.body.get("thinking", {}).get("type") == "enabled":
            del self.body["thinking"]
            self._degrade("thinking", "none", "a model that must call a tool cannot think before")
        sent: dict[str, Any] = {"type": {"required": "any"}.get(mode, mode), **({"name": name} if name else {})}
        self.body["tool_choice"] = {**sent, "disable_parallel_tool_use": True} if is_single and mode != "none" else sent

    def _set_sampling(self) -> None:
        request = self._request
        temperature = self._config.temperature if request.temperature is None else request.temperature
        for name, value in (("temperature", temperature), ("top_p", request.top_p)):
            if value is None:
                continue
            if not self._traits.takes_sampling:
                self._degrade(f"{name}={value:g}", "the model's own", f"{self._model} takes no {name}")
            elif self.is_thinking and value != 1:
                self._degrade(f"{name}={value:g}", "1", "a model that thinks takes no other")
            else:
                self.body[name] = min(max(value, 0.0), 1.0)
                self.version = _VERSION_WITH_SAMPLING  # later ones refuse it for every model

    def _set_stop(self) -> None:
        wished = self._request.stop or []
        taken = [each for each in wished if each.strip()]
        if taken:
            self.body["stop_sequences"] = taken
        if len(taken) != len(wished):
            self._degrade("stop at white space", "no stop there", "the service takes only stops that can be seen")

    def _set_output(self) -> None:
        output: dict[str, Any] = {}
        if self._effort is not None and self._traits.takes_effort:
            output["effort"] = self._effort
        shape = self._request.response_format
        if isinstance(shape, ResponseFormatJsonSchema):
            output["format"] = {"type": "json_schema", "schema": closed(shape.json_schema)}
        elif isinstance(shape, ResponseFormatJson):
            self._degrade("an answer in JSON", "free text", "the service wants a schema for that")
        if self._config.task_budget_tokens is not None:
            output["task_budget"] = {"type": "tokens", "total": self._config.task_budget_tokens}
            self.betas.append(_TASK_BUDGET)
        if output:
            self.body["output_config"] = output

    def _set_service(self) -> None:
        if self._config.speed is not None:
            self.body["speed"] = self._config.speed
            self.betas.append(_FAST_MODE)
        if self._config.enable_1m_context and self._traits.long_context_beta:
            self.betas.append(self._traits.long_context_beta)

    def _degrade(self, requested: str, actual: str, reason: str) -> None:
        self.degradations.append(Degradation(requested=requested, actual=actual, reason=reason))

"""The wishes of requests, as Gemini takes them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modules.gemini_world import ARGON, LITE, MODEL, OLD, call_of, generation, told

from amplifier_core.message_models import ResponseFormatJson, ResponseFormatJsonSchema, ResponseFormatText, ToolSpec
from amplifier_module_provider_gemini.config import GeminiConfig
from amplifier_module_provider_gemini.models import Budget, line_of, traits_of

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolSpec(name="read", description="Reads.", parameters=SCHEMA)
PRO = "gemini-2.5-pro"
SEARCH = ToolSpec.model_validate({"name": "s", "parameters": {}, "type": "codeExecution", "x": 1})


def test_tools_are_declared() -> None:
    """With their schema; without parameters where they have none; those of the service beside them."""
    tools = [
        READ,
        ToolSpec(name="7zip", parameters={"type": "object", "properties": {}, "additionalProperties": True}),
        ToolSpec.model_validate({"name": "any", "parameters": {"description": "Any."}, "type": "function"}),
    ]
    call = call_of(tools=tools)
    assert call.body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "read", "description": "Reads.", "parametersJsonSchema": SCHEMA},
                {"name": "fn__7zip"},
                {"name": "any", "parametersJsonSchema": {"type": "object", "description": "Any."}},
            ]
        }
    ]
    assert "toolConfig" not in call.body
    assert told(call) == []


def test_tools_of_the_service_come_beside_others_where_the_model_can() -> None:
    """Search by config; older models do one or the other."""
    config = GeminiConfig(enable_web_search=True, include_thoughts=False)
    both = call_of(tools=[READ, SEARCH], config=config).body
    assert both["tools"][1:] == [{"codeExecution": {"x": 1}}, {"googleSearch": {}}]
    assert both["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert call_of(config=config).body["tools"] == [{"googleSearch": {}}]
    old = call_of(tools=[READ], config=config, model=OLD)
    assert [list(tool) for tool in old.body["tools"]] == [["functionDeclarations"]]
    assert told(old) == [("tools of the service", "none of them")]


def test_what_a_schema_loses_is_told() -> None:
    """Of tools and of answers, by name."""
    schema = {"type": "object", "not": {}}
    call = call_of(
        tools=[ToolSpec(name="read", parameters=schema)],
        response_format=ResponseFormatJsonSchema(json_schema=schema),
    )
    assert told(call) == [
        ("'not' in the schema of tool 'read'", "left out"),
        ("'not' in the schema of the answer", "left out"),
    ]


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ({"type": "function", "function": {"name": "7zip"}}, {"mode": "ANY", "allowedFunctionNames": ["fn__7zip"]}),
    ],
)
def test_the_choice_of_tools_is_passed_on(choice: Any, config: dict[str, Any]) -> None:
    """In every form that is common; without tools there is nothing to choose."""
    body = call_of(tools=[READ], tool_choice=choice).body
    assert body["toolConfig"] == {"functionCallingConfig": config}
    assert "toolConfig" not in call_of(tool_choice=choice).body


def test_calls_cannot_be_limited_to_one() -> None:
    """The wish is told as not fulfilled."""
    assert told(call_of(tools=[READ], parallel_tool_calls=False)) == [
        ("one tool call at a time", "as many as the model makes")
    ]


def test_the_length_is_what_was_wished_or_the_model_allows() -> None:
    """The newest may take several calls for it, but not at once in one piece."""
    assert generation() == {}
    assert generation(max_output_tokens=500) == {"maxOutputTokens": 500}
    assert generation(config=GeminiConfig(max_tokens=7, include_thoughts=False)) == {"maxOutputTokens": 7}
    cut = call_of(max_output_tokens=100_000)
    assert cut.body["generationConfig"] == {"maxOutputTokens": 65_536}
    assert told(cut) == [("max_output_tokens=100000", "65536")]
    assert generation(max_output_tokens=100_000, model=ARGON) == {"maxOutputTokens": 100_000}
    assert generation(max_output_tokens=100_000, model=ARGON, stream=False) == {"maxOutputTokens": 32_768}
    assert generation(max_output_tokens=100_000, model="gemini-9-neon") == {"maxOutputTokens": 100_000}


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "degraded"),
    [
        (MODEL, None, {}, []),
        (MODEL, "low", {"thinkingLevel": "LOW"}, []),
        (MODEL, "High", {"thinkingLevel": "HIGH"}, []),
        (MODEL, "max", {"thinkingLevel": "HIGH"}, [("reasoning_effort=max", "high")]),
        (MODEL, "none", {"thinkingLevel": "LOW"}, [("reasoning_effort=none", "low")]),
        (MODEL, "wild", {}, [("reasoning_effort=wild", "the model's own")]),
        (LITE, "minimal", {"thinkingLevel": "MINIMAL"}, []),
        (LITE, "none", {"thinkingLevel": "MINIMAL"}, [("reasoning_effort=none", "minimal")]),
        (OLD, None, {}, []),
        (OLD, "none", {"thinkingBudget": 0}, []),
        (OLD, "medium", {"thinkingBudget": 8192}, []),
        (OLD, "max", {"thinkingBudget": 24_576}, []),
        (PRO, "none", {"thinkingBudget": 128}, [("no thinking", "128 tokens of it")]),
        ("gemini-2.0-flash", "high", {}, [("thinking", "none")]),
        ("gemma-4", "none", {}, []),
    ],
)
def test_effort_becomes_thinking(model: str, effort: str | None, thinking: dict[str, Any], degraded: list[Any]) -> None:
    """A level or a budget, whichever the model has; what it has not is told."""
    call = call_of(model=model, reasoning_effort=effort)
    assert call.body.get("generationConfig", {}).get("thinkingConfig", {}) == thinking
    assert told(call) == degraded


def test_thoughts_can_be_read_unless_there_are_none() -> None:
    """They are asked for by default, wherever a model thinks."""
    config = GeminiConfig()
    assert generation(config=config) == {"thinkingConfig": {"includeThoughts": True}}
    off = generation(config=config, model=OLD, extended_thinking=False)
    assert off == {"thinkingConfig": {"thinkingBudget": 0}}
    assert generation(config=config, model="gemma-4") == {}


def test_a_budget_of_the_plan_holds_unless_a_request_says() -> None:
    """Models with levels have none; a negative one leaves it to the model."""
    config = GeminiConfig(thinking_budget_tokens=4_000, include_thoughts=False, effort="high")
    assert generation(config=config, model=OLD) == {"thinkingConfig": {"thinkingBudget": 4_000}}
    assert generation(config=config, model=OLD, reasoning_effort="low") == {"thinkingConfig": {"thinkingBudget": 2048}}
    free = GeminiConfig(thinking_budget_tokens=-1, include_thoughts=False)
    assert generation(config=free, model=OLD) == {"thinkingConfig": {"thinkingBudget": -1}}
    assert generation(config=free, model=OLD, reasoning_effort="wild") == {"thinkingConfig": {"thinkingBudget": -1}}
    assert told(call_of(config=free)) == []
    call = call_of(config=config)
    assert call.body["generationConfig"] == {"thinkingConfig": {"thinkingLevel": "HIGH"}}
    assert told(call) == [("thinking_budget_tokens", "a level of thinking")]


def test_sampling_is_for_models_that_take_it() -> None:
    """Zero is a temperature, too; the newest models go their own way, which is told."""
    assert generation(model=LITE, temperature=0, top_p=0.5) == {"temperature": 0, "topP": 0.5}
    assert generation(model=LITE, temperature=9, top_p=9) == {"temperature": 2.0, "topP": 1.0}
    assert generation(model=LITE, config=GeminiConfig(temperature=0.3, include_thoughts=False)) == {"temperature": 0.3}
    call = call_of(temperature=0, top_p=0.5)
    assert "generationConfig" not in call.body
    assert told(call) == [("temperature=0", "the model's own"), ("top_p=0.5", "the model's own")]


def test_stops_are_passed_on_up_to_five() -> None:
    """Those beyond are told."""
    call = call_of(stop=["a", "", "b", "c", "d", "e", "f"])
    assert call.body["generationConfig"] == {"stopSequences": ["a", "b", "c", "d", "e"]}
    assert told(call) == [("6 stops", "the first 5")]


def test_the_shape_of_the_answer_is_passed_on() -> None:
    """Some JSON, or JSON by a schema; older models do that only without tools."""
    assert generation(response_format=ResponseFormatText()) == {}
    assert generation(response_format=ResponseFormatJson()) == {"responseMimeType": "application/json"}
    by_schema = ResponseFormatJsonSchema(json_schema=SCHEMA)
    shaped = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    assert generation(response_format=by_schema, tools=[READ]) == shaped
    assert generation(response_format=by_schema, model=OLD) == shaped
    call = call_of(response_format=by_schema, tools=[READ], model=OLD)
    assert "generationConfig" not in call.body
    assert told(call) == [("an answer in JSON", "free text")]


def test_the_service_is_told_what_to_block_and_how_fast_to_be() -> None:
    """By config."""
    config = GeminiConfig(safety_threshold="BLOCK_ONLY_HIGH", service_tier="flex", include_thoughts=False)
    body = call_of(config=config).body
    assert {each["threshold"] for each in body["safetySettings"]} == {"BLOCK_ONLY_HIGH"}
    assert [each["category"] for each in body["safetySettings"]] == [
        "HARM_CATEGORY_HARASSMENT",
        "HARM_CATEGORY_HATE_SPEECH",
        "HARM_CATEGORY_SEXUALLY_EXPLICIT",
        "HARM_CATEGORY_DANGEROUS_CONTENT",
    ]
    assert body["serviceTier"] == "flex"


def test_models_that_are_not_known_are_asked_by_their_version() -> None:
    """Or as the newest, where the name has none."""
    assert line_of("models/gemini-3.1-flash-lite-preview-06-17") == ("flash-lite", (3, 1))
    assert line_of("gemini-flash-latest") is None
    assert traits_of("gemini-flash-latest") == traits_of(MODEL)
    assert traits_of("models/gemini-4-argon").longest == 1_048_576
    assert traits_of("gemini-3-flash-preview").takes_sampling
    assert not traits_of("gemini-5-neon").takes_sampling
    assert traits_of("gemini-2.5-flash-lite").budget == Budget(0, 24_576)
    assert not traits_of("gemma-4").can_think

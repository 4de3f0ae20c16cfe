"""Everything in a request but its messages, as the Responses API gets it, or as a degradation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.modkit.responses_world import MODEL, asked, wire

from amplifier_core.message_models import ResponseFormatJson, ResponseFormatJsonSchema, ResponseFormatText, ToolSpec
from amplifier_modkit.llm.wire import WireCall
from amplifier_modkit.llm_responses.abilities import abilities_of
from amplifier_modkit.llm_responses.wishes import Wishes

WEATHER = ToolSpec(name="weather", description="Tells it.", parameters={"type": "object", "properties": {}})
SCHEMA = {"type": "object", "properties": {"a": {"type": "number"}}}


def call_for(model: str = MODEL, form: dict[str, Any] | None = None, **wishes: Any) -> WireCall:
    """The call for a request with those wishes."""
    return wire(**(form or {})).to_call(asked(**wishes), model, stream=False)


def degraded(call: WireCall) -> list[tuple[str, str]]:
    """What was asked, and what is done instead."""
    return [(each.requested, each.actual) for each in call.degradations]


def test_a_plain_request_says_little() -> None:
    """Nothing is stored, reasoning comes encrypted, and the length of the answer is left to the model."""
    assert call_for() == WireCall(
        "/responses",
        {
            "model": MODEL,
            "input": [{"role": "user", "content": "hello"}],
            "store": False,
            "stream": False,
            "include": ["reasoning.encrypted_content"],
        },
        degradations=[],
    )


def test_wishes_that_the_model_knows_are_passed_on() -> None:
    """Those of a request go before those of the config."""
    config = Wishes(max_tokens=9, temperature=0.5, verbosity="high", truncation="auto", prompt_cache_key="k")
    call = call_for(
        "gpt-4.1",
        {"wishes": config},
        max_output_tokens=5,
        temperature=0.0,
        top_p=0.9,
        verbosity="low",
        service_tier="flex",
        unheard_of=1,
    )
    expected = {"max_output_tokens": 5, "temperature": 0.0, "top_p": 0.9, "text": {"verbosity": "low"}}
    cached = {"truncation": "auto", "prompt_cache_key": "k", "service_tier": "flex"}
    assert call.body.items() >= {**expected, **cached}.items()
    assert "include" not in call.body
    assert "unheard_of" not in call.body
    assert call.degradations == []
    body = call_for("gpt-4.1", {"wishes": config}).body
    assert (body["max_output_tokens"], body["temperature"], body["text"]) == (9, 0.5, {"verbosity": "high"})


def test_wishes_that_no_model_or_not_this_one_knows_are_told() -> None:
    """Reasoning models take neither temperature nor top_p, and the API knows no stop sequences."""
    call = call_for(temperature=0.0, top_p=0.1, stop=["x"])
    assert not {"temperature", "top_p", "stop"} & call.body.keys()
    assert degraded(call) == [
        ("temperature 0.0", "the model's own"),
        ("top_p 0.1", "the model's own"),
        ("stop sequences", "none"),
    ]
    assert call.degradations[0].reason == f"{MODEL} takes none while it reasons"


@pytest.mark.parametrize(
    ("model", "effort", "reasoning", "told"),
    [
        (MODEL, "high", {"effort": "high"}, []),
        (MODEL, "none", {"effort": "low"}, [("reasoning effort none", "low")]),
        ("o3", "max", {"effort": "high"}, [("reasoning effort max", "high")]),
        (MODEL, "ultra", {"effort": "medium"}, [("reasoning effort ultra", "medium")]),
        ("gpt-5.5", "none", {"effort": "none"}, []),
        ("gpt-4o", "high", None, [("reasoning effort high", "none")]),
        ("gpt-4o", "none", None, []),
        ("my-own", "odd", {"effort": "odd"}, []),
    ],
)
def test_reasoning_effort_is_honoured_as_far_as_the_model_can(
    model: str, effort: str, reasoning: Any, told: list[tuple[str, str]]
) -> None:
    """The nearest that it knows is taken instead of one that it does not."""
    call = call_for(model, reasoning_effort=effort)
    assert call.body.get("reasoning") == reasoning
    assert degraded(call) == told


def test_the_config_sets_effort_and_summary_for_models_that_reason() -> None:
    """To others it says nothing, and nothing is missed; to unknown ones only what was asked."""
    form = {"wishes": Wishes(reasoning="high", reasoning_summary="detailed")}
    assert call_for(MODEL, form).body["reasoning"] == {"effort": "high", "summary": "detailed"}
    assert call_for("my-own", form).body["reasoning"] == {"effort": "high"}
    call = call_for("gpt-4o", form)
    assert ("reasoning" in call.body, call.degradations) == (False, [])
    assert degraded(call_for("gpt-4o", extended_thinking=True)) == [("reasoning effort high", "none")]


def test_a_model_that_may_not_reason_takes_a_temperature_then() -> None:
    """With the effort none it samples like any other."""
    assert call_for("gpt-5.5", temperature=0.2, reasoning_effort="none").body["temperature"] == 0.2
    assert "temperature" not in call_for("gpt-5", temperature=0.2, reasoning_effort="none").body


def test_prompts_are_kept_in_the_cache_in_the_words_of_the_model() -> None:
    """Newer models have a least lifetime, older ones a most; a conversation is its own key."""
    form = {"wishes": Wishes(prompt_cache_retention="24h")}
    assert call_for(MODEL, form).body["prompt_cache_options"] == {"ttl": "12h"}
    assert call_for("gpt-5.1", form).body["prompt_cache_retention"] == "24h"
    assert call_for(MODEL, {"wishes": Wishes(prompt_cache_retention="30m")}).body["prompt_cache_options"] == {
        "ttl": "30m"
    }
    assert call_for(conversation_id="c1").body["prompt_cache_key"] == "c1"


def test_functions_are_not_strict_unless_they_say_so() -> None:
    """A schema is not bent into the service's own dialect behind anybody's back; what else a spec says stays."""
    strict = ToolSpec.model_validate({"name": "s", "parameters": {}, "strict": True, "defer_loading": True})
    assert call_for(tools=[WEATHER, strict]).body["tools"] == [
        {
            "type": "function",
            "name": "weather",
            "parameters": WEATHER.parameters,
            "strict": False,
            "description": "Tells it.",
        },
        {"type": "function", "name": "s", "parameters": {}, "strict": True, "defer_loading": True},
    ]


def test_tools_of_the_service_are_passed_through() -> None:
    """They have no name and no schema of ours, unless their kind has a name."""

    def native(name: str, **spec: Any) -> ToolSpec:
        return ToolSpec.model_validate({"name": name, "parameters": {}, **spec})

    tools = [
        native("search", type="web_search", filters={"allowed_domains": ["x"]}),
        native("patch", type="apply_patch", description="p"),
        native("sql", type="custom", format={"type": "text"}),
    ]
    assert call_for(tools=tools).body["tools"] == [
        {"type": "web_search", "filters": {"allowed_domains": ["x"]}},
        {"type": "apply_patch"},
        {"type": "custom", "name": "sql", "description": "", "format": {"type": "text"}},
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", "auto"),
        ("any", "required"),
        ({"type": "none"}, "none"),
        ("weather", {"type": "function", "name": "weather"}),
        ({"type": "function", "function": {"name": "weather"}}, {"type": "function", "name": "weather"}),
        ({"type": "tool", "name": "sql"}, {"type": "custom", "name": "sql"}),
        ("web_search", {"type": "web_search"}),
        ("gone", {"type": "function", "name": "gone"}),
        ({"type": "file_search"}, {"type": "file_search"}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": []},
            {"type": "allowed_tools", "mode": "auto", "tools": []},
        ),
        ("", ""),
    ],
    ids=str,
)
def test_a_choice_of_tools_is_understood_in_every_form(choice: Any, expected: Any) -> None:
    """Modes, names and the forms of other APIs; without tools there is nothing to choose."""
    own = {"name": "sql", "parameters": {}, "type": "custom"}
    search = {"name": "find", "parameters": {}, "type": "web_search"}
    tools = [WEATHER, ToolSpec.model_validate(own), ToolSpec.model_validate(search)]
    assert call_for(tools=tools, tool_choice=choice).body["tool_choice"] == expected
    assert "tool_choice" not in call_for(tool_choice=choice).body


def test_answers_can_be_json() -> None:
    """Plain JSON is asked for in words, too, since the service insists on them; a schema has a name."""
    body = call_for(response_format=ResponseFormatJson()).body
    assert (body["text"], body["instructions"]) == (
        {"format": {"type": "json_object"}},
        "Answer with nothing but JSON.",
    )
    titled = ResponseFormatJsonSchema(json_schema={**SCHEMA, "title": "My answer!"}, strict=True)
    assert call_for(response_format=titled).body["text"]["format"] == {
        "type": "json_schema",
        "name": "My_answer_",
        "schema": {**SCHEMA, "title": "My answer!"},
        "strict": True,
    }
    wrapped = ResponseFormatJsonSchema(json_schema={"name": "n", "schema": SCHEMA, "strict": False})
    assert call_for(response_format=wrapped).body["text"]["format"] == {
        "type": "json_schema",
        "name": "n",
        "schema": SCHEMA,
        "strict": False,
    }
    plain = ResponseFormatJsonSchema(json_schema=SCHEMA)
    assert call_for(response_format=plain).body["text"]["format"] == {
        "type": "json_schema",
        "name": "answer",
        "schema": SCHEMA,
    }
    assert "text" not in call_for(response_format=ResponseFormatText()).body


def test_deep_research_and_whoever_asks_for_it_runs_in_the_background() -> None:
    """Such answers are stored, since they are fetched later, and are not streamed."""
    body = wire().to_call(asked(), "o3-deep-research", stream=True).body
    assert (body["background"], body["store"], body["stream"]) == (True, True, False)
    assert wire().to_call(asked(metadata={"background": True}), MODEL, stream=True).body["background"] is True
    never = asked(metadata={"background": False})
    assert "background" not in wire().to_call(never, "o3-deep-research", stream=True).body


def test_a_service_may_have_names_and_paths_of_its_own() -> None:
    """The deployment is sent instead of the model; abilities are those of the model."""
    form = {"query": "?api-version=v", "deployment_of": lambda model: f"my-{model}"}
    call = call_for(MODEL, form, temperature=1.0, include=["web_search_call.results"])
    assert (call.path, call.body["model"], len(call.degradations)) == ("/responses?api-version=v", f"my-{MODEL}", 1)
    assert call.body["include"] == ["web_search_call.results", "reasoning.encrypted_content"]


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        ("gpt-6-astra", True),
        ("openai/gpt-5.2-2025-12-11", True),
        ("gpt-5.3-chat-latest", False),
        ("gpt-4o-mini", False),
        ("o4-mini", True),
        ("llama-3", None),
        ("gpt-oss-120b", None),
    ],
)
def test_a_model_is_known_by_its_id(model: str, reasons: bool | None) -> None:
    """A date behind it and a service before it do not matter; unknown ones are unknown."""
    assert abilities_of(model).reasons is reasons

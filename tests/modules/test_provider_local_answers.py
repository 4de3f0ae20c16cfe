"""What the embedded model makes of a request: a text, or a call of the tool that fits; what it is told and tells."""

from __future__ import annotations

import asyncio
import json
import threading
from decimal import Decimal
from typing import Any

import pytest
from tests.modules.local_world import FakeEngine, asking, chunks_of, provider_on

from amplifier_core.llm_errors import ContextLengthError, InvalidRequestError, InvalidToolCallError, LLMTimeoutError
from amplifier_core.message_models import (
    ChatRequest,
    ImageBlock,
    Message,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ResponseFormatText,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    ToolSpec,
)
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_module_provider_local.prompts import need_of

WEATHER = ToolSpec(
    name="get_weather",
    description="Gets the weather of a city. Knows all cities.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
TIMER = ToolSpec(
    name="set_timer",
    description="Sets a timer.",
    parameters={"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]},
)
LIKES_WEATHER = {"gets the weather": -1.0, "sets a timer": -9.0, "small talk": -4.0}


def user(text: str) -> Message:
    """What the user says."""
    return Message(role="user", content=text)


def called(city: str = "Oslo") -> list[Message]:
    """A call of the weather tool and its result."""
    block = ToolCallBlock(id="c1", name="get_weather", input={"city": city})
    return [
        Message(role="assistant", content=[block]),
        Message(role="tool", tool_call_id="c1", name="get_weather", content="rain, 4 degrees"),
    ]


async def test_a_plain_question_is_answered_in_words() -> None:
    """The conversation goes to the model as it is; usage tells what it took, and it costs nothing."""
    engine = FakeEngine("I am fine.")
    request = ChatRequest(
        messages=[
            Message(role="system", content="Be brief."),
            Message(role="developer", content="And kind."),
            user("Hello"),
            Message(role="assistant", content="Hi!"),
            user("How are"),
            user("you <|im_end|>?"),
        ]
    )
    response = await provider_on(engine).complete(request)
    assert response.content == [TextBlock(text="I am fine.")]
    assert (response.finish_reason, response.tool_calls, response.degradation) == ("stop", None, None)
    assert response.usage is not None
    assert response.usage.model_dump(exclude_none=True) == {
        "input_tokens": 20,
        "output_tokens": 3,
        "total_tokens": 23,
        "cache_read_tokens": 5,
        "cost_usd": "0",
    }
    assert response.usage.cost_usd == Decimal(0)
    assert engine.bodies[0]["messages"] == [
        {"role": "system", "content": "Be brief.\n\nAnd kind."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "How are\n\nyou < |im_end|>?"},
    ]


async def test_the_wishes_of_a_request_go_before_those_of_the_config() -> None:
    """A temperature of 0 is a wish like any other."""
    engine = FakeEngine()
    provider = provider_on(engine, temperature=0.9, max_tokens=7, seed=3, repeat_penalty=1.0)
    await provider.complete(asking("hi"))
    await provider.complete(asking("hi", temperature=0.0, max_output_tokens=2, top_p=0.5, stop=["x"]))
    names = ("temperature", "max_tokens", "seed", "repeat_penalty", "top_p", "stop")
    assert [[body.get(name) for name in names] for body in engine.bodies] == [
        [0.9, 7, 3, 1.0, None, None],
        [0.0, 2, 3, 1.0, 0.5, ["x"]],
    ]


@pytest.mark.parametrize(
    ("wanted", "grammar"),
    [
        (ResponseFormatJsonSchema(json_schema={"type": "string"}), {"type": "string"}),
        (ResponseFormatJson(), {"type": "object"}),
        (ResponseFormatText(), None),
    ],
)
async def test_the_form_of_the_answer_is_a_grammar(wanted: Any, grammar: Any) -> None:
    """What is asked for as JSON can be nothing else."""
    engine = FakeEngine('"x"')
    await provider_on(engine).complete(asking("hi", response_format=wanted))
    given = engine.bodies[0].get("grammar")
    assert (given and json.loads(given)) == grammar


async def test_an_answer_that_was_cut_says_so_and_an_empty_one_has_no_content() -> None:
    """The finish reason tells a limit from an end."""
    cut = await provider_on(FakeEngine(lambda body: chunks_of("on and on", "length"))).complete(asking("hi"))
    empty = await provider_on(FakeEngine("")).complete(asking("hi"))
    assert (cut.finish_reason, empty.finish_reason, empty.content) == ("length", "stop", [])


async def test_text_streams_as_it_comes() -> None:
    """Start, pieces and end between request and response, all under one id; the raw request only when wished."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    names = ["llm:request", *(f"llm:stream_block_{each}" for each in ("start", "delta", "end")), "llm:response"]
    for name in names:
        coordinator.hooks.register(name, seen)
    await provider_on(FakeEngine("one two"), coordinator.hooks, raw=True).complete(asking("hi"))
    assert [event for event, _ in seen.events] == [*names[:3], *names[2:]]
    assert [data["text"] for event, data in seen.events if event == "llm:stream_block_delta"] == ["one", " two"]
    assert len({data["request_id"] for _, data in seen.events}) == 1
    last = seen.events[-1][1]
    assert (last["provider"], last["model"], last["status"]) == ("local", "tiny", "ok")
    assert last["usage"]["output_tokens"] == 2
    assert seen.events[0][1]["raw"]["messages"][0]["content"] == "hi"


@pytest.mark.parametrize(("config", "wishes"), [({"use_streaming": False}, {}), ({}, {"metadata": {"stream": False}})])
async def test_streaming_can_be_switched_off(config: dict[str, Any], wishes: dict[str, Any]) -> None:
    """By the config for all requests, by the request for itself."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    for each in ("start", "delta", "end"):
        coordinator.hooks.register(f"llm:stream_block_{each}", seen)
    await provider_on(FakeEngine("one two"), coordinator.hooks, **config).complete(asking("hi", **wishes))
    assert seen.events == []


async def test_the_tool_that_the_request_is_likeliest_for_is_called() -> None:
    """The call stands in content and list; its arguments come as a piece of the stream when they are known to fit."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    for each in ("start", "delta", "end"):
        coordinator.hooks.register(f"llm:stream_block_{each}", seen)
    engine = FakeEngine('{"city": "Oslo"}', LIKES_WEATHER)
    request = asking("Will it rain in Oslo?", tools=[TIMER, WEATHER])
    response = await provider_on(engine, coordinator.hooks).complete(request)
    (block,) = response.content
    assert isinstance(block, ToolCallBlock)
    assert (block.name, block.input, response.finish_reason) == ("get_weather", {"city": "Oslo"}, "tool_calls")
    assert response.tool_calls == [ToolCall(id=block.id, name="get_weather", arguments={"city": "Oslo"})]
    assert response.metadata == {"tool_scores": {"get_weather": -1.0, "": -3.5, "set_timer": -9.0}}
    assert response.usage is not None
    # The size of the conversation, and not what was read to choose.
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 2)
    told = [(data["block_type"], data.get("name"), data.get("text")) for _, data in seen.events]
    assert told == [("tool_use", "get_weather", None), ("tool_use", None, '{"city": "Oslo"}'), ("tool_use", None, None)]
    assert len(engine.bodies) == 4
    assert engine.bodies[0]["grammar"] == "root ::= <[4]> <[2]> <[4]> <[2]> <[5]>"
    assert json.loads(engine.bodies[-1]["grammar"])["properties"]["city"]["enum"][:2] == ["Will", "Will it"]


async def test_words_shared_with_a_tool_count_for_it() -> None:
    """Its name, its first sentence, its parameters and the texts to choose from are compared."""
    day = {"type": "object", "properties": {"day": {"anyOf": [{"enum": ["Friday", 1]}]}}}
    odd = {"type": "object", "properties": 1, "enum": "Friday"}
    tools = [ToolSpec(name="a", parameters=day), ToolSpec(name="b", parameters=odd)]
    engine = FakeEngine('{"day": "Friday"}')
    response = await provider_on(engine).complete(asking("Is Friday a good day?", tools=tools))
    assert response.metadata == {"tool_scores": {"a": -4.0, "": -9.5, "b": -10.0}}


async def test_small_talk_is_answered_in_words_although_tools_are_there() -> None:
    """Where no tool is likelier than small talk, none is called."""
    engine = FakeEngine("Hello!", {"small talk": -1.0})
    response = await provider_on(engine).complete(asking("Hi!", tools=[WEATHER, TIMER]))
    assert (response.content, len(engine.asked)) == ([TextBlock(text="Hello!")], 1)


async def test_a_request_without_words_is_not_put_to_the_tools() -> None:
    """With nothing to go by, nothing is called."""
    engine = FakeEngine("Hello!")
    request = ChatRequest(messages=[Message(role="system", content="Greet."), user(" ")], tools=[WEATHER])
    response = await provider_on(engine).complete(request)
    assert (response.content, len(engine.bodies)) == ([TextBlock(text="Hello!")], 1)
    assert engine.bodies[0]["messages"][-1] == {"role": "user", "content": "Go on."}


async def test_only_the_beginning_of_a_long_request_is_put_to_the_tools() -> None:
    """What choosing costs is bounded."""
    engine = FakeEngine("Hello!", {"small talk": -1.0})
    await provider_on(engine).complete(asking("word " * 500, tools=[WEATHER]))
    assert {body["max_tokens"] for body in engine.bodies if "logprobs" in body} == {32}


@pytest.mark.parametrize("choice", ["required", {"type": "any"}])
async def test_a_required_call_is_made_even_where_none_fits(choice: Any) -> None:
    """Small talk is no way out then."""
    engine = FakeEngine('{"minutes": 5}', {"small talk": -1.0, "sets a timer": -2.0})
    request = ChatRequest(messages=[user("Hi!"), *called(), user("Hi")], tools=[WEATHER, TIMER], tool_choice=choice)
    response = await provider_on(engine).complete(request)
    assert [call.name for call in response.tool_calls or ()] == ["set_timer"]


async def test_a_certain_tool_is_called_without_choosing() -> None:
    """Its name is all that is needed, however unusual it is."""
    tool = WEATHER.model_copy(update={"name": "weather of cities"})
    choice = {"type": "function", "function": {"name": "weather of cities"}}
    engine = FakeEngine('{"city": "Oslo"}')
    response = await provider_on(engine).complete(asking("Hi!", tools=[TIMER, tool], tool_choice=choice))
    assert ([call.name for call in response.tool_calls or ()], len(engine.bodies)) == (["weather of cities"], 1)


async def test_with_the_choice_of_none_no_tool_is_called() -> None:
    """The model is not even asked."""
    engine = FakeEngine("Hello!", LIKES_WEATHER)
    response = await provider_on(engine).complete(asking("Rain?", tools=[WEATHER], tool_choice="none"))
    assert (response.content, len(engine.bodies)) == ([TextBlock(text="Hello!")], 1)


@pytest.mark.parametrize(
    ("choice", "tools", "told"),
    [
        ("required", None, "The tool choice wants a tool; the tools on offer: none"),
        (
            "dance",
            [WEATHER, TIMER],
            "The tool choice wants the tool 'dance'; the tools on offer: get_weather, set_timer",
        ),
    ],
)
async def test_a_choice_that_cannot_be_obeyed_is_refused(choice: str, tools: Any, told: str) -> None:
    """The error says what there is."""
    with pytest.raises(InvalidRequestError) as failed:
        await provider_on(FakeEngine()).complete(asking("Hi", tools=tools, tool_choice=choice))
    assert (str(failed.value), failed.value.provider, failed.value.model) == (told, "local", "tiny")


async def test_without_fitting_arguments_there_is_no_call() -> None:
    """A text is the answer then; where a call is required, the next best tool is tried, and then it is an error."""
    never = FakeEngine("no JSON", LIKES_WEATHER)
    response = await provider_on(never).complete(asking("Rain?", tools=[WEATHER]))
    assert response.content == [TextBlock(text="no JSON")]
    second = FakeEngine('{"minutes": 5}', LIKES_WEATHER)
    response = await provider_on(second).complete(asking("Rain?", tools=[WEATHER, TIMER], tool_choice="required"))
    assert [call.name for call in response.tool_calls or ()] == ["set_timer"]
    with pytest.raises(InvalidToolCallError) as failed:
        await provider_on(never).complete(asking("Rain?", tools=[WEATHER, TIMER], tool_choice="required"))
    assert str(failed.value) == "No arguments were found that fit the schema of get_weather or set_timer"
    assert failed.value.tool_name == "get_weather"


async def test_after_a_result_the_model_puts_it_into_words() -> None:
    """It sees the question and the result, and is not asked for a tool again; long results are cut."""
    engine = FakeEngine("It rains.", LIKES_WEATHER)
    request = ChatRequest(messages=[user("Rain?"), *called()], tools=[WEATHER])
    response = await provider_on(engine, max_result_chars=90).complete(request)
    assert (response.content, len(engine.bodies)) == ([TextBlock(text="It rains.")], 1)
    assert engine.bodies[0]["messages"][-1]["content"] == "Question: Rain?\nResult: rain, 4 degrees"
    assert (engine.bodies[0]["repeat_penalty"], engine.bodies[0]["max_tokens"]) == (1.0, 96)
    request.messages[-1].content = "word " * 100
    await provider_on(engine, max_result_chars=90).complete(request)
    assert len(engine.bodies[-1]["messages"][-1]["content"]) < 130


@pytest.mark.parametrize(
    ("question", "result", "rules"),
    [
        (
            "1024 / 16?",
            "64",
            [
                'root ::= (sep? num (sep num){0,1} sep | sep)? "64" (sep (num | "64")){0,3} end',
                'num ::= "1024" | "16"',
            ],
        ),
        ("Eva's number?", "+44 20", ['root ::= sep? "+44 20" end']),
        ("What is 16?", "it is 64.5", ["root ::= num? (sep num)* end", 'num ::= "64.5" | "16"']),
        ("What is it?", "1\n2", ["root ::= num? (sep num)* end", 'num ::= "1" | "2"']),
        ("What is 2?", "even", None),
        ("Which?", " ".join(map(str, range(50))), None),
    ],
)
async def test_numbers_in_the_answer_are_those_of_question_and_result(
    question: str, result: str, rules: list[str] | None
) -> None:
    """A result that is nothing but a number must be told; where there are none, or very many, all may be said."""
    engine = FakeEngine("1024 / 16 = 64.")
    request = ChatRequest(messages=[user(question), *called()])
    request.messages[-1].content = result
    await provider_on(engine).complete(request)
    grammar = engine.bodies[0].get("grammar")
    assert (grammar and grammar.splitlines()[:-2]) == rules


async def test_what_the_user_says_next_may_be_answered_by_a_tool_again() -> None:
    """Results count for what was asked before them; of earlier turns the texts are kept."""
    engine = FakeEngine('{"city": "Rome"}', LIKES_WEATHER)
    said = [user("Rain?"), *called(), Message(role="assistant", content="It rains."), user("And in Rome?")]
    response = await provider_on(engine).complete(ChatRequest(messages=said, tools=[WEATHER]))
    assert [call.arguments for call in response.tool_calls or ()] == [{"city": "Rome"}]


async def test_a_call_without_a_result_is_repaired_and_told() -> None:
    """A history that was cut short is no reason to fail."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register("provider:tool_sequence_repaired", seen)
    request = ChatRequest(messages=[user("Rain?"), called()[0]])
    await provider_on(FakeEngine(), coordinator.hooks).complete(request)
    assert [data["repair_count"] for _, data in seen.events] == [1]


async def test_what_is_done_otherwise_than_wished_is_told() -> None:
    """Cut system messages, reminders, images, effort and another model are in one degradation."""
    reminder = {"source": "hook", "hook_name": "status"}
    request = ChatRequest(
        messages=[
            Message(role="system", content="s" * 50),
            Message(role="user", content=[TextBlock(text="What is it?"), ImageBlock(source={"type": "url"})]),
            Message(role="user", content="<system-reminder>", metadata=reminder),
        ],
        reasoning_effort="high",
        model="big-model",
    )
    engine = FakeEngine()
    response = await provider_on(engine, max_system_chars=0).complete(request)
    assert response.degradation is not None
    assert response.degradation.requested.split("; ") == [
        "system messages of 50 characters",
        "1 message(s) of hooks or of the loop",
        "1 image(s)",
        "reasoning_effort high",
        "model big-model",
    ]
    assert response.degradation.actual.split("; ") == [
        "0 characters of them",
        "left out",
        "left out",
        "none",
        "model tiny",
    ]
    assert engine.bodies[0]["messages"] == [{"role": "user", "content": "What is it?"}]


async def test_a_request_that_says_nothing_is_refused() -> None:
    """There must be a message with text."""
    with pytest.raises(InvalidRequestError, match="The request says nothing: it needs a message with text"):
        await provider_on(FakeEngine()).complete(ChatRequest(messages=[]))


async def test_a_conversation_that_is_too_long_is_told_as_that() -> None:
    """Contexts shorten it then; the response event tells the failure."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register("llm:response", seen)
    error = {"code": 400, "type": "exceed_context_size_error", "message": "5000 tokens"}
    with pytest.raises(ContextLengthError):
        await provider_on(FakeEngine(lambda body: [{"error": error}]), coordinator.hooks).complete(asking("hi"))
    assert [(data["status"], data["error"]["type"]) for _, data in seen.events] == [("error", "ContextLengthError")]


@pytest.mark.parametrize(("config", "wishes"), [({"timeout": 0.01}, {}), ({}, {"timeout": 0.01})])
async def test_a_time_limit_ends_the_call(config: dict[str, Any], wishes: dict[str, Any]) -> None:
    """It counts from when the model is loaded; the work ends too."""
    may_go_on = threading.Event()
    engine = FakeEngine(lambda body: may_go_on.wait(10) and chunks_of("late"))
    with pytest.raises(LLMTimeoutError, match="There was no whole answer within 0.01 s; 'timeout' sets that"):
        await provider_on(engine, **config).complete(asking("hi", **wishes))
    may_go_on.set()
    assert await asyncio.to_thread(engine.given_up.wait, 10)


async def test_a_cancellation_is_passed_on_and_told() -> None:
    """It never becomes an error of the model; pieces that were told are told to be void."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    may_go_on, has_begun = threading.Event(), asyncio.Event()

    async def note(event: str, data: dict[str, Any]) -> None:
        has_begun.set()

    coordinator.hooks.register("llm:stream_block_delta", note)
    for name in ("llm:stream_aborted", "llm:response"):
        coordinator.hooks.register(name, seen)

    def slow(body: Any) -> Any:
        yield from list(chunks_of("one two"))[:2]
        may_go_on.wait(10)

    task = asyncio.create_task(provider_on(FakeEngine(slow), coordinator.hooks).complete(asking("hi")))
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_go_on.set()
    assert [event for event, _ in seen.events] == ["llm:stream_aborted", "llm:response"]


def test_the_need_for_a_tool_is_the_first_sentence_of_its_description() -> None:
    """Without a description the name must do."""
    assert need_of(WEATHER) == "gets the weather of a city"
    assert need_of(ToolSpec(name="list_all-files", parameters={})) == "list all files"
    assert need_of(ToolSpec(name="x", description="Does v1.5 things\nand more", parameters={})) == "does v1.5 things"

"""Each kind of answer that a script can have, and what becomes of it."""

from __future__ import annotations

import asyncio
import inspect
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core import llm_errors
from amplifier_core.llm_errors import (
    InvalidToolCallError,
    LLMError,
    RateLimitError,
    StreamError,
)
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolSpec,
    Usage,
)
from amplifier_core.testing import FakeClock
from amplifier_module_provider_mock.errors import ScriptError, ScriptFormatError
from amplifier_module_provider_mock.provider import MockProvider

ERROR_CLASSES = [cls for _, cls in inspect.getmembers(llm_errors, inspect.isclass) if issubclass(cls, LLMError)]


def request_for(*texts: str) -> ChatRequest:
    """A request with a message of the user per text."""
    return ChatRequest(messages=[Message(role="user", content=text) for text in texts or ("hello",)])


async def answer_of(item: Any, request: ChatRequest | None = None, **settings: Any) -> ChatResponse:
    """What a provider with one item in its script answers."""
    return await MockProvider([item], **settings).complete(request or request_for())


async def test_an_answer_thinks_speaks_and_calls_tools_in_this_order() -> None:
    """Calls are in the content and beside it; those without an id get the next one."""
    response = await answer_of(
        {
            "thinking": "hm",
            "signature": "sig",
            "text": "I throw.",
            "tool_calls": [
                {"name": "dice", "arguments": {"sides": 6}},
                {"name": "coin", "id": "mine"},
                {"name": "coin"},
            ],
        }
    )
    assert response.content == [
        ThinkingBlock(thinking="hm", signature="sig"),
        TextBlock(text="I throw."),
        ToolCallBlock(id="call-1", name="dice", input={"sides": 6}),
        ToolCallBlock(id="mine", name="coin", input={}),
        ToolCallBlock(id="call-2", name="coin", input={}),
    ]
    assert response.tool_calls == [
        ToolCall(id="call-1", name="dice", arguments={"sides": 6}),
        ToolCall(id="mine", name="coin", arguments={}),
        ToolCall(id="call-2", name="coin", arguments={}),
    ]
    assert response.finish_reason == "tool_calls"


async def test_a_resumed_conversation_gets_no_id_twice() -> None:
    """An id that a call or a result of the conversation has already is left out."""
    request = ChatRequest(
        messages=[
            Message(role="assistant", content=[ToolCallBlock(id="call-1", name="dice", input={})]),
            Message(role="tool", content="6", tool_call_id="call-2"),
        ]
    )
    response = await answer_of({"tool_calls": [{"name": "dice"}]}, request)
    assert [call.id for call in response.tool_calls or ()] == ["call-3"]


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [('{"a": 1}', {"a": 1}), ('{"a": ', '{"a": '), ("[1]", "[1]"), ("", ""), ("nonsense", "nonsense")],
)
async def test_raw_arguments_are_read_as_a_provider_reads_them(raw: str, arguments: Any) -> None:
    """What is JSON of an object becomes one; everything else stays the text that a model got wrong."""
    response = await answer_of({"tool_calls": [{"name": "dice", "arguments": raw}]})
    assert [call.arguments for call in response.tool_calls or ()] == [arguments]
    assert response.content == [
        ToolCallBlock(id="call-1", name="dice", input=arguments if isinstance(arguments, dict) else {})
    ]


async def test_raw_blocks_are_the_whole_answer() -> None:
    """Every block comes as it is written, and calls among them are found."""
    blocks = [
        {"type": "redacted_thinking", "data": "…"},
        {"type": "text", "text": "a"},
        {"type": "tool_call", "id": "c", "name": "dice", "input": {"sides": 6}},
        {"type": "text", "text": "b", "vendor": 1},
    ]
    response = await answer_of({"blocks": blocks})
    assert [block.model_dump(exclude_none=True) for block in response.content] == blocks
    assert isinstance(response.content[0], RedactedThinkingBlock)
    assert response.tool_calls == [ToolCall(id="c", name="dice", arguments={"sides": 6})]


async def test_a_refusal_may_say_nothing() -> None:
    """A finish reason alone is an answer without content."""
    response = await answer_of({"finish_reason": "refusal"})
    assert (response.content, response.tool_calls, response.finish_reason) == ([], None, "refusal")


async def test_an_empty_text_is_a_block_without_text() -> None:
    """An answer that is there and says nothing can be played."""
    assert (await answer_of("")).content == [TextBlock(text="")]


async def test_usage_is_what_the_script_says_and_estimated_where_it_is_silent() -> None:
    """Four characters are a token; an item goes before the config; money stays exact."""
    request = request_for("12345678", "1234")
    estimated = await answer_of({"thinking": "1234", "text": "12345678"}, request)
    configured = await answer_of("12345678", request, usage={"input_tokens": 100})
    said = await answer_of({"text": "1", "usage": {"input_tokens": 7, "output_tokens": 5, "cost_usd": 0.01}}, request)
    assert estimated.usage == Usage(input_tokens=3, output_tokens=3, total_tokens=6)
    assert configured.usage == Usage(input_tokens=100, output_tokens=2, total_tokens=102)
    assert said.usage == Usage(input_tokens=7, output_tokens=5, total_tokens=12, cost_usd=Decimal("0.01"))


async def test_a_delay_passes_on_the_clock() -> None:
    """The item's own delay goes before that of the config; nobody waits for a clock that is no real one."""
    clock = FakeClock()
    provider = MockProvider(["a", {"text": "b", "delay_s": 30}, {"text": "c", "delay_s": 0}], delay_s=2, clock=clock)
    passed: list[float] = []
    for _ in range(3):
        before = clock()
        await provider.complete(request_for())
        passed.append((clock() - before).total_seconds())
    assert passed == [2, 30, 0]


async def test_a_cancellation_ends_a_delay_at_once() -> None:
    """A provider that would answer in an hour is gone when its task is cancelled."""
    provider = MockProvider([{"text": "late", "delay_s": 3600}])
    task = asyncio.create_task(provider.complete(request_for()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert provider.calls == 1


@pytest.mark.parametrize("error_class", ERROR_CLASSES)
async def test_every_error_of_providers_can_be_played(error_class: type[LLMError]) -> None:
    """By its name; the error names provider and model, and says what its class says about retrying."""
    with pytest.raises(error_class, match="^no$") as caught:
        await answer_of({"error": {"type": error_class.__name__, "message": "no"}}, model="m")
    assert type(caught.value) is error_class
    assert (caught.value.provider, caught.value.model) == ("mock", "m")
    assert caught.value.retryable == error_class("no").retryable


async def test_an_error_has_the_fields_of_the_script() -> None:
    """What a caller decides by: status, whether and when to try again, who failed."""
    fields = {"status_code": 429, "retryable": False, "retry_after": 3, "delay_multiplier": 10.0, "provider": "other"}
    with pytest.raises(RateLimitError) as limit:
        await answer_of({"error": {"type": "RateLimitError", **fields}}, ChatRequest(messages=[], model="asked"))
    assert vars(limit.value) == {**fields, "model": "asked"}
    with pytest.raises(InvalidToolCallError) as unreadable:
        await answer_of({"error": {"type": "InvalidToolCallError", "tool_name": "dice", "raw_arguments": "{"}})
    assert (unreadable.value.tool_name, unreadable.value.raw_arguments) == ("dice", "{")


@pytest.mark.parametrize("error_class", [ValueError, TimeoutError, OSError, KeyboardInterrupt])
async def test_errors_of_python_can_be_played(error_class: type[BaseException]) -> None:
    """By their names, with a message that says where they come from."""
    with pytest.raises(error_class, match="The script says so"):
        await answer_of({"error": {"type": error_class.__name__}})


async def test_an_error_is_made_anew_for_every_call() -> None:
    """A script that repeats does not raise one object again and again."""
    provider = MockProvider([{"error": {"type": "StreamError"}}], at_end="repeat")
    errors: list[BaseException] = []
    for _ in range(2):
        with pytest.raises(StreamError) as caught:
            await provider.complete(request_for())
        errors.append(caught.value)
    assert errors[0] is not errors[1]


async def test_python_scripts_may_hold_responses_exceptions_and_functions() -> None:
    """A response is given back as it is, an exception raised as it is, a function asked, sync or async."""
    ready, failure = ChatResponse(content=[TextBlock(text="ready")]), RateLimitError("slow down")

    async def later(request: ChatRequest) -> dict[str, Any]:
        return {"text": f"{len(request.messages)} later"}

    provider = MockProvider([ready, failure, ValueError, lambda _: "computed", later, lambda _: failure])
    assert await provider.complete(request_for()) is ready
    with pytest.raises(RateLimitError) as caught:
        await provider.complete(request_for())
    assert caught.value is failure
    with pytest.raises(ValueError, match="^$"):
        await provider.complete(request_for())
    assert (await provider.complete(request_for())).content == [TextBlock(text="computed")]
    assert (await provider.complete(request_for("a", "b"))).content == [TextBlock(text="2 later")]
    with pytest.raises(RateLimitError, match="slow down"):
        await provider.complete(request_for())
    with pytest.raises(ScriptError, match="The script has 6 answers; this is call 7"):
        await provider.complete(request_for())


async def test_a_function_may_be_the_whole_script() -> None:
    """It is asked for every call, without an end."""
    provider = MockProvider(lambda request: str(len(request.messages)))
    answers = [await provider.complete(request_for(*"x" * count)) for count in (1, 2, 3)]
    assert [answer.content for answer in answers] == [[TextBlock(text=str(count))] for count in (1, 2, 3)]


async def test_a_function_that_gives_no_answer_is_blamed() -> None:
    """The message names the call and what came instead."""
    with pytest.raises(ScriptFormatError) as caught:
        await MockProvider(lambda request: None).complete(request_for())
    assert str(caught.value) == (
        "What a function of the script gives for call 1: must be a text or a mapping, got NoneType; "
        "texts may need quotes"
    )


@pytest.mark.parametrize(("at_end", "third"), [("repeat", "a"), ("last", "b")])
async def test_a_script_may_go_on_after_its_end(at_end: str, third: str) -> None:
    """It begins again, or stays with its last answer."""
    provider = MockProvider(["a", "b"], at_end=at_end)
    for _ in range(2):
        await provider.complete(request_for())
    assert (await provider.complete(request_for())).content == [TextBlock(text=third)]


async def test_a_script_ends_with_an_error_that_shows_the_conversation() -> None:
    """The message tells how many answers there are, what was asked for, and what to do."""
    provider = MockProvider(["a"])
    await provider.complete(request_for())
    with pytest.raises(ScriptError) as caught:
        await provider.complete(request_for("x" * 300))
    assert str(caught.value) == (
        f"The script has 1 answer; this is call 2. The last message is from 'user': '{'x' * 200}…'. "
        "Add an answer, or set at_end to 'repeat' or 'last'."
    )
    with pytest.raises(ScriptError, match="The script has 0 answers; this is call 1. The request has no messages."):
        await MockProvider([]).complete(ChatRequest(messages=[]))


async def test_a_request_that_is_as_expected_is_answered() -> None:
    """All expectations of an item hold together."""
    expected = {"last_role": "user", "contains": ["one", "two"], "tool_names": ["b", "a"], "message_count": 2}
    request = request_for("one", "and two")
    request.tools = [ToolSpec(name=name, parameters={}) for name in "ab"]
    assert (await answer_of({"text": "yes", "expect": expected}, request)).content == [TextBlock(text="yes")]


async def test_a_request_that_is_not_as_expected_is_an_assertion_that_fails() -> None:
    """The message tells every mismatch: what was expected, and what came."""
    expected = {"last_role": "tool", "contains": "seven", "tool_names": ["dice"], "message_count": 3}
    with pytest.raises(AssertionError) as caught:
        await answer_of({"text": "no", "expect": expected}, request_for("one"))
    assert isinstance(caught.value, ScriptError)
    assert str(caught.value) == (
        "Answer 1 of the script expected last_role 'tool', got 'user'; message_count 3, got 1; tool_names ['dice'], "
        "got []; a message that contains 'seven', got none. The last message is from 'user': 'one'."
    )


async def test_a_request_without_messages_has_no_last_role() -> None:
    """The message says so, and there is nothing to show."""
    with pytest.raises(ScriptError) as caught:
        await answer_of({"text": "no", "expect": {"last_role": "user"}}, ChatRequest(messages=[]))
    assert str(caught.value) == (
        "Answer 1 of the script expected last_role 'user', got no message. The request has no messages."
    )


# Everything but an opening brace, which may begin a template.
TEXTS = st.text(st.characters(exclude_characters="{"), max_size=12)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), TEXTS)
ARGUMENTS = st.dictionaries(TEXTS, VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(TEXTS, VALUES, max_size=2))
CALL = st.fixed_dictionaries({"name": TEXTS, "arguments": ARGUMENTS, "id": st.text(min_size=1, max_size=4)})
ITEM = st.fixed_dictionaries({"text": TEXTS}, optional={"tool_calls": st.lists(CALL, min_size=1, max_size=2)})


@pytest.mark.slow
@given(script=st.lists(ITEM, max_size=3), chunk_chars=st.integers(1, 5))
def test_any_script_comes_out_as_it_was_written(script: list[dict[str, Any]], chunk_chars: int) -> None:
    """Whatever the texts, names and arguments, the responses say what the script says, in order."""
    provider = MockProvider(script, chunk_chars=chunk_chars)

    async def play() -> list[ChatResponse]:
        return [await provider.complete(request_for()) for _ in script]

    responses = asyncio.run(play())
    told = [
        {
            "text": "".join(block.text for block in response.content if isinstance(block, TextBlock)),
            **({"tool_calls": [call.model_dump() for call in response.tool_calls]} if response.tool_calls else {}),
        }
        for response in responses
    ]
    assert told == script
    assert all(provider.parse_tool_calls(response) == (response.tool_calls or []) for response in responses)

"""Whatever a provider raises or answers, at any model call of a turn, in any loop: all events, the whole transcript."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.modules.turn_world import OPENS, Lines, Row, TurnWorld, closes, look, outcome, says, selects, streams

from amplifier_core.llm_errors import (
    AbortError,
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    NotFoundError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
    StreamError,
)
from amplifier_core.message_models import (
    ChatResponse,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
)
from amplifier_core.testing import ScriptedReply

BLUE = "assistant | It is blue."
ANSWERED = [*says(1, "It is blue.")[1:], *closes("success", "It is blue.", 1)]
LOOKED = [
    *says(1, "Let me look.", calls=1),
    *selects("call-1 look at=sky"),
    "tool:pre call-1 look at=sky",
    "tool:post call-1 look at=sky -> blue",
]
LOOKED_TRANSCRIPT = ["user | go", "assistant | Let me look. | call-1 look at=sky", "tool call-1 look | blue"]


def retries(error: str, count: int) -> Lines:
    """The lines of so many further attempts."""
    return [f"provider:retry {number + 1}/2 {error}" for number in range(count)]


def passes(error: LLMError) -> Row:
    """The turn when an error comes once and the next attempt succeeds."""
    told = [*OPENS, "provider:request 1", *retries(type(error).__name__, 1), *ANSWERED]
    return Row(told, ["user | go", BLUE], "answers It is blue.", [error, "It is blue."])


def stays(error: Exception, attempts: int = 1, loops: str = "BSE") -> Row:
    """The turn when an error comes again and again, of which so many are waited for."""
    name = type(error).__name__
    told = [
        *OPENS,
        "provider:request 1",
        *retries(name, attempts - 1),
        f"provider:error mock {name}: {error}",
        f"E| error:provider {name}: {error}",
        *closes("error", "", 1),
    ]
    return Row(told, ["user | go"], f"raises {name}: {error}", [error] * attempts, loops=loops)


def unreadable(count: int) -> list[Exception]:
    """Tool calls that cannot be read."""
    return [InvalidToolCallError("no JSON") for _ in range(count)]


UNREADABLE = "provider:retry {}/2 InvalidToolCallError"

# By what the provider raises, at the first model call of a turn.
ERRORS: dict[str, Row] = {
    **{
        f"{type(error).__name__} once": passes(error)
        for error in (
            RateLimitError("slow"),
            ProviderUnavailableError("down"),
            NetworkError("no route"),
            LLMTimeoutError("late"),
            StreamError("cut"),
            LLMError("odd", retryable=True),
        )
    },
    **{
        f"{type(error).__name__} for ever": stays(error, attempts=3)
        for error in (RateLimitError("slow"), ProviderUnavailableError("down"), NetworkError("no route"))
    },
    **{
        type(error).__name__: stays(error)
        for error in (
            AbortError("given up"),
            AccessDeniedError("not yours"),
            AuthenticationError("no key"),
            ConfigurationError("no model"),
            ContentFilterError("unsafe"),
            InvalidRequestError("what?"),
            LLMError("odd"),
            NotFoundError("no such model"),
            QuotaExceededError("no money"),
        )
    },
    **{
        type(error).__name__: stays(error)
        for error in (RuntimeError("bug"), KeyError("content"), TimeoutError("not typed"))
    },
    "ContextLengthError once": Row(
        [*OPENS, "provider:request 1", "provider:retry 1/1 ContextLengthError", "provider:request 1", *ANSWERED],
        ["user | go", BLUE],
        "answers It is blue.",
        [ContextLengthError("too long"), "It is blue."],
    ),
    "ContextLengthError twice": Row(
        [
            *OPENS,
            "provider:request 1",
            "provider:retry 1/1 ContextLengthError",
            "provider:request 1",
            "provider:error mock ContextLengthError: too long",
            "E| error:provider ContextLengthError: too long",
            *closes("error", "", 1),
        ],
        ["user | go"],
        "raises ContextLengthError: too long",
        [ContextLengthError("too long")] * 2,
    ),
    "unreadable call once": Row(
        [*OPENS, "provider:request 1", UNREADABLE.format(1), "provider:request 1", *ANSWERED],
        ["user | go", BLUE],
        "answers It is blue.",
        [*unreadable(1), "It is blue."],
    ),
    "unreadable call twice": Row(
        [
            *OPENS,
            "provider:request 1",
            UNREADABLE.format(1),
            "provider:request 1",
            UNREADABLE.format(2),
            "provider:request 1",
            *ANSWERED,
        ],
        ["user | go", BLUE],
        "answers It is blue.",
        [*unreadable(2), "It is blue."],
    ),
    "unreadable call for ever": Row(
        [
            *OPENS,
            "provider:request 1",
            UNREADABLE.format(1),
            "provider:request 1",
            UNREADABLE.format(2),
            "provider:request 1",
            "provider:error mock InvalidToolCallError: no JSON",
            "E| error:provider InvalidToolCallError: no JSON",
            *closes("error", "", 1),
        ],
        ["user | go"],
        "raises InvalidToolCallError: no JSON",
        unreadable(3),
    ),
    "stream that breaks off once": Row(
        [
            *OPENS,
            "provider:request 1",
            *streams("It")[:-2],
            "S| llm:stream_aborted StreamError: cut",
            *retries("StreamError", 1),
            *ANSWERED,
        ],
        ["user | go", BLUE],
        "answers It is blue.",
        [ScriptedReply("It", error=StreamError("cut")), "It is blue."],
    ),
    "stream that breaks off for good": Row(
        [
            *OPENS,
            "provider:request 1",
            *streams("It")[:-2],
            "S| llm:stream_aborted AuthenticationError: no key",
            "provider:error mock AuthenticationError: no key",
            "E| error:provider AuthenticationError: no key",
            *closes("error", "", 1),
        ],
        ["user | go"],
        "raises AuthenticationError: no key",
        [ScriptedReply("It", error=AuthenticationError("no key"))],
    ),
    "its own cancellation": Row(
        [
            *OPENS,
            "provider:request 1",
            "provider:error mock AbortError: Provider 'mock' cancelled its own call",
            "E| error:provider AbortError: Provider 'mock' cancelled its own call",
            *closes("error", "", 1),
        ],
        ["user | go"],
        "raises AbortError: Provider 'mock' cancelled its own call",
        [asyncio.CancelledError()],
    ),
}


def after_a_tool_call(row: Row) -> Row:
    """The same fault at the second model call of a turn, behind one with a tool call."""
    second = {"provider:request 1": "provider:request 2", "provider:response 1": "provider:response 2"}
    rest = [second.get(line, line).replace(" after 1", " after 2") for line in row.events[len(OPENS) :]]
    return replace(
        row,
        events=[*OPENS, *LOOKED, *rest],
        transcript=[*LOOKED_TRANSCRIPT, *row.transcript[1:]],
        script=[look("sky"), *row.script],
    )


@pytest.mark.parametrize("is_second", [False, True], ids=["first call", "second call"])
@pytest.mark.parametrize("error", ERRORS)
async def test_an_error_of_the_provider_is_waited_for_or_comes_out_unchanged(error: str, is_second: bool) -> None:
    """Errors that may pass are tried again; all others are told and raised, and what was stored before stays."""
    row = after_a_tool_call(ERRORS[error]) if is_second else ERRORS[error]
    assert await row.outcomes() == row.expected()


@pytest.mark.parametrize(
    "error", [RateLimitError("slow"), AuthenticationError("no key"), RuntimeError("bug")], ids=repr
)
@pytest.mark.parametrize("loop", ["basic", "streaming", "events"])
async def test_the_error_that_comes_out_is_the_very_one_of_the_provider(loop: str, error: Exception) -> None:
    """Nobody wraps or copies what a provider raises."""
    ending = await TurnWorld(loop, [error] * 3).run()
    assert ending.error is error


@pytest.mark.parametrize(
    ("first", "spare", "told", "ends"),
    [
        pytest.param(
            [QuotaExceededError("no money")],
            ["It is blue."],
            [
                "provider:error mock QuotaExceededError: no money",
                "E| error:provider QuotaExceededError: no money",
                "provider:resolve spare",
                "provider:request 1",
                *ANSWERED,
            ],
            "answers It is blue.",
            id="quota",
        ),
        pytest.param(
            [NetworkError("no route")] * 3,
            ["It is blue."],
            [
                *retries("NetworkError", 2),
                "provider:error mock NetworkError: no route",
                "E| error:provider NetworkError: no route",
                "provider:resolve spare",
                "provider:request 1",
                *ANSWERED,
            ],
            "answers It is blue.",
            id="network",
        ),
        pytest.param(
            [QuotaExceededError("no money")],
            [QuotaExceededError("none here either")],
            [
                "provider:error mock QuotaExceededError: no money",
                "E| error:provider QuotaExceededError: no money",
                "provider:resolve spare",
                "provider:request 1",
                "provider:error spare QuotaExceededError: none here either",
                "E| error:provider QuotaExceededError: none here either",
                *closes("error", "", 1),
            ],
            "raises QuotaExceededError: none here either",
            id="both",
        ),
        pytest.param(
            [AuthenticationError("no key")],
            ["It is blue."],
            [
                "provider:error mock AuthenticationError: no key",
                "E| error:provider AuthenticationError: no key",
                *closes("error", "", 1),
            ],
            "raises AuthenticationError: no key",
            id="not passing",
        ),
    ],
)
async def test_the_next_provider_is_asked_where_the_plan_allows_it(
    first: list[Any], spare: list[Any], told: Lines, ends: str
) -> None:
    """With ``provider_fallback`` an error that may pass elsewhere makes the next provider answer, and both are told."""

    def arrange(world: TurnWorld) -> None:
        world.providers["spare"] = world.new_provider(spare, "spare")

    transcript = ["user | go", BLUE] if ends.startswith("answers") else ["user | go"]
    settings = {"provider_fallback": True}
    row = Row([*OPENS, "provider:request 1", *told], transcript, ends, first, arrange, settings)
    assert await row.outcomes() == row.expected()


def heard(*kinds: str, is_calling: bool = False) -> Lines:
    """The lines of a finished answer, which is not streamed, up to its blocks."""
    blocks = [f"content_block:{part} {index} {kind}" for index, kind in enumerate(kinds) for part in ("start", "end")]
    return [*OPENS, "provider:request 1", f"provider:response 1{' calls' if is_calling else ''}", *blocks]


def gives(content: list[Any], *, finish_reason: str | None = "stop") -> ChatResponse:
    """An answer of a model as its provider hands it over."""
    return ChatResponse(content=content, finish_reason=finish_reason)


NO_TEXT = "The model gave an empty answer (finish reason: {})."
REFUSED = "The model refused to answer (finish reason: {})."

# By what the provider answers instead of a text.
ANSWERS: dict[str, Row] = {
    **{
        told: Row(
            [
                *OPENS,
                "provider:request 1",
                f"provider:error mock {error}",
                f"E| error:provider {error}",
                *closes("error", "", 1),
            ],
            ["user | go"],
            f"raises {error}",
            (),
            lambda world, given=given: setattr(world.provider.complete, "side_effect", [given]),
        )
        for told, given, error in (
            ("nothing", None, "TypeError: Provider 'mock' answered with NoneType, expected a ChatResponse"),
            ("a bare text", "It is blue.", "TypeError: Provider 'mock' answered with str, expected a ChatResponse"),
        )
    },
    "no blocks": Row(
        [*heard(), *closes("empty", NO_TEXT.format("stop"), 1)],
        ["user | go"],
        f"answers {NO_TEXT.format('stop')}",
        [gives([])],
    ),
    "no blocks and no reason": Row(
        [*heard(), *closes("empty", NO_TEXT.format("none given"), 1)],
        ["user | go"],
        f"answers {NO_TEXT.format('none given')}",
        [gives([], finish_reason=None)],
    ),
    "an empty text": Row(
        [*heard("text"), *closes("empty", NO_TEXT.format("stop"), 1)],
        ["user | go"],
        f"answers {NO_TEXT.format('stop')}",
        [gives([TextBlock(text="")])],
    ),
    "blanks": Row(
        [*heard("text"), *closes("empty", NO_TEXT.format("length"), 1)],
        ["user | go", "assistant |  \n"],
        f"answers {NO_TEXT.format('length')}",
        [gives([TextBlock(text=" \n")], finish_reason="length")],
    ),
    "thinking only": Row(
        [
            *heard("thinking"),
            "thinking:final Hm.",
            *closes("empty", NO_TEXT.format("stop"), 1),
        ],
        ["user | go", "assistant | <thinking> Hm."],
        f"answers {NO_TEXT.format('stop')}",
        [gives([ThinkingBlock(thinking="Hm.")])],
    ),
    "several texts": Row(
        [
            *heard("text", "redacted_thinking", "text"),
            *closes("success", "It is\n\nblue.", 1),
        ],
        ["user | go", "assistant | It is + <redacted_thinking>  + blue."],
        "answers It is\n\nblue.",
        [gives([TextBlock(text="It is"), RedactedThinkingBlock(data="x"), TextBlock(text="blue.")])],
    ),
    "a refusal without a word": Row(
        [*heard(), *closes("refused", REFUSED.format("refusal"), 1)],
        ["user | go"],
        f"answers {REFUSED.format('refusal')}",
        [gives([], finish_reason="refusal")],
    ),
    "a refusal": Row(
        [*heard("text"), *closes("refused", "I will not.", 1)],
        ["user | go", "assistant | I will not."],
        "answers I will not.",
        [gives([TextBlock(text="I will not.")], finish_reason="content_filter")],
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_says_nothing_is_surfaced(answer: str) -> None:
    """An empty answer, a refusal, and what is no answer at all end the turn with a text or an error that says so."""
    row = ANSWERS[answer]
    assert await row.outcomes() == row.expected()


def calling(*calls: ToolCall, blocks: bool = True) -> ChatResponse:
    """An answer that makes ``calls``."""
    content = [ToolCallBlock(id=call.id, name=call.name, input=call.arguments) for call in calls] if blocks else []
    return ChatResponse(content=[*content], tool_calls=list(calls))


def odd_call(**fields: Any) -> ToolCall:
    """A tool call as careless providers make them."""
    return ToolCall.model_construct(None, **{"id": "call-1", "name": "look", "arguments": {}, **fields})


MISFIT = (
    "The arguments of tool 'look' do not fit: {}. They must fit this schema: "
    '{{"type": "object", "properties": {{"at": {{"type": "string"}}}}, "required": ["at"]}}'
)
NOT_JSON = (
    "The arguments of tool 'look' are not valid JSON: Expecting ',' delimiter: line 1 column 12 (char 11). "
    "Call it again with one JSON object."
)
NO_OBJECT = "The arguments of tool 'look' must be one JSON object with the parameters by name, got {}."
NO_TOOL = "There is no tool '{}'. Available tools: look."

# By what is wrong with the call: the call, its name and id afterwards, what the model is told.
BAD_CALLS: dict[str, tuple[ToolCall, str, str]] = {
    "unknown tool": (odd_call(name="smell"), "call-1 smell", NO_TOOL.format("smell")),
    "no name": (odd_call(name=""), "call-1 ", NO_TOOL.format("")),
    "no arguments": (odd_call(), "call-1 look", MISFIT.format('"at" is a required property')),
    "arguments None": (odd_call(arguments=None), "call-1 look", MISFIT.format('"at" is a required property')),
    "arguments of the wrong type": (
        odd_call(arguments={"at": 5}),
        "call-1 look",
        MISFIT.format('at: 5 is not of type "string"'),
    ),
    "broken JSON": (odd_call(arguments='{"at": "s" "t"}'), "call-1 look", NOT_JSON),
    "an array": (odd_call(arguments=["sky"]), "call-1 look", NO_OBJECT.format("an array")),
    "a JSON number": (odd_call(arguments="5"), "call-1 look", NO_OBJECT.format("a number")),
}


@pytest.mark.parametrize("case", BAD_CALLS)
async def test_a_call_that_cannot_be_carried_out_has_a_result_that_tells_why(case: str) -> None:
    """The model is told what is wrong and what would be right; nothing runs, and the turn goes on."""
    call, name, told = BAD_CALLS[case]
    given = call.arguments if isinstance(call.arguments, dict) else {}
    pairs = " ".join(f"{key}={value}" for key, value in given.items())
    row = Row(
        [
            *heard("tool_call", is_calling=True),
            *selects(f"{name} {shown(call.arguments)}"),
            f"tool:error {name} CallError: {told}",
            f"E| error:tool {name} CallError: {told}",
            *says(2, "It is blue."),
            *closes("success", "It is blue.", 2),
        ],
        ["user | go", f"assistant | {name} {pairs}", f"tool {name} (error) | {told}", BLUE],
        "answers It is blue.",
        [
            ChatResponse(content=[ToolCallBlock(id=call.id, name=call.name, input=given)], tool_calls=[call]),
            "It is blue.",
        ],
    )
    assert await row.outcomes() == row.expected()


def shown(arguments: Any) -> str:
    """Arguments as schedulers see them."""
    if isinstance(arguments, dict):
        return " ".join(f"{key}={value}" for key, value in arguments.items())
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


# By what is odd about calls that can be carried out all the same: the answer, the calls as they are run and stored.
ODD_CALLS: dict[str, tuple[ChatResponse, list[str]]] = {
    "JSON text as arguments": (
        ChatResponse(content=[], tool_calls=[odd_call(arguments='{"at": "sky"}')]),
        ["call-1"],
    ),
    "no id": (calling(odd_call(id="", arguments={"at": "sky"})), ["call_id-2"]),
    "equal ids": (
        calling(odd_call(arguments={"at": "sky"}), odd_call(arguments={"at": "sky"})),
        ["call-1", "call_id-2"],
    ),
    "calls outside the content": (calling(odd_call(arguments={"at": "sky"}), blocks=False), ["call-1"]),
}


@pytest.mark.parametrize("case", ODD_CALLS)
async def test_an_odd_call_is_run_under_an_id_of_its_own(case: str) -> None:
    """Calls whose ids are missing or equal, or that stand outside the content, are run, stored and answered each."""
    response, ids = ODD_CALLS[case]
    for loop in ("basic", "streaming", "events"):
        world = TurnWorld(loop, [response, "It is blue."])
        _, transcript, ends = await outcome(world)
        assert ends == "answers It is blue."
        assert transcript[2:] == [*(f"tool {call_id} look | blue" for call_id in ids), BLUE]
        assert [call.argument(0, "input") for call in world.look.execute.call_args_list] == [{"at": "sky"}] * len(ids)


LIMIT = (
    "user (loop, once) | <system-reminder>\n{} No more tools can be used in this turn: answer now with what you know.\n"
    "</system-reminder>"
)
SPENT = "The limit of model calls for this turn is reached."
CIRCLES = "The same tool call was repeated again and again without effect."
ROUND = [
    *selects("CALL look at=sky"),
    "tool:pre CALL look at=sky",
    "tool:post CALL look at=sky -> blue",
]
ROUNDS = [
    *says(1, "Let me look.", calls=1),
    *(line.replace("CALL", "call-1") for line in ROUND),
    *says(2, "Let me look.", calls=1),
    *(line.replace("CALL", "call-2") for line in ROUND),
]
ROUNDS_TRANSCRIPT = [
    *LOOKED_TRANSCRIPT,
    "assistant | Let me look. | call-2 look at=sky",
    "tool call-2 look | blue",
]

# By what stops a turn that would go on: settings, why, what the model says in the end, and how that ends the turn.
LIMITS: dict[str, tuple[dict[str, Any], str, Any, Lines, Lines, str]] = {
    "limit of calls": (
        {"max_iterations": 2},
        SPENT,
        "Blue so far.",
        [*says(3, "Blue so far."), *closes("max_iterations", "Blue so far.", 3)],
        ["assistant | Blue so far."],
        "answers Blue so far.",
    ),
    "limit of calls, and it calls again": (
        {"max_iterations": 2},
        SPENT,
        look("sky"),
        [*says(3, "Let me look.", calls=1), *closes("max_iterations", "Let me look.", 3)],
        ["assistant | Let me look."],
        "answers Let me look.",
    ),
    "limit of calls, and it fails": (
        {"max_iterations": 2},
        SPENT,
        AuthenticationError("no key"),
        [
            "provider:request 3",
            "provider:error mock AuthenticationError: no key",
            "E| error:provider AuthenticationError: no key",
            *closes("error", "", 3),
        ],
        [],
        "raises AuthenticationError: no key",
    ),
    "going in circles": (
        {"repeat_stop_after": 2},
        CIRCLES,
        "Blue so far.",
        [*says(3, "Blue so far."), *closes("repeated_calls", "Blue so far.", 3)],
        ["assistant | Blue so far."],
        "answers Blue so far.",
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_turn_that_would_go_on_is_wrapped_up_without_tools(limit: str) -> None:
    """At a limit the model is told so and asked once more, without tools; whatever it does then ends the turn."""
    settings, why, last, told, transcript, ends = LIMITS[limit]
    row = Row(
        [*OPENS, *ROUNDS, *told],
        [*ROUNDS_TRANSCRIPT, *transcript],
        ends,
        [look("sky"), look("sky"), last],
        settings=settings,
    )
    for loop in row.names:
        world = row.world(loop)
        assert await outcome(world) == row.expected()[loop]
        assert world.requests[2] == [*ROUNDS_TRANSCRIPT, LIMIT.format(why)]
        assert [bool(request.tools) for request in world.provider.requests] == [True, True, False]

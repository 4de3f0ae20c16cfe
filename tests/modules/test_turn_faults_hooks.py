"""Whatever a hook does at any event of a turn, in any loop: the complete list of events and the complete transcript.

A row of ``PLACES`` is an event, a row of ``REFUSALS``, ``CONSENTS`` and so on what a hook does there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.modules.turn_world import (
    OPENS,
    Lines,
    Row,
    TurnWorld,
    closes,
    look,
    outcome,
    says,
    selects,
    streams,
    told_message,
)

from amplifier_core import events
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.llm_errors import AuthenticationError, ContextLengthError, QuotaExceededError, RateLimitError
from amplifier_core.message_models import ChatResponse, TextBlock
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.testing import ScriptedReply
from amplifier_modkit import events as module_events
from amplifier_modkit.messages import plain
from amplifier_modkit.turns.tool_step import STOPPED as CUT

CALLS = "assistant | Let me look. | call-1 look at=sky"
SKY = "tool call-1 look | blue"
BLUE = "assistant | It is blue."
LOOK = "tool call-1 look"
CALLED = ["tool:pre call-1 look at=sky", "tool:post call-1 look at=sky -> blue"]


def _break_tool(world: TurnWorld) -> None:
    world.look.execute.side_effect = OSError("clouds")


ASKS = [*OPENS, *says(1, "Let me look.", calls=1), *selects("call-1 look at=sky")]
ANSWERS = [*says(2, "It is blue."), *closes("success", "It is blue.", 2)]
SCRIPT = (look("sky"), "It is blue.")

PLAIN = Row(
    [*ASKS, "tool:pre call-1 look at=sky", "tool:post call-1 look at=sky -> blue", *ANSWERS],
    ["user | go", CALLS, SKY, BLUE],
    "answers It is blue.",
    SCRIPT,
)
TOOL_FAILS = Row(
    [
        *ASKS,
        "tool:pre call-1 look at=sky",
        "tool:error call-1 look OSError: clouds",
        "E| error:tool call-1 look OSError: OSError: clouds",
        *ANSWERS,
    ],
    ["user | go", CALLS, "tool call-1 look (error) | OSError: clouds", BLUE],
    "answers It is blue.",
    SCRIPT,
    arrange=_break_tool,
)
MODEL_RETRIES = Row(
    [
        *OPENS,
        "provider:request 1",
        "provider:retry 1/2 RateLimitError",
        *says(1, "It is blue.")[1:],
        *closes("success", "It is blue.", 1),
    ],
    ["user | go", BLUE],
    "answers It is blue.",
    script=(RateLimitError("slow down"), "It is blue."),
)
MODEL_FAILS = Row(
    [
        *OPENS,
        "provider:request 1",
        "provider:error mock AuthenticationError: no key",
        "E| error:provider AuthenticationError: no key",
        *closes("error", "", 1),
    ],
    ["user | go"],
    "raises AuthenticationError: no key",
    script=(AuthenticationError("no key"),),
)
THOUGHT = "assistant | <thinking> Hm. + It is blue."
THINKS = Row(
    [
        *OPENS,
        "provider:request 1",
        "S| llm:stream_block_start 0 thinking",
        "S| content_block:start 0 thinking",
        "S| llm:stream_block_delta 0 thinking Hm.",
        "S| content_block:delta 0 thinking Hm.",
        "S| thinking:delta Hm.",
        "S| llm:stream_block_end 0 thinking",
        "S| content_block:end 0 thinking",
        "S| thinking:final Hm.",
        *(line.replace(" 0 text", " 1 text") for line in streams("It is blue.")),
        "provider:response 1",
        "BE| content_block:start 0 thinking",
        "BE| content_block:end 0 thinking",
        "BE| thinking:final Hm.",
        "BE| content_block:start 1 text",
        "BE| content_block:end 1 text",
        *closes("success", "It is blue.", 1),
    ],
    ["user | go", THOUGHT],
    "answers It is blue.",
    script=(ScriptedReply("It is blue.", thinking="Hm."),),
)
STOPPED = Row(
    [*OPENS[:2], "cancel:requested graceful", *closes("cancelled", "Stopped before there was an answer.", 0)],
    ["user | go"],
    "answers Stopped before there was an answer.",
    arrange=lambda world: world.token.request_cancellation(),
)


@dataclass(frozen=True)
class Place:
    """An event, and what becomes of the turn when a hook does something there."""

    event: str
    noted: Lines
    """The transcript when a hook stores ``note`` there."""
    shown_in: int | None
    """Number of the request that ends with ``note`` when a hook gives it for once; ``None``: none is left."""
    turn: Row = PLAIN
    loops: str = "BSE"
    denied: Lines = field(default_factory=list)
    """The events when a hook refuses; empty where an event only tells, so that the turn goes on."""
    denied_transcript: Lines = field(default_factory=list)
    denied_ends: str = "answers Denied: WHY"

    def __str__(self) -> str:
        return self.event


def note_at(event: str) -> str:
    """A stored note in the transcript."""
    return f"system (hook at {event}) | note"


DENIED_CALL = ["user | go", CALLS, "tool call-1 look (error) | Denied: WHY", BLUE]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Keeps the hundreds of tracebacks of failing hooks out of the log, which are most of the cost of these tests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


PLACES = [
    Place(
        events.PROMPT_SUBMIT,
        [note_at("prompt:submit"), *PLAIN.transcript],
        shown_in=1,
        denied=[*OPENS[:2], *closes("denied", "Denied: WHY", 0)],
    ),
    Place(
        events.EXECUTION_START,
        [note_at("execution:start"), *PLAIN.transcript],
        shown_in=1,
        denied=[*OPENS[:2], *closes("denied", "Denied: WHY", 0)],
    ),
    Place(
        events.PROVIDER_RESOLVE,
        ["user | go", note_at("provider:resolve"), CALLS, SKY, BLUE],
        shown_in=1,
        denied=[*OPENS, *closes("denied", "Denied: WHY", 0)],
        denied_transcript=["user | go"],
    ),
    Place(
        events.PROVIDER_REQUEST,
        ["user | go", note_at("provider:request"), CALLS, SKY, BLUE],
        shown_in=1,
        denied=[*OPENS, "provider:request 1", *closes("denied", "Denied: WHY", 0)],
        denied_transcript=["user | go"],
    ),
    Place(
        events.PROVIDER_RESPONSE,
        ["user | go", note_at("provider:response"), CALLS, SKY, BLUE],
        shown_in=2,
        denied=[
            *OPENS,
            "provider:request 1",
            *streams("Let me look."),
            "provider:response 1 calls",
            *closes("denied", "Denied: WHY", 1),
        ],
        denied_transcript=["user | go"],
    ),
    Place(
        events.CONTENT_BLOCK_START,
        ["user | go", note_at("content_block:start"), CALLS, SKY, BLUE],
        shown_in=2,
    ),
    Place(
        events.CONTENT_BLOCK_END,
        ["user | go", note_at("content_block:end"), CALLS, SKY, BLUE],
        shown_in=2,
    ),
    Place(
        events.CONTENT_BLOCK_DELTA,
        ["user | go", note_at("content_block:delta"), CALLS, SKY, BLUE],
        shown_in=2,
        loops="S",
    ),
    Place(
        events.THINKING_DELTA,
        ["user | go", note_at("thinking:delta"), THOUGHT],
        shown_in=None,
        turn=THINKS,
        loops="S",
    ),
    Place(events.THINKING_FINAL, ["user | go", note_at("thinking:final"), THOUGHT], shown_in=None, turn=THINKS),
    Place(
        module_events.TOOL_SELECTING,
        ["user | go", CALLS, SKY, note_at("tool:selecting"), BLUE],
        shown_in=2,
        loops="E",
        denied=[*ASKS[:-1], *ANSWERS],
        denied_transcript=DENIED_CALL,
        denied_ends="answers It is blue.",
    ),
    Place(
        module_events.TOOL_SELECTED,
        ["user | go", CALLS, SKY, note_at("tool:selected"), BLUE],
        shown_in=2,
        loops="E",
        denied=[*ASKS, *ANSWERS],
        denied_transcript=DENIED_CALL,
        denied_ends="answers It is blue.",
    ),
    Place(
        events.TOOL_PRE,
        ["user | go", CALLS, SKY, note_at("tool:pre"), BLUE],
        shown_in=2,
        denied=[
            *ASKS,
            "tool:pre call-1 look at=sky",
            "E| error:tool call-1 look denied: Denied: WHY",
            *ANSWERS,
        ],
        denied_transcript=DENIED_CALL,
        denied_ends="answers It is blue.",
    ),
    Place(
        events.TOOL_POST,
        ["user | go", CALLS, SKY, note_at("tool:post"), BLUE],
        shown_in=2,
        denied=[
            *ASKS,
            "tool:pre call-1 look at=sky",
            "tool:post call-1 look at=sky -> blue",
            "E| error:tool call-1 look denied: Denied: WHY",
            *ANSWERS,
        ],
        denied_transcript=DENIED_CALL,
        denied_ends="answers It is blue.",
    ),
    Place(
        events.TOOL_ERROR,
        ["user | go", CALLS, TOOL_FAILS.transcript[2], note_at("tool:error"), BLUE],
        shown_in=2,
        turn=TOOL_FAILS,
        denied=[
            *ASKS,
            "tool:pre call-1 look at=sky",
            "tool:error call-1 look OSError: clouds",
            "E| error:tool call-1 look denied: Denied: WHY",
            *ANSWERS,
        ],
        denied_transcript=DENIED_CALL,
        denied_ends="answers It is blue.",
    ),
    Place(
        module_events.ERROR_TOOL,
        ["user | go", CALLS, TOOL_FAILS.transcript[2], note_at("error:tool"), BLUE],
        shown_in=2,
        turn=TOOL_FAILS,
        loops="E",
    ),
    Place(events.PROVIDER_RETRY, ["user | go", note_at("provider:retry"), BLUE], shown_in=None, turn=MODEL_RETRIES),
    Place(events.PROVIDER_ERROR, ["user | go", note_at("provider:error")], shown_in=None, turn=MODEL_FAILS),
    Place(
        module_events.ERROR_PROVIDER,
        ["user | go", note_at("error:provider")],
        shown_in=None,
        turn=MODEL_FAILS,
        loops="E",
    ),
    Place(events.CANCEL_REQUESTED, ["user | go", note_at("cancel:requested")], shown_in=None, turn=STOPPED),
    Place(events.EXECUTION_END, [*PLAIN.transcript, note_at("execution:end")], shown_in=None),
    Place(events.PROMPT_COMPLETE, [*PLAIN.transcript, note_at("prompt:complete")], shown_in=None),
    Place(events.ORCHESTRATOR_COMPLETE, [*PLAIN.transcript, note_at("orchestrator:complete")], shown_in=None),
]

EVERYWHERE = pytest.mark.parametrize("place", PLACES, ids=str)


def disturbed(place: Place, act: Callable[[TurnWorld], Any], **options: Any) -> Row:
    """The turn of a place, in which a hook does ``act(world)`` there."""

    def arrange(world: TurnWorld) -> None:
        place.turn.arrange(world)
        world.on(place.event, lambda data: act(world), **options)

    return replace(place.turn, arrange=arrange, loops=place.loops)


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(TOOL_FAILS, id="tool fails"),
        pytest.param(MODEL_RETRIES, id="model retries"),
        pytest.param(MODEL_FAILS, id="model fails"),
        pytest.param(THINKS, id="thinks"),
        pytest.param(STOPPED, id="stopped"),
    ],
)
async def test_a_turn_without_hooks_goes_as_the_tables_say(turn: Row) -> None:
    """The turns that the tables below disturb have these events and this transcript when nobody disturbs them."""
    assert await turn.outcomes() == turn.expected()


def _raise(error: BaseException) -> Any:
    raise error


def _ask(answer: Any) -> Callable[[TurnWorld], Any]:
    """A hook that asks; ``answer`` is what people say or what asking them raises, ``None`` that nobody is there."""

    def arrange(world: TurnWorld) -> HookResult:
        if answer is None:
            world.coordinator.approval_system = None
        elif isinstance(answer, BaseException):
            world.people.request_approval.side_effect = answer
        else:
            world.people.answer = answer
        return HookResult(action="ask_user", approval_prompt="Really?")

    return arrange


async def _never() -> None:
    await asyncio.Event().wait()


GUARD = {"on_error": "deny"}

# What the hook does, how it is registered, and the reason that the loop tells.
REFUSALS: dict[str, tuple[Callable[[TurnWorld], Any], dict[str, Any], str]] = {
    "denies": (lambda world: HookResult(action="deny", reason="not now"), {}, "not now"),
    "guard raises": (lambda world: _raise(ValueError("bad")), GUARD, "Guard 'hook' failed on 'EVENT': ValueError: bad"),
    "guard is late": (
        lambda world: _never(),
        {**GUARD, "timeout": 0.0001},
        "Guard 'hook' failed on 'EVENT': no answer within 0.0001 s",
    ),
    "answers rubbish": (lambda world: 42, {}, "Hook handler returned invalid response"),
    "asks and is refused": (_ask("Deny"), {}, "User denied: Really?"),
    "asks nobody": (_ask(None), {}, "No approval system available"),
    "asks in vain": (_ask(ApprovalTimeoutError()), {}, "Approval timeout - denied by default: Really?"),
    "asking crashes": (_ask(OSError("no tty")), {}, "the question could not be asked: OSError: no tty"),
    "asking is cancelled": (
        _ask(asyncio.CancelledError()),
        {},
        "the question could not be asked: CancelledError: ",
    ),
    "asking gives rubbish": (
        _ask(7),
        {},
        "the question could not be asked: TypeError: An approval system must answer with one of the options as text, "
        "got int",
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS)
@EVERYWHERE
async def test_a_refusal_leaves_out_the_step_or_nothing(place: Place, refusal: str) -> None:
    """A refusal ends the turn or becomes the result of the call, with its reason; an event that only tells goes on."""
    act, options, why = REFUSALS[refusal]
    row = disturbed(place, act, **options)
    if place.denied:
        row = replace(row, events=place.denied, transcript=place.denied_transcript, ends=place.denied_ends)
    why = why.replace("EVENT", place.event)
    row = replace(
        row,
        events=[line.replace("WHY", why) for line in row.events],
        transcript=[line.replace("WHY", why) for line in row.transcript],
        ends=row.ends.replace("WHY", why),
    )
    assert await row.outcomes() == row.expected()


CONSENTS: dict[str, Callable[[TurnWorld], Any]] = {
    "says nothing": lambda world: None,
    "raises": lambda world: _raise(ValueError("bad")),
    "cancels itself": lambda world: _raise(asyncio.CancelledError()),
    "modifies what nobody reads": lambda world: HookResult(action="modify", data={"colour": "red"}),
    "asks and is allowed": _ask("Allow"),
}


@pytest.mark.parametrize("consent", CONSENTS)
@EVERYWHERE
async def test_what_is_no_refusal_changes_nothing(place: Place, consent: str) -> None:
    """A hook that fails, is allowed, or says something else to other people leaves the turn as it is."""
    row = disturbed(place, CONSENTS[consent])
    assert await row.outcomes() == row.expected()


def _injection(**how: Any) -> HookResult:
    return HookResult(action="inject_context", context_injection="note", **how)


@EVERYWHERE
async def test_a_stored_injection_parts_no_call_from_its_result(place: Place) -> None:
    """What a hook puts into the conversation is stored at once, but never between a call and its result."""
    row = replace(disturbed(place, lambda world: _injection()), transcript=place.noted)
    assert await row.outcomes() == row.expected()


@EVERYWHERE
async def test_a_message_to_the_user_is_shown(place: Place) -> None:
    """What a hook tells the user is shown once, and the turn goes on as it is."""
    row = disturbed(place, lambda world: HookResult(user_message="look here"))
    for loop in row.names:
        world = row.world(loop)
        assert await outcome(world) == row.expected()[loop]
        assert world.coordinator.display_system.messages == [("look here", "info", "hook:unknown")]


@pytest.mark.parametrize("is_appended", [False, True], ids=["behind", "appended"])
@EVERYWHERE
async def test_an_ephemeral_injection_is_in_one_request_only(place: Place, is_appended: bool) -> None:
    """It stands at the end of the next request, in the last tool result if it asks for that, and in no transcript."""
    row = disturbed(place, lambda world: _injection(ephemeral=True, append_to_last_tool_result=is_appended))
    for loop in row.names:
        undisturbed, world = place.turn.world(loop), row.world(loop)
        await undisturbed.run()
        assert await outcome(world) == row.expected()[loop]
        assert world.requests == _with_note(undisturbed.requests, place, is_appended)


def _with_note(requests: list[Lines], place: Place, is_appended: bool) -> list[Lines]:
    if place.shown_in is None:
        return requests
    request, origin = requests[place.shown_in - 1], f"hook at {place.event}, once"
    if is_appended and request[-1].startswith("tool"):
        request[-1] = _appended(request[-1], origin)
    else:
        request.append(f"system ({origin}) | note")
    return requests


def _appended(result: str, origin: str) -> str:
    head, _, text = result.partition(" | ")
    head = head.replace("(error)", f"(error, + {origin})") if "(error)" in head else f"{head} (+ {origin})"
    return f"{head} | {text}\n\nnote"


def ran(*tool_lines: str, result: str) -> tuple[Lines, Lines, str]:
    """A plain turn whose tool call goes otherwise from the schedulers on: its events, its transcript, its ending."""
    return (
        [*OPENS, *says(1, "Let me look.", calls=1), *tool_lines, *ANSWERS],
        ["user | go", CALLS, result, BLUE],
        PLAIN.ends,
    )


SELECTS = selects("call-1 look at=sky")
MISFIT = (
    "The arguments of tool 'look' do not fit: \"at\" is a required property. They must fit this schema: "
    '{"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}'
)

# What a hook modifies at which event, the loops that have it, and what becomes of the plain turn.
CHANGES: dict[str, tuple[str, dict[str, Any], str, tuple[Lines, Lines, str]]] = {
    "the prompt": (
        events.PROMPT_SUBMIT,
        {"prompt": "stay"},
        "BSE",
        (
            ["prompt:submit go", "execution:start stay", *PLAIN.events[2:]],
            ["user | stay", *PLAIN.transcript[1:]],
            PLAIN.ends,
        ),
    ),
    "the prompt, later": (
        events.EXECUTION_START,
        {"prompt": "stay"},
        "BSE",
        (PLAIN.events, ["user | stay", *PLAIN.transcript[1:]], PLAIN.ends),
    ),
    "the answer of the model": (
        events.PROVIDER_RESPONSE,
        {"response": ChatResponse(content=[TextBlock(text="No need.")])},
        "BSE",
        (
            [
                *OPENS,
                "provider:request 1",
                *streams("Let me look."),
                "provider:response 1 calls",
                "BE| content_block:start 0 text",
                "BE| content_block:end 0 text",
                *closes("success", "No need.", 1),
            ],
            ["user | go", "assistant | No need."],
            "answers No need.",
        ),
    ),
    "the tool of a call": (
        module_events.TOOL_SELECTING,
        {"tool_name": "peek"},
        "E",
        ran(
            "tool:selecting call-1 look at=sky",
            "tool:selected call-1 peek at=sky by scheduler",
            "tool:pre call-1 peek at=sky",
            "tool:post call-1 peek at=sky -> blue",
            result=SKY,
        ),
    ),
    "the tool of a call, by its older name": (
        module_events.TOOL_SELECTING,
        {"tool": "peek"},
        "E",
        ran(
            "tool:selecting call-1 look at=sky",
            "tool:selected call-1 peek at=sky by scheduler",
            "tool:pre call-1 peek at=sky",
            "tool:post call-1 peek at=sky -> blue",
            result=SKY,
        ),
    ),
    "the tool of a call, to one that does not exist": (
        module_events.TOOL_SELECTING,
        {"tool_name": "smell"},
        "E",
        ran(
            "tool:selecting call-1 look at=sky",
            "tool:selected call-1 smell at=sky by scheduler",
            "tool:error call-1 smell CallError: There is no tool 'smell'. Available tools: look, peek.",
            "error:tool call-1 smell CallError: There is no tool 'smell'. Available tools: look, peek.",
            result="tool call-1 look (error) | There is no tool 'smell'. Available tools: look, peek.",
        ),
    ),
    "the arguments that schedulers see": (
        module_events.TOOL_SELECTING,
        {"tool_input": {"at": "sea"}},
        "E",
        ran(
            "tool:selecting call-1 look at=sky",
            "tool:selected call-1 look at=sea by llm",
            "tool:pre call-1 look at=sea",
            "tool:post call-1 look at=sea -> blue",
            result=SKY,
        ),
    ),
    "the arguments": (
        events.TOOL_PRE,
        {"tool_input": {"at": "sea"}},
        "BSE",
        ran(*SELECTS, "tool:pre call-1 look at=sky", "tool:post call-1 look at=sea -> blue", result=SKY),
    ),
    "the arguments, to some that do not fit": (
        events.TOOL_PRE,
        {"tool_input": {"to": "sea"}},
        "BSE",
        ran(
            *SELECTS,
            "tool:pre call-1 look at=sky",
            f"tool:error call-1 look CallError: {MISFIT}",
            f"E| error:tool call-1 look CallError: {MISFIT}",
            result=f"tool call-1 look (error) | {MISFIT}",
        ),
    ),
    "the result, to a text": (
        events.TOOL_POST,
        {"result": "grey"},
        "BSE",
        ran(*SELECTS, *CALLED, result=f"{LOOK} | grey"),
    ),
    "the result, to data": (
        events.TOOL_POST,
        {"result": {"sky": "grey"}},
        "BSE",
        ran(*SELECTS, *CALLED, result=f'{LOOK} | {{"sky": "grey"}}'),
    ),
    "the result, to the fields of one": (
        events.TOOL_POST,
        {"result": {"success": False, "output": "grey"}},
        "BSE",
        ran(*SELECTS, *CALLED, "E| error:tool call-1 look ToolFailure: ", result="tool call-1 look (error) | grey"),
    ),
    "the result, to what is nearly one": (
        events.TOOL_POST,
        {"result": {"success": False, "error": "removed"}},
        "BSE",
        ran(
            *SELECTS,
            *CALLED,
            "E| error:tool call-1 look ToolFailure: removed",
            result="tool call-1 look (error) | removed",
        ),
    ),
    "the result, to another": (
        events.TOOL_POST,
        {"result": ToolResult(output=["grey"])},
        "BSE",
        ran(*SELECTS, *CALLED, result=f'{LOOK} | ["grey"]'),
    ),
    "the result, by its other name": (
        events.TOOL_POST,
        {"tool_result": ToolResult(output="grey")},
        "BSE",
        ran(*SELECTS, *CALLED, result=f"{LOOK} | grey"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_modification_is_what_the_turn_goes_on_with(change: str) -> None:
    """A ``modify`` of what a loop acts upon takes effect, and everything after it tells the modified data."""
    event, data, loops, expected = CHANGES[change]

    def arrange(world: TurnWorld) -> None:
        world.tools["peek"] = world.look
        world.on(event, lambda given: HookResult(action="modify", data={**given, **data}))

    row = Row(*expected, script=SCRIPT, arrange=arrange, loops=loops)
    assert await row.outcomes() == row.expected()


async def test_the_modified_request_is_what_the_model_gets() -> None:
    """Messages and model of a ``modify`` at ``provider:request`` are sent once, and the transcript stays as it is."""
    messages = [{"role": "user", "content": "stay"}]

    def arrange(world: TurnWorld) -> None:
        change = {"messages": messages, "model": "other"}
        world.on(events.PROVIDER_REQUEST, lambda data: HookResult(action="modify", data={**data, **change}))

    row = replace(PLAIN, arrange=arrange)
    for loop in row.names:
        world = row.world(loop)
        assert await outcome(world) == row.expected()[loop]
        assert world.requests == [["user | stay"], ["user | go", CALLS, SKY]]
        assert [request.model for request in world.provider.requests] == ["other", None]


async def test_an_ephemeral_injection_is_in_every_attempt_of_its_request() -> None:
    """What hooks said for the next request stays in it when it must be shorter, or goes to another provider."""
    script = [ContextLengthError("too long"), QuotaExceededError("no money")]
    for loop in PLAIN.names:
        world = TurnWorld(loop, script, provider_fallback=True)
        spare = world.providers["spare"] = world.new_provider(["It is blue."], "spare")
        world.on(events.PROMPT_SUBMIT, lambda data: _injection(ephemeral=True))
        assert str(await world.run()) == "answers It is blue."
        expected = ["user | go", "system (hook at prompt:submit, once) | note"]
        assert [*world.requests, [told_message(plain(each)) for each in spare.requests[0].messages]] == [expected] * 3
        assert (world.transcript, await world.flaws()) == (["user | go", BLUE], [])


class Interrupt(BaseException):
    """Like a ``KeyboardInterrupt``, which nobody but the caller may deal with."""


CUT_CALL = ["user | go", CALLS, f"{LOOK} (error) | {CUT}"]
# What is in the transcript when a handler of the event is interrupted.
INTERRUPTED: dict[str, Lines] = {
    events.PROMPT_SUBMIT: [],
    events.EXECUTION_START: [],
    events.PROVIDER_RESOLVE: ["user | go"],
    events.PROVIDER_REQUEST: ["user | go"],
    events.PROVIDER_RESPONSE: ["user | go"],
    events.CONTENT_BLOCK_START: ["user | go"],
    events.CONTENT_BLOCK_END: ["user | go"],
    events.CONTENT_BLOCK_DELTA: ["user | go"],
    events.THINKING_DELTA: ["user | go"],
    events.THINKING_FINAL: ["user | go"],
    module_events.TOOL_SELECTING: CUT_CALL,
    module_events.TOOL_SELECTED: CUT_CALL,
    events.TOOL_PRE: CUT_CALL,
    events.TOOL_POST: CUT_CALL,
    events.TOOL_ERROR: CUT_CALL,
    module_events.ERROR_TOOL: CUT_CALL,
    events.PROVIDER_RETRY: ["user | go"],
    events.PROVIDER_ERROR: ["user | go"],
    module_events.ERROR_PROVIDER: ["user | go"],
    events.CANCEL_REQUESTED: ["user | go"],
    events.EXECUTION_END: PLAIN.transcript,
    events.PROMPT_COMPLETE: PLAIN.transcript,
    events.ORCHESTRATOR_COMPLETE: PLAIN.transcript,
}


@EVERYWHERE
async def test_an_interruption_in_a_hook_ends_the_turn_in_good_order(place: Place) -> None:
    """An interruption comes out as it is; the calls have results, and all three closing events are told."""
    row = disturbed(place, lambda world: _raise(Interrupt("^C")))
    transcript = INTERRUPTED[place.event]
    for loop in row.names:
        told, _, _ = row.expected()[loop]
        if transcript is not PLAIN.transcript:
            reached = next(index for index, line in enumerate(told, 1) if line.startswith(place.event))
            asked = sum(line.startswith("provider:request") for line in told[:reached])
            told = [*told[:reached], *closes("error", "", asked or int(place.event == events.PROVIDER_RESOLVE))]
        assert await outcome(row.world(loop)) == (told, transcript, "raises Interrupt: ^C")


async def test_a_hook_that_stops_and_refuses_at_once_leaves_nothing_behind() -> None:
    """A stop that comes in the very step in which the turn ends anyway changes nothing, and nobody trips over it."""

    def arrange(world: TurnWorld) -> None:
        def stop_and_refuse(data: dict[str, Any]) -> HookResult:
            world.token.request_immediate()
            return HookResult(action="deny", reason="enough")

        world.on(events.PROMPT_SUBMIT, stop_and_refuse)

    row = Row([*OPENS[:2], *closes("denied", "Denied: enough", 0)], [], "answers Denied: enough", SCRIPT, arrange)
    assert await row.outcomes() == row.expected()

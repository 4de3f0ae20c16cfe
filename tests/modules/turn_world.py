"""A small world for turns of the three loops, and what happened in it as short lines that tables can state.

A turn runs on fakes with ids and a clock of their own, so that it repeats itself exactly. A line that holds for some
loops only begins with their initials: ``"E| tool:selecting call-1 look at=sky"``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jsonschema_rs

from amplifier_core import events, kernel_events
from amplifier_core.event_payloads import payload_schema
from amplifier_core.events import EXECUTION_END, ORCHESTRATOR_COMPLETE, PROMPT_COMPLETE
from amplifier_core.models import HookResult
from amplifier_core.testing import (
    EventRecorder,
    FakeClock,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedReply,
    SequentialIds,
)
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit import events as module_events
from amplifier_modkit.messages import calls_in, plain
from amplifier_modkit.turns.settings import LoopSettings
from amplifier_module_loop_basic.loop import BasicLoop
from amplifier_module_loop_events.config import EventsSettings
from amplifier_module_loop_events.loop import EventsLoop
from amplifier_module_loop_streaming.config import StreamingSettings
from amplifier_module_loop_streaming.loop import StreamingLoop

LOOPS = ("basic", "streaming", "events")
PROMPT = "go"

_LOOKS_AT = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
_CLOSING = [EXECUTION_END, PROMPT_COMPLETE, ORCHESTRATOR_COMPLETE]
_WITH_SCHEMA = frozenset({*events.ALL_EVENTS, *kernel_events.KERNEL_EVENTS})


def look(*places: str, text: str = "Let me look.") -> ScriptedReply:
    """An answer of the model that looks at ``places``, all at once."""
    return ScriptedReply(text, tool_calls=[("look", {"at": place}) for place in places])


def fast_loop(name: str, **settings: Any) -> Any:
    """The loop ``name`` with settings under which nothing waits."""
    given = {"min_retry_delay": 0, **settings}
    if name == "basic":
        return BasicLoop(LoopSettings(**given))
    return StreamingLoop(StreamingSettings(**given)) if name == "streaming" else EventsLoop(EventsSettings(**given))


OPENS = [f"prompt:submit {PROMPT}", f"execution:start {PROMPT}", "provider:resolve mock"]
"""How a turn begins."""


def says(number: int, text: str, *, calls: int = 0) -> list[str]:
    """The lines of the turn's n-th model call, when the model says ``text`` and makes so many tool calls."""
    blocks = [f"content_block:{part} {index + 1} tool_call" for index in range(calls) for part in ("start", "end")]
    return [
        f"provider:request {number}",
        *streams(text),
        f"provider:response {number}{' calls' if calls else ''}",
        "BE| content_block:start 0 text",
        "BE| content_block:end 0 text",
        *blocks,
    ]


def streams(text: str) -> list[str]:
    """The lines of a text that comes in one piece; only loop-streaming has them."""
    return [
        "S| llm:stream_block_start 0 text",
        "S| content_block:start 0 text",
        f"S| llm:stream_block_delta 0 text {text}",
        f"S| content_block:delta 0 text {text}",
        "S| llm:stream_block_end 0 text",
        "S| content_block:end 0 text",
    ]


def selects(call: str) -> list[str]:
    """The lines of a call that schedulers leave as it is; only loop-events has them."""
    return [f"E| tool:selecting {call}", f"E| tool:selected {call} by llm"]


def closes(how: str, answer: str, model_calls: int) -> list[str]:
    """The last lines of a turn: it ends with ``success``, or for the reason ``how``."""
    ended = {"success": "completed", "error": "error (error)", "cancelled": "cancelled (cancelled)"}
    status = {"success": "success", "cancelled": "cancelled (cancelled)"}
    return [
        f"execution:end {ended.get(how, f'completed ({how})')}",
        f"prompt:complete {answer}",
        f"orchestrator:complete {status.get(how, f'incomplete ({how})')} after {model_calls}",
    ]


Lines = list[str]
Outcome = tuple[Lines, Lines, str]
"""Events, transcript and ending of a turn."""


@dataclass(frozen=True)
class Row:
    """A turn and what must become of it, in every loop; ``arrange`` puts the fault into its world."""

    events: Lines
    transcript: Lines
    ends: str
    script: Sequence[Any] = ()
    arrange: Callable[[TurnWorld], object] = lambda world: None
    settings: Mapping[str, Any] = field(default_factory=dict)
    loops: str = "BSE"

    @property
    def names(self) -> list[str]:
        """The loops that the row is about."""
        return [loop for loop in LOOPS if loop[0].upper() in self.loops]

    def world(self, loop: str) -> TurnWorld:
        """A world in which the turn is about to run."""
        # A copy: whoever raises an error leaves notes on it.
        world = TurnWorld(loop, deepcopy(self.script), **self.settings)
        self.arrange(world)
        return world

    def expected(self) -> dict[str, Outcome]:
        """What the row says, by loop."""
        return {loop: (for_loop(loop, self.events), for_loop(loop, self.transcript), self.ends) for loop in self.names}

    async def outcomes(self) -> dict[str, Outcome]:
        """What really happens, by loop; a turn that leaves something undone is an ``AssertionError``."""
        return {loop: await outcome(self.world(loop)) for loop in self.names}


async def outcome(world: TurnWorld) -> Outcome:
    """Events, transcript and ending of one turn, which must leave nothing undone."""
    ending = await world.run()
    assert await world.flaws() == []
    return world.told, world.transcript, str(ending)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended: with an answer, or with an error."""

    answer: Any = None
    error: BaseException | None = None

    def __str__(self) -> str:
        if isinstance(self.error, asyncio.CancelledError):
            return "cancelled"
        if self.error is not None:
            return f"raises {type(self.error).__name__}: {self.error}"
        return f"answers {self.answer}" if isinstance(self.answer, str) else f"answers no text: {self.answer!r}"


class TurnWorld:
    """A loop among fakes, for a test to put faults into; made inside a running event loop."""

    def __init__(self, loop: str, script: Iterable[Any] = (), **settings: Any) -> None:
        self.name = loop
        self.loop = fast_loop(loop, **settings)
        self.clock = FakeClock()
        self.hooks = EventRecorder(clock=self.clock, new_id=SequentialIds("handler"))
        self.coordinator = MockCoordinator(clock=self.clock, new_id=SequentialIds())
        self.people = self.coordinator.approval_system
        self.token = self.coordinator.cancellation
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.provider = self.new_provider(script)
        self.providers: dict[str, Any] = {"mock": self.provider}
        self.look = MockTool("look", "blue", input_schema=_LOOKS_AT)
        self.tools: dict[str, Any] = {"look": self.look}
        self.turn: asyncio.Task[Any] | None = None
        self.lost: list[str] = []
        """What asyncio complains about: failed callbacks, errors that nobody asked for."""
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.lost.append(str(context)))

    def new_provider(self, script: Iterable[Any], name: str = "mock") -> MockProvider:
        """A provider with a script; beside loop-streaming it streams."""
        return MockProvider(script, name, hooks=self.hooks if self.name == "streaming" else None)

    def on(self, event: str, act: Callable[[dict[str, Any]], Any], *, nth: int = 1, **options: Any) -> None:
        """Has a hook named ``hook`` do ``act(data)`` at the n-th ``event``; every other time it lets things go on."""
        seen = 0

        async def handler(event: str, data: dict[str, Any]) -> Any:
            nonlocal seen
            seen += 1
            if seen != nth:
                return HookResult()
            answer = act(data)
            return await answer if asyncio.iscoroutine(answer) else answer

        self.hooks.register(event, handler, name="hook", **options)

    async def run(self, prompt: str = PROMPT, **options: Any) -> Ending:
        """Runs one turn to its end, whatever that is."""
        self.turn = asyncio.create_task(
            self.loop.execute(
                prompt,
                context=self.context,
                providers=self.providers,
                tools=self.tools,
                hooks=self.hooks,
                coordinator=self.coordinator,
                **options,
            )
        )
        await asyncio.wait({self.turn})
        if self.turn.cancelled():
            return Ending(error=asyncio.CancelledError())
        error = self.turn.exception()
        return Ending(self.turn.result()) if error is None else Ending(error=error)

    async def stop(self, how: str) -> None:
        """Asks the turn to stop, ``graceful``, ``immediate`` or by ``cancel`` of its task, and lets it hear of that."""
        if how == "cancel":
            assert self.turn is not None
            self.turn.cancel()
        else:
            await self.coordinator.request_cancel(immediate=how == "immediate")
        await let_others_run()

    @property
    def told(self) -> list[str]:
        """Every event so far, as lines."""
        return [told_event(event, data) for event, data in self.hooks.events]

    @property
    def transcript(self) -> list[str]:
        """Every message of the context, as lines."""
        return [told_message(message) for message in self.context.messages]

    @property
    def requests(self) -> list[list[str]]:
        """The messages of every request to the model, as lines."""
        return [[told_message(plain(each)) for each in request.messages] for request in self.provider.requests]

    async def flaws(self) -> list[str]:
        """What is not as it must be after every turn, whatever happened in it."""
        await let_others_run()
        return [
            *_flaws_of_ending([event for event, _ in self.hooks.events]),
            *_flaws_of_payloads(self.hooks.events),
            *parted_calls(self.context.messages),
            *self.left_behind(),
            *self.lost,
        ]

    def left_behind(self) -> Iterator[str]:
        """What of a turn is still there after it."""
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if running:
            yield f"tasks still run: {running}"
        if self.token.running_tools:
            yield f"tools are said to run: {self.token.running_tools}"
        handlers = {event: names for event, names in self.hooks.list_handlers().items() if {*names} - {"hook"}}
        if handlers:
            yield f"the loop leaves handlers behind: {handlers}"
        if vars(self.token)["_watchers"]:
            yield "the loop still watches the token"
        if vars(self.coordinator).get("_tool_dispatch_contexts"):
            yield "calls are still announced to tools"


async def let_others_run() -> None:
    """Gives every other task as many steps as a cancellation takes to arrive."""
    for _ in range(8):
        await asyncio.sleep(0)


def for_loop(loop: str, lines: Iterable[str]) -> list[str]:
    """The lines that hold for ``loop``, without the initials in front of them."""
    chosen: list[str] = []
    for line in lines:
        initials, bar, rest = line.partition("| ")
        if not bar or not initials.isupper():
            chosen.append(line)
        elif loop[0].upper() in initials:
            chosen.append(rest)
    return chosen


def told_message(message: Mapping[str, Any]) -> str:
    """A message as a line; nothing of it is left out, and a key that the loops have no use for is an error."""
    fields = {key: value for key, value in message.items() if value is not None}
    parts = [fields.pop("role")]
    if parts[0] == "tool":
        parts += [fields.pop("tool_call_id"), fields.pop("name")]
    metadata = dict(fields.pop("metadata", {}))
    metadata.pop("timestamp", None)
    listed = fields.pop("tool_calls", None)
    text, calls = _told_content(fields.pop("content"))
    assert listed is None or [f"{each['id']} {each['tool']} {_pairs(each['arguments'])}" for each in listed] == calls
    assert not fields, f"unknown keys: {fields}"
    parts += [f"({_told_metadata(metadata)})"] if metadata else []
    return " | ".join([" ".join(parts), *([text] if text or not calls else []), *calls])


def _told_content(content: Any) -> tuple[str, list[str]]:
    if isinstance(content, str):
        return content, []
    texts = [_told_block(block) for block in content if block["type"] != "tool_call"]
    calls = [f"{each['id']} {each['name']} {_pairs(each['input'])}" for each in content if each["type"] == "tool_call"]
    return " + ".join(texts), calls


def _told_block(block: Mapping[str, Any]) -> str:
    kind = block["type"]
    return block["text"] if kind == "text" else f"<{kind}> {block.get(kind, '')}"


def _told_metadata(metadata: Mapping[str, Any]) -> str:
    if metadata == {"is_error": True}:
        return "error"
    if metadata.get("source") == "hook":
        return f"{metadata['hook_name']} at {metadata['event']}{', once' if metadata['ephemeral'] else ''}"
    if metadata.get("source") == "orchestrator":
        return "loop, once"
    if "appended" in metadata:
        others = {key: value for key, value in metadata.items() if key != "appended"}
        told = [f"+ {_told_metadata(each)}" for each in metadata["appended"]]
        return ", ".join([*([_told_metadata(others)] if others else []), *told])
    return json.dumps(metadata)


def _pairs(values: Any) -> str:
    if not isinstance(values, dict):
        return values if isinstance(values, str) else json.dumps(values)
    return " ".join(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items())


def _call(data: Mapping[str, Any]) -> str:
    return f"{data['tool_call_id']} {data['tool_name']}"


def _block(data: Mapping[str, Any]) -> str:
    return f"{data['block_index']} {data['block_type']}"


def _ended(data: Mapping[str, Any]) -> str:
    return f"{data['status']} ({data['reason']})" if "reason" in data else data["status"]


_FACTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    events.PROMPT_SUBMIT: lambda data: data["prompt"],
    events.EXECUTION_START: lambda data: data["prompt"],
    events.PROVIDER_RESOLVE: lambda data: data["provider"],
    events.PROVIDER_REQUEST: lambda data: str(data["iteration"]),
    events.PROVIDER_RESPONSE: lambda data: f"{data['iteration']}{' calls' if data['tool_calls'] else ''}",
    events.PROVIDER_RETRY: lambda data: f"{data['attempt']}/{data['max_retries']} {data['error_type']}",
    events.PROVIDER_ERROR: lambda data: f"{data['provider']} {data['error']['type']}: {data['error']['msg']}",
    events.CONTENT_BLOCK_START: _block,
    events.CONTENT_BLOCK_DELTA: lambda data: f"{_block(data)} {data['text']}",
    events.CONTENT_BLOCK_END: _block,
    events.THINKING_DELTA: lambda data: data["text"],
    events.THINKING_FINAL: lambda data: data["text"],
    events.TOOL_PRE: lambda data: f"{_call(data)} {_pairs(data['tool_input'])}",
    events.TOOL_POST: lambda data: (
        f"{_call(data)} {_pairs(data['tool_input'])} -> {_pairs(plain(data['result']['output']))}"
    ),
    events.TOOL_ERROR: lambda data: f"{_call(data)} {data['error']['type']}: {data['error']['msg']}",
    events.CANCEL_REQUESTED: lambda data: "immediate" if data["was_immediate"] else "graceful",
    events.EXECUTION_END: _ended,
    events.PROMPT_COMPLETE: lambda data: data["response"],
    events.ORCHESTRATOR_COMPLETE: lambda data: f"{_ended(data)} after {data['turn_count']}",
    module_events.TOOL_SELECTING: lambda data: f"{_call(data)} {_pairs(data['tool_input'])}",
    module_events.TOOL_SELECTED: lambda data: f"{_call(data)} {_pairs(data['tool_input'])} by {data['source']}",
    module_events.ERROR_PROVIDER: lambda data: f"{data['error_type']}: {data['error_message']}",
    module_events.ERROR_TOOL: lambda data: f"{_call(data)} {data['error_type']}: {data['error_message']}",
    module_events.LLM_STREAM_BLOCK_START: _block,
    module_events.LLM_STREAM_BLOCK_DELTA: lambda data: f"{_block(data)} {data['text']}",
    module_events.LLM_STREAM_BLOCK_END: _block,
    module_events.LLM_STREAM_ABORTED: lambda data: data["error"],
    module_events.ORCHESTRATOR_STEERING_INJECTED: lambda data: data["content"],
}


def told_event(event: str, data: Mapping[str, Any]) -> str:
    """An event as a line: its name and the facts that tell where in the turn it stands."""
    return f"{event} {_FACTS[event](data)}"


def parted_calls(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tool calls whose results do not stand right behind them, one each and in order, and results without a call."""
    flaws: list[str] = []
    expected: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if not expected or message["tool_call_id"] != expected.pop(0):
                flaws.append(f"message {place} answers {message['tool_call_id']}, which is not open")
            continue
        flaws += [f"{call_id} has no result before message {place}" for call_id in expected]
        expected = [call.id for call in calls_in(message)]
    return flaws + [f"{call_id} has no result at the end" for call_id in expected]


def _flaws_of_ending(names: Sequence[str]) -> Iterator[str]:
    closing = [name for name in names if name in _CLOSING]
    if closing != _CLOSING or list(names[-3:]) != _CLOSING:
        yield f"the turn ends with {names[-4:]}, closing events in all: {closing}"


_sound_shapes: set[tuple[Any, ...]] = set()


def _flaws_of_payloads(told: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    for event, data in told:
        validator = _payload_validator(event)
        # Payloads of one shape are checked once: thousands of turns tell the same events.
        shape = (event, *((key, type(value)) for key, value in data.items()))
        if validator is None or shape in _sound_shapes:
            continue
        flaws = [f"{event}: {error.message}" for error in validator.iter_errors(to_jsonable(data))]
        if not flaws:
            _sound_shapes.add(shape)
        yield from flaws


@cache
def _payload_validator(event: str) -> Any:
    if event not in _WITH_SCHEMA:
        return None
    schema = payload_schema(event)
    # What the registry adds for handlers is not there yet when the loop emits.
    required = [name for name in schema.get("required", ()) if name not in ("timestamp", "session_id", "parent_id")]
    return jsonschema_rs.validator_for({**schema, "required": required})

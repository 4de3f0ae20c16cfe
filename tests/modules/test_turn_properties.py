"""Random turns: whatever models, tools, hooks and people do, a turn keeps its word, and what the model saw is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modules.turn_world import LOOPS, TurnWorld, parted_calls

from amplifier_core import events
from amplifier_core.llm_errors import (
    AuthenticationError,
    ContextLengthError,
    InvalidToolCallError,
    NetworkError,
    RateLimitError,
)
from amplifier_core.message_models import ChatResponse, TextBlock, ToolCall, ToolCallBlock
from amplifier_core.models import HookResult, ToolResult
from amplifier_core.testing import ScriptedReply
from amplifier_modkit import events as module_events
from amplifier_modkit.messages import plain

HOOKED = [
    events.PROMPT_SUBMIT,
    events.EXECUTION_START,
    events.PROVIDER_RESOLVE,
    events.PROVIDER_REQUEST,
    events.PROVIDER_RESPONSE,
    events.PROVIDER_RETRY,
    events.PROVIDER_ERROR,
    events.CONTENT_BLOCK_START,
    events.CONTENT_BLOCK_DELTA,
    events.CONTENT_BLOCK_END,
    events.TOOL_PRE,
    events.TOOL_POST,
    events.TOOL_ERROR,
    events.EXECUTION_END,
    events.PROMPT_COMPLETE,
    events.ORCHESTRATOR_COMPLETE,
    module_events.TOOL_SELECTING,
    module_events.TOOL_SELECTED,
    module_events.ERROR_TOOL,
    module_events.ERROR_PROVIDER,
    module_events.LLM_STREAM_BLOCK_DELTA,
]

ERRORS = [AuthenticationError, ContextLengthError, InvalidToolCallError, NetworkError, RateLimitError, RuntimeError]


@dataclass(frozen=True)
class Act:
    """What a hook does at the n-th of an event."""

    event: str
    nth: int
    kind: str

    async def __call__(self, data: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        if self.kind == "raises":
            raise ValueError("bad")
        if self.kind == "modifies":
            return HookResult(action="modify", data=_modified(data))
        return _ANSWERS[self.kind]


def _note(**how: Any) -> HookResult:
    return HookResult(action="inject_context", context_injection="note", **how)


_ANSWERS: dict[str, Any] = {
    "denies": HookResult(action="deny", reason="not now"),
    "asks": HookResult(action="ask_user"),
    "notes": _note(),
    "notes as the user": _note(context_injection_role="user"),
    "notes once": _note(ephemeral=True),
    "appends": _note(ephemeral=True, append_to_last_tool_result=True),
    "tells the user": HookResult(user_message="look here"),
    "answers rubbish": 42,
}
_CHANGES: dict[str, Any] = {"prompt": "stay", "tool_input": {"at": "sea"}, "result": "grey"}


def _modified(data: dict[str, Any]) -> dict[str, Any]:
    return {key: _CHANGES.get(key, value) for key, value in data.items()}


def acts() -> st.SearchStrategy[list[Act]]:
    """Some hooks that do something somewhere."""
    kinds = st.sampled_from(["raises", "modifies", *_ANSWERS])
    return st.lists(st.builds(Act, st.sampled_from(HOOKED), st.integers(1, 3), kinds), max_size=4)


def calls() -> st.SearchStrategy[ToolCall]:
    """Tool calls: of tools that exist and that do not, with ids and arguments of all sorts."""
    return st.builds(
        lambda call_id, name, arguments: ToolCall.model_construct(None, id=call_id, name=name, arguments=arguments),
        st.sampled_from(["a", "b", "c", "d", "e", ""]),
        st.sampled_from(["look", "look", "look", "gone", ""]),
        st.sampled_from([{"at": "sky"}, {"at": "sky"}, {"at": 5}, {}, None, "no JSON", '{"at": "sea"}', ["sky"]]),
    )


def _answer(text: str, made: Sequence[ToolCall], in_content: bool) -> ChatResponse:
    blocks = [ToolCallBlock(id=each.id, name=each.name, input={}) for each in made] if in_content else []
    content = [*([TextBlock(text=text)] if text else []), *blocks]
    return ChatResponse(content=content, tool_calls=list(made) or None)


def replies() -> st.SearchStrategy[Any]:
    """What a model may answer."""
    texts = st.sampled_from(["", "Hm.", "Let me see."])
    looks = st.lists(st.sampled_from(["sky", "sea"]), min_size=1, max_size=3)
    return st.one_of(
        st.builds(_answer, texts, st.lists(calls(), max_size=4), st.booleans()),
        st.builds(lambda at: ScriptedReply("Look.", tool_calls=[("look", {"at": each}) for each in at]), looks),
        st.builds(lambda pieces: ScriptedReply(pieces, thinking="Hm."), st.lists(texts, min_size=1, max_size=3)),
        st.builds(lambda error: error("trouble"), st.sampled_from(ERRORS)),
    )


def outputs() -> st.SearchStrategy[list[Any]]:
    """What tools may give, one after another."""
    one = st.sampled_from(["blue", None, {"a": 1}, 5, ToolResult(success=False), OSError("clouds"), "late"])
    return st.lists(one, min_size=1, max_size=4)


@dataclass(frozen=True)
class Story:
    """Everything that happens to a turn."""

    loop: str
    script: list[Any]
    acts: list[Act]
    outputs: list[Any]
    is_allowed: bool
    limit: int

    def world(self) -> TurnWorld:
        """The world of the story."""
        world = TurnWorld(self.loop, self.script, max_iterations=self.limit, provider_fallback=True)
        world.people.answer = "Allow" if self.is_allowed else "Deny"
        given = 0

        async def execute(input: dict[str, Any]) -> Any:
            nonlocal given
            output, given = self.outputs[given % len(self.outputs)], given + 1
            await asyncio.sleep(0)
            if isinstance(output, Exception):
                raise output
            if output == "late":
                await asyncio.sleep(0)
            return output

        world.look.execute.side_effect = execute
        for act in self.acts:
            world.on(act.event, act, nth=act.nth, on_error="deny" if act.nth == 1 else "continue")
        return world


def stories() -> st.SearchStrategy[Story]:
    """Turns of all sorts."""
    script = st.lists(replies(), min_size=1, max_size=5)
    loops = st.sampled_from(LOOPS)
    return st.builds(Story, loops, script, acts(), outputs(), st.booleans(), st.sampled_from([-1, 1, 3]))


def _is_same_note(message: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    is_equal = [message[key] == stored[key] for key in ("role", "content")]
    told, known = message["metadata"], stored.get("metadata") or {}
    return all(is_equal) and all(told[key] == known.get(key) for key in ("hook_name", "event"))


def untold(message: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> bool:
    """Whether nobody can tell where a message of a request comes from: history, a hook, or the loop."""
    metadata = dict(message.get("metadata") or {})
    if metadata.get("source") in ("hook", "orchestrator") and metadata["ephemeral"]:
        return not (metadata["source"] == "orchestrator" or (metadata["hook_name"] and metadata["event"]))
    if metadata.get("source") == "hook":
        # In the request that it was made for, it lacks what only storing adds.
        return not any(_is_same_note(message, each) for each in history)
    appended = metadata.pop("appended", [])
    if not appended:
        return message not in history
    said = [each for each in history if each.get("tool_call_id") == message["tool_call_id"]]
    is_extended = any(str(message["content"]).startswith(str(each["content"])) for each in said)
    return not (is_extended and all(each["hook_name"] and each["event"] for each in appended))


def as_sent(message: Any) -> dict[str, Any]:
    """A message as plain data without what is empty; the content of an odd message is compared as it was sent."""
    return {key: value for key, value in plain(message).items() if value is not None and key != "timestamp"}


@pytest.mark.slow
@settings(max_examples=100)
@given(stories())
async def test_a_turn_keeps_its_promises_whatever_happens(story: Story) -> None:
    """It answers with a text or raises what the provider raised; every call has its result, every turn its ending.

    Each message of each request is in the history, or says which hook, or that the loop, put it there.
    """
    world = story.world()
    ending = await world.run()
    assert await world.flaws() == []
    assert isinstance(ending.answer, str) or ending.error in story.script
    history = [as_sent(message) for message in world.context.messages]
    for request in world.provider.requests:
        sent = [as_sent(message) for message in request.messages]
        assert ([message for message in sent if untold(message, history)], parted_calls(sent)) == ([], [])


@pytest.mark.slow
@settings(max_examples=50)
@given(stories(), st.integers(2, 60), st.sampled_from(["cancel", "immediate", "graceful"]))
async def test_a_stop_at_any_step_of_any_turn_parts_nothing(story: Story, step: int, how: str) -> None:
    """Whatever is going on when a stop comes, the turn is closed, the calls have results, and the next turn works."""
    world = story.world()
    running = asyncio.create_task(world.run())
    for _ in range(step):
        await asyncio.sleep(0)
    if not running.done():
        await world.stop(how)
    ending = await running
    assert await world.flaws() == []
    assert (
        isinstance(ending.answer, str)
        or isinstance(ending.error, asyncio.CancelledError)
        or ending.error in story.script
    )
    world.token.reset()
    world.hooks = type(world.hooks)()
    world.providers["mock"] = world.new_provider(["Fine."])
    assert (str(await world.run("again")), parted_calls(world.context.messages)) == ("answers Fine.", [])

"""The redaction hook: watchers find masks in the place of secrets, and the work goes on with the originals."""

from __future__ import annotations

import logging
from collections import UserDict
from typing import Any

import pytest

import amplifier_module_hooks_redaction as module
from amplifier_core import AmplifierSession, HookResult, ToolResult
from amplifier_core.events import (
    ALL_EVENTS,
    CONTEXT_PRE_COMPACT,
    LLM_REQUEST,
    LLM_RESPONSE,
    ORCHESTRATOR_COMPLETE,
    PROVIDER_REQUEST,
    SESSION_START,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
    USER_NOTIFICATION,
)
from amplifier_core.kernel_events import KERNEL_EVENTS
from amplifier_core.message_models import Message, TextBlock, ThinkingBlock
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.events import LLM_STREAM_BLOCK_DELTA
from amplifier_module_hooks_redaction.config import RedactionConfig
from amplifier_module_hooks_redaction.cover import NAME, WORKING
from amplifier_module_hooks_redaction.redaction import Redaction

TOKEN = "ghp_" + "a1" * 18
MASK = "[REDACTED:github-token]"
NOTE = {"applied": True, "rules": ["github-token"], "count": 1}


async def covered(config: dict[str, Any] | None = None) -> TestCoordinator:
    """A coordinator with the module mounted and ready."""
    coordinator = TestCoordinator()
    await module.mount(coordinator, config)
    await module.on_session_ready(coordinator)
    return coordinator


async def seen(coordinator: TestCoordinator, event: str, data: dict[str, Any], priority: int = 0) -> dict[str, Any]:
    """What a plain handler sees of an event."""
    recorder = EventRecorder()
    undo = coordinator.hooks.register(event, recorder, priority)
    await coordinator.hooks.emit(event, data)
    undo()
    ((_, shown),) = recorder.events
    return {key: value for key, value in shown.items() if key not in ("timestamp", "session_id", "parent_id")}


@pytest.mark.parametrize("event", [LLM_REQUEST, LLM_RESPONSE, TOOL_ERROR, CONTEXT_PRE_COMPACT, USER_NOTIFICATION])
async def test_watchers_of_events_that_tell_see_masks(event: str) -> None:
    """Secrets are masked anywhere in the data, by their looks and by their names, and a note says so."""
    coordinator = await covered()
    shown = await seen(coordinator, event, {"a": [{"b": TOKEN}], "password": "hunter2", "n": 1, "request_id": "r"})
    assert shown == {
        "a": [{"b": MASK}],
        "password": "[REDACTED:password]",
        "n": 1,
        "request_id": "r",
        "redaction": {"applied": True, "rules": ["github-token", "password"], "count": 2},
    }


async def test_an_event_without_secrets_is_left_as_it_is() -> None:
    """There is no note, no change, and the values are the very objects."""
    coordinator = await covered()
    details = {"session": "0123456789abcdef", "at": "2024-01-02T03:04:05Z", "count": 12345678901234}
    result = await coordinator.hooks.emit(ORCHESTRATOR_COMPLETE, {"details": details})
    assert result.action == "continue"
    assert result.data is not None
    assert result.data["details"] is details


async def test_every_known_and_announced_event_is_covered() -> None:
    """All canonical and kernel events, those of streams and those that modules announce have a guard, once."""
    coordinator = TestCoordinator()
    coordinator.register_contributor("observability.events", "a", lambda: ["notes:synced", SESSION_START, 7])
    await module.mount(coordinator, {})
    await module.on_session_ready(coordinator)
    names = {event: handlers.count(NAME) for event, handlers in coordinator.hooks.list_handlers().items()}
    expected = {*ALL_EVENTS, *KERNEL_EVENTS, "notes:synced"} - WORKING
    assert {event for event in expected if names.get(event) != 1} == set()
    assert (await seen(coordinator, "notes:synced", {"x": TOKEN}))["x"] == MASK


async def test_working_events_keep_their_data() -> None:
    """What a tool runs with and a model is sent is never changed on the way, unless the switch says so."""
    coordinator = await covered()
    for event in sorted(WORKING):
        result = await coordinator.hooks.emit(event, {"tool_input": TOKEN})
        assert (result.action, (result.data or {})["tool_input"]) == ("continue", TOKEN)


async def test_on_session_ready_without_the_module_does_nothing() -> None:
    """A session in which the module is not mounted has nothing to cover."""
    coordinator = TestCoordinator()
    assert await module.on_session_ready(coordinator) is None
    assert coordinator.hooks.list_handlers() == {}


async def test_the_config_chooses_rules_events_and_places() -> None:
    """Groups of rules, skipped events, allowed places and the priority are obeyed; unknown keys are passed over."""
    data = {"a": TOKEN, "b": {"c": [TOKEN, "bob@example.com"]}}
    config = {"rules": ["secrets"], "skip_events": [TOOL_ERROR], "allowlist": ["b.c[0]"], "unknown": 1}
    coordinator = await covered(config)
    assert await seen(coordinator, TOOL_ERROR, data) == data
    shown = await seen(coordinator, LLM_RESPONSE, {**data, "request_id": "r"})
    assert shown == {"a": MASK, "b": {"c": [TOKEN, "bob@example.com"]}, "request_id": "r", "redaction": NOTE}
    personal = await covered({"rules": ["pii-basic"], "priority": 10})
    assert (await seen(personal, TOOL_ERROR, data, 11))["b"] == {"c": [TOKEN, "[REDACTED:email]"]}
    assert await seen(personal, TOOL_ERROR, data, 9) == data


def test_the_config_is_declared() -> None:
    """Defaults cover everything; a rule that does not exist is refused."""
    assert RedactionConfig().model_dump() == {
        "rules": ["secrets", "pii-basic"],
        "allowlist": [],
        "skip_events": [],
        "redact_model_input": False,
        "priority": -100,
    }
    with pytest.raises(ValueError, match="pii-extra"):
        RedactionConfig.read({"rules": ["pii-extra"]})


async def test_lifting_the_cover_shows_everything_again() -> None:
    """The clean-up removes every guard."""
    coordinator = TestCoordinator()
    lift = await module.mount(coordinator, {})
    lift()
    assert [name for names in coordinator.hooks.list_handlers().values() for name in names] == []
    assert (await seen(coordinator, TOOL_ERROR, {"x": TOKEN}))["x"] == TOKEN


async def test_data_that_cannot_be_searched_are_withheld(caplog: pytest.LogCaptureFixture) -> None:
    """Watchers are shown where the event belongs; the failure is logged, and nothing is denied."""

    class Trap(UserDict[str, Any]):
        def __iter__(self) -> Any:
            raise RuntimeError("not today")

    coordinator = await covered()
    data = {"tool_name": "bash", "tool_call_id": 7, "x": Trap(), "y": TOKEN}
    with caplog.at_level(logging.ERROR):
        shown = await seen(coordinator, TOOL_ERROR, data)
    assert shown == {
        "tool_name": "bash",
        "tool_call_id": 7,
        "redaction": {"applied": True, "rules": ["unsearchable"], "count": 1},
    }
    assert "The data of 'tool:error' could not be searched for secrets and are withheld" in caplog.text


async def test_a_secret_that_a_later_handler_adds_is_masked_as_well() -> None:
    """The guard is asked again when somebody changed the data, so taps and the emitter see masks."""
    coordinator = await covered()

    async def add(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "more": TOKEN})

    coordinator.hooks.register(TOOL_ERROR, add, 5)
    result = await coordinator.hooks.emit(TOOL_ERROR, {"x": 1})
    assert result.data is not None
    assert (result.data["x"], result.data["more"]) == (1, MASK)


async def test_children_inherit_the_cover() -> None:
    """What a child session tells is masked by its parent's guards, whether or not it has the module itself."""
    parent, child = await covered(), TestCoordinator()
    child.hooks.inherit_guards_from(parent.hooks)
    assert (await seen(child, TOOL_ERROR, {"x": TOKEN}))["x"] == MASK
    await module.mount(child, {})
    assert (await seen(child, TOOL_ERROR, {"x": TOKEN}))["x"] == MASK


MESSAGES: list[Any] = [
    {"role": "user", "content": f"use {TOKEN}"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": TOKEN}, {"type": "text", "text": TOKEN}]},
    {"role": "tool", "content": "plain"},
    {"role": "user", "content": [{"type": "text", "text": "plain"}, {"type": ["odd"]}]},
    Message(role="assistant", content=[ThinkingBlock(thinking=TOKEN), TextBlock(text=TOKEN)]),
    TOKEN,
]


async def test_the_model_gets_masks_only_if_the_switch_says_so() -> None:
    """Then every message is masked but for what the model has thought; the caller's messages stay as they are."""
    before = str(MESSAGES)
    plain = await (await covered()).hooks.emit(PROVIDER_REQUEST, {"messages": MESSAGES})
    assert plain.action == "continue"
    coordinator = await covered({"redact_model_input": True, "allowlist": ["content"]})
    result = await coordinator.hooks.emit(PROVIDER_REQUEST, {"messages": MESSAGES, "model": "m"})
    assert result.action == "modify"
    assert result.data is not None
    sent = result.data["messages"]
    assert sent[0] == {"role": "user", "content": f"use {MASK}"}
    assert sent[1]["content"] == [{"type": "thinking", "thinking": TOKEN}, {"type": "text", "text": MASK}]
    assert sent[2] is MESSAGES[2]
    assert sent[3] is MESSAGES[3]
    assert [block.model_dump(exclude_none=True).get("text", "-") for block in sent[4].content] == ["-", MASK]
    assert sent[5] == MASK
    assert str(MESSAGES) == before


async def test_what_looks_like_a_secret_in_an_image_is_none() -> None:
    """An image with a mask in it would be broken; what is said beside it is masked."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": f"AAAA/{TOKEN}/AAAA"}}
    message = {"role": "user", "content": [{"type": "text", "text": TOKEN}, image]}
    coordinator = await covered({"redact_model_input": True})
    result = await coordinator.hooks.emit(PROVIDER_REQUEST, {"messages": [message]})
    assert result.data is not None
    assert result.data["messages"][0]["content"] == [{"type": "text", "text": MASK}, image]


@pytest.mark.parametrize("messages", [None, "text", [], [{"role": "user", "content": "plain"}]])
async def test_a_request_without_secrets_goes_as_it_is(messages: Any) -> None:
    """With the switch on, too, nothing is changed without need."""
    coordinator = await covered({"redact_model_input": True})
    assert (await coordinator.hooks.emit(PROVIDER_REQUEST, {"messages": messages})).action == "continue"


class AddTool:
    """Adds nothing, and tells a secret."""

    name, description = "run", "Runs."
    input_schema = {"type": "object", "properties": {"command": {"type": "string"}}}

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        self.inputs.append(input)
        return ToolResult(output=f"export TOKEN={TOKEN}")


def _plan(loop: str) -> dict[str, Any]:
    script = [
        {"text": f"Let me use {TOKEN}.", "tool_calls": [{"name": "run", "arguments": {"command": f"echo {TOKEN}"}}]},
        {"text": f"Done with {TOKEN}."},
    ]
    provider = {"module": "provider-mock", "config": {"script": script, "raw": True, "chunk_chars": 5}}
    return {"session": {"orchestrator": loop, "context": "context-simple"}, "providers": [provider]}


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming", "loop-events"])
async def test_a_whole_turn_works_with_secrets_and_tells_none(loop: str) -> None:
    """The tool, the conversation and the answer have the token; no event that a watcher sees has it."""
    tool, told = AddTool(), list[tuple[str, dict[str, Any]]]()
    async with AmplifierSession(_plan(loop)) as session:
        coordinator = session.coordinator
        await coordinator.mount("tools", tool)
        await module.mount(coordinator, {})
        await module.on_session_ready(coordinator)
        stream = session.stream(f"my token is {TOKEN}")
        told = [item async for item in stream if isinstance(item, tuple)]
        transcript = str(await coordinator.get("context").get_messages())
    leaking = {event for event, data in told if TOKEN in str(data)}
    assert leaking == set()
    assert {LLM_REQUEST, LLM_RESPONSE, LLM_STREAM_BLOCK_DELTA} <= {event for event, _ in told}
    assert tool.inputs == [{"command": f"echo {TOKEN}"}]
    assert (transcript.count(TOKEN) >= 4, "REDACTED" in transcript) == (True, False)


async def test_watchers_of_what_works_see_masks_and_guards_the_data() -> None:
    """Working and unannounced events are masked for watchers; skipped ones are not, nor any after the clean-up."""
    coordinator, judged = TestCoordinator(), list[Any]()
    lift = await module.mount(coordinator, {"skip_events": [TOOL_POST]})

    async def judge(event: str, data: dict[str, Any]) -> None:
        judged.append(data["tool_input"])

    coordinator.hooks.register(TOOL_PRE, judge, on_error="deny")
    data = {"tool_input": {"command": TOKEN}}
    assert await seen(coordinator, TOOL_PRE, data) == {"tool_input": {"command": MASK}, "redaction": NOTE}
    assert await seen(coordinator, "never:announced", data) == {"tool_input": {"command": MASK}, "redaction": NOTE}
    assert await seen(coordinator, TOOL_POST, data) == data
    assert judged == [{"command": TOKEN}]
    lift()
    assert await seen(coordinator, TOOL_PRE, data) == data


def test_a_text_that_comes_again_is_not_searched_again() -> None:
    """A conversation is told with every request; what was masked before is known."""
    redaction = Redaction(RedactionConfig())
    first = redaction.masked(LLM_REQUEST, {"messages": [TOKEN] * 3})
    again = redaction.masked(LLM_REQUEST, {"messages": [TOKEN] * 3})
    assert (
        first
        == again
        == {"messages": [MASK] * 3, "redaction": {"applied": True, "rules": ["github-token"], "count": 3}}
    )


async def test_applications_can_have_their_own_values_masked() -> None:
    """The capability masks secrets in any value and leaves the rest as it is."""
    coordinator = TestCoordinator()
    await module.mount(coordinator)
    redact = coordinator.get_capability("redaction.redact")
    assert redact({"note": [TOKEN, "plain"], "count": 3}) == {"note": [MASK, "plain"], "count": 3}

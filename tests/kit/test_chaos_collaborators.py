"""What surrounds a module under test: complete modules themselves, of every temper."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_core.interfaces import implements
from amplifier_core.message_models import ChatRequest, Message
from amplifier_kit.chaos._calls import Call
from amplifier_kit.chaos._collaborators import (
    ANSWER,
    CollaboratorError,
    Collaborators,
    QuietLoop,
    Temper,
    text_response,
)

Work = Callable[[Collaborators], Awaitable[Any]]

CALLS: dict[str, Work] = {
    "provider.complete": lambda around: around.provider.complete(ChatRequest(messages=[])),
    "provider.list_models": lambda around: around.provider.list_models(),
    "tool.execute": lambda around: around.tool.execute({}),
    "context.add_message": lambda around: around.context.add_message({}),
    "context.get_messages": lambda around: around.context.get_messages(),
    "context.get_messages_for_request": lambda around: around.context.get_messages_for_request(),
    "context.set_messages": lambda around: around.context.set_messages([]),
    "context.clear": lambda around: around.context.clear(),
    "people.request_approval": lambda around: around.people.request_approval("?", [], 1.0, "deny"),
}


def test_they_are_what_they_stand_for() -> None:
    """A module under test meets nothing that is less than a module."""
    around = Collaborators()
    assert implements("provider", around.provider)
    assert implements("tool", around.tool)
    assert implements("context", around.context)
    assert implements("orchestrator", QuietLoop())


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("temper", "waits"), [("sound", 0), ("waiting", 1), ("slow", 50)])
async def test_a_temper_decides_how_long_a_call_takes(name: str, temper: Temper, waits: int) -> None:
    """Sound ones answer at once, the others give way to everybody else first."""
    around = Collaborators(temper)
    call = Call(lambda: CALLS[name](around))
    assert (await call.outcome(5)).error is None
    assert (call.suspensions, around.running) == (waits, [])


@pytest.mark.parametrize("name", CALLS)
async def test_who_fails_fails_in_everything(name: str) -> None:
    """A failing collaborator raises in each of its methods; the others work."""
    who = name.partition(".")[0]
    case: dict[str, Temper] = {who: "failing"}
    with pytest.raises(CollaboratorError, match=f"the {who} of this session fails on purpose"):
        await CALLS[name](Collaborators("sound", **case))
    others = [other for other in CALLS if not other.startswith(who)]
    for other in others:
        await CALLS[other](Collaborators("sound", **case))


def test_plain_methods_fail_as_well() -> None:
    """What is not awaited raises, too."""
    around = Collaborators("failing")
    with pytest.raises(CollaboratorError):
        around.provider.get_info()
    with pytest.raises(CollaboratorError):
        around.people.show_message("Hello", "info")
    assert Collaborators().people.show_message("Hello", "info") is None


async def test_running_calls_are_known() -> None:
    """While a call waits, one can tell who is at work."""
    around = Collaborators("waiting")
    task = asyncio.ensure_future(around.tool.execute({}))
    await asyncio.sleep(0)
    assert around.running == ["tool.execute()"]
    await task
    assert around.running == []


async def test_the_context_keeps_what_it_is_told() -> None:
    """The conversation is a real one."""
    context = Collaborators().context
    await context.add_message({"role": "user"})
    assert await context.get_messages() == await context.get_messages_for_request() == [{"role": "user"}]
    await context.set_messages([{"role": "system"}])
    assert context.messages == [{"role": "system"}]
    await context.clear()
    assert context.messages == []


async def test_the_model_calls_tools_once_for_every_prompt() -> None:
    """Two calls when the user has spoken, the answer afterwards; what a test wants it to say goes first."""
    provider = Collaborators().provider
    provider.replies = [text_response("first this")]
    request = ChatRequest(messages=[Message(role="user", content="Hello")])
    responses = [await provider.complete(request) for _ in range(3)]
    assert [[call.id for call in provider.parse_tool_calls(response)] for response in responses] == [
        [],
        ["chaos-1", "chaos-2"],
        [],
    ]
    assert responses[0].content[0].text == "first this"  # pyright: ignore[reportAttributeAccessIssue]
    assert responses[2].content[0].text == ANSWER  # pyright: ignore[reportAttributeAccessIssue]
    assert provider.get_info().defaults["context_window"] == 2_000


async def test_the_quiet_loop_answers() -> None:
    """A session whose subject is no orchestrator has one that answers everything."""
    assert await QuietLoop().execute("Hello", None, {}, {}, None) == ANSWER

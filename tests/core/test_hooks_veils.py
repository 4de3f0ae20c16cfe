"""Veils: watchers see what a veil shows of an event, while the operation and its guards keep the data."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from amplifier_core import HookResult
from amplifier_core.events import TOOL_PRE
from amplifier_core.hooks import HookRegistry

PLAIN: dict[str, Any] = {"tool_name": "bash", "tool_input": {"command": "secret"}}


def hide(event: str, data: dict[str, Any]) -> dict[str, Any]:
    """Shows the input without what it says."""
    return {**data, "tool_input": {"command": "***"}, "hidden": 1} if "tool_input" in data else data


class Seen:
    """A handler that keeps what it is shown, and answers as it was told to."""

    def __init__(self, *changes: dict[str, Any]) -> None:
        self.commands: list[Any] = []
        self._changes = list(changes)

    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        self.commands.append(data.get("tool_input", {}).get("command"))
        if not self._changes:
            return HookResult()
        return HookResult(action="modify", data={**data, **self._changes.pop()})

    async def as_tap(self, event: str, data: dict[str, Any]) -> None:
        await self(event, data)


async def test_watchers_see_the_veil_and_guards_and_emitter_the_data() -> None:
    """A handler and a tap are shown the veiled data; a guard and the answer have the originals."""
    hooks, early, guard, late, tap = HookRegistry(), Seen(), Seen(), Seen(), Seen()
    hooks.register(TOOL_PRE, early, -100)
    hooks.register(TOOL_PRE, guard, on_error="deny")
    hooks.register(TOOL_PRE, late, 100)
    hooks.tap(tap.as_tap)
    hooks.veil(hide)
    result = await hooks.emit(TOOL_PRE, PLAIN)
    assert [early.commands, guard.commands, late.commands, tap.commands] == [["***"], ["secret"], ["***"], ["***"]]
    assert result.action == "continue"
    assert result.data is not None
    assert (result.data["tool_input"], "hidden" in result.data) == ({"command": "secret"}, False)


async def test_what_a_watcher_leaves_as_shown_stands_for_the_original() -> None:
    """A modify of one field keeps the others, veiled or not, as they really are; guards judge the outcome."""
    hooks, guard = HookRegistry(), Seen()
    hooks.register(TOOL_PRE, guard, -1, on_error="deny")
    hooks.register(TOOL_PRE, Seen({"tool_name": "echo"}))
    hooks.veil(hide)
    result = await hooks.emit(TOOL_PRE, PLAIN)
    assert result.action == "modify"
    assert result.data is not None
    told = {key: value for key, value in result.data.items() if key != "timestamp"}
    assert told == {"tool_name": "echo", "tool_input": {"command": "secret"}}
    assert guard.commands == ["secret", "secret"]


async def test_what_a_watcher_writes_itself_is_used_as_it_is() -> None:
    """A field that a watcher replaced, added or took away is so for the operation, too."""
    hooks = HookRegistry()

    async def rewrite(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={"tool_input": {"command": "ls"}, "more": 2})

    hooks.register(TOOL_PRE, rewrite)
    hooks.veil(hide)
    result = await hooks.emit(TOOL_PRE, PLAIN)
    assert result.data == {"tool_input": {"command": "ls"}, "more": 2}


async def test_later_watchers_see_changed_data_through_the_veil() -> None:
    """Data that somebody changed go through the veil again."""
    hooks, late = HookRegistry(), Seen()
    hooks.register(TOOL_PRE, Seen({"tool_input": {"command": "another secret"}}))
    hooks.register(TOOL_PRE, late, 1)
    hooks.veil(hide)
    result = await hooks.emit(TOOL_PRE, PLAIN)
    assert late.commands == ["***"]
    assert result.data is not None
    assert result.data["tool_input"] == {"command": "another secret"}


@pytest.mark.parametrize("broken", [lambda event, data: 1 / 0, lambda event, data: None], ids=["raises", "no dict"])
async def test_a_veil_that_fails_hides_the_event(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Watchers are shown where the event belongs and nothing else; the operation goes on."""
    hooks, shown = HookRegistry(), list[dict[str, Any]]()
    hooks.set_default_fields(session_id="s-1", parent_id=None)

    async def watch(event: str, data: dict[str, Any]) -> None:
        shown.append(data)

    hooks.register(TOOL_PRE, watch)
    hooks.veil(broken)
    with caplog.at_level(logging.ERROR):
        result = await hooks.emit(TOOL_PRE, PLAIN)
    assert [sorted(data) for data in shown] == [["parent_id", "session_id", "timestamp"]]
    assert result.data is not None
    assert result.data["tool_input"] == {"command": "secret"}
    assert "A veil failed on event 'tool:pre'" in caplog.text


async def test_a_veil_can_be_lifted_and_is_looked_through_once_per_event() -> None:
    """Several watchers share one look; after lifting, everybody sees the data. Lifting twice is fine."""
    hooks, first, second, looks = HookRegistry(), Seen(), Seen(), list[str]()

    def counting(event: str, data: dict[str, Any]) -> dict[str, Any]:
        looks.append(event)
        return hide(event, data)

    lift = hooks.veil(counting)
    hooks.register(TOOL_PRE, first)
    hooks.register(TOOL_PRE, second)
    await hooks.emit(TOOL_PRE, PLAIN)
    lift()
    lift()
    await hooks.emit(TOOL_PRE, PLAIN)
    assert (first.commands, second.commands, looks) == (["***", "secret"], ["***", "secret"], [TOOL_PRE])


async def test_a_poll_goes_through_the_veil_as_well() -> None:
    """Who is asked for data sees what watchers see, unless it is a guard."""
    hooks, watcher, guard = HookRegistry(), Seen(), Seen()
    hooks.register("roll:call", watcher)
    hooks.register("roll:call", guard, on_error="deny")
    hooks.veil(hide)
    await hooks.emit_and_collect("roll:call", PLAIN)
    assert (watcher.commands, guard.commands) == (["***"], ["secret"])


async def test_children_have_the_veils_of_their_parents() -> None:
    """Veils from before and after the birth of a child hold for it, and outlive the parent's clean-up."""
    parent, child, grandchild, seen = HookRegistry(), HookRegistry(), HookRegistry(), Seen()
    lift = parent.veil(hide)
    child.inherit_guards_from(parent)
    grandchild.inherit_guards_from(child)
    parent.veil(lambda event, data: {**data, "tool_input": {"command": data["tool_input"]["command"] + "!"}})
    lift()
    grandchild.register(TOOL_PRE, seen)
    parent.register(TOOL_PRE, seen)
    await grandchild.emit(TOOL_PRE, PLAIN)
    await parent.emit(TOOL_PRE, PLAIN)
    grandchild.inherit_guards_from(child)
    await grandchild.emit(TOOL_PRE, PLAIN)
    assert seen.commands == ["***!", "secret!", "***!"]

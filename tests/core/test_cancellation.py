"""The cancellation token: states, running tools, children and callbacks."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from typing import Any

import pytest

from amplifier_core.cancellation import CancellationState, CancellationToken

LOGGER = "amplifier_core.cancellation"


def told(token: CancellationToken) -> tuple[str, bool, bool, bool]:
    """Everything a token says about its state."""
    return token.state, token.is_cancelled, token.is_graceful, token.is_immediate


NONE = ("none", False, False, False)
GRACEFUL = ("graceful", True, True, False)
IMMEDIATE = ("immediate", True, False, True)


def test_the_states_have_names() -> None:
    """An enum of three."""
    assert {state.name: state.value for state in CancellationState} == {
        "NONE": "none",
        "GRACEFUL": "graceful",
        "IMMEDIATE": "immediate",
    }


def test_a_fresh_token_is_not_cancelled() -> None:
    """Its state is plain text, no member of the enum."""
    token = CancellationToken()
    assert told(token) == NONE
    assert type(token.state) is str
    assert (token.running_tools, token.running_tool_names) == (set(), [])


def test_states_only_grow_and_requests_tell_whether_they_changed_anything() -> None:
    """None, graceful, immediate."""
    token = CancellationToken()
    assert token.request_graceful() is True
    assert told(token) == GRACEFUL
    assert token.request_graceful() is False
    assert token.request_immediate() is True
    assert told(token) == IMMEDIATE
    assert token.request_immediate() is False
    assert token.request_graceful() is False
    assert told(token) == IMMEDIATE


def test_immediate_can_be_asked_for_at_once() -> None:
    """Without a graceful request before."""
    token = CancellationToken()
    assert token.request_immediate() is True
    assert told(token) == IMMEDIATE


def test_request_cancellation_is_a_graceful_request() -> None:
    """It tells nothing."""
    token = CancellationToken()
    assert token.request_cancellation() is None
    assert told(token) == GRACEFUL
    token.request_immediate()
    token.request_cancellation()
    assert told(token) == IMMEDIATE


@pytest.mark.parametrize("name", ["state", "is_cancelled", "is_graceful", "is_immediate", "running_tools"])
def test_what_a_token_tells_cannot_be_set(name: str) -> None:
    """Only requests change it."""
    with pytest.raises(AttributeError):
        setattr(CancellationToken(), name, None)


def test_running_tools_are_kept_by_call_id() -> None:
    """Ids as a fresh set, names one per call; an unknown id is fine."""
    token = CancellationToken()
    token.register_tool_start("1", "bash")
    token.register_tool_start("2", "bash")
    token.register_tool_start("3", "web")
    assert token.running_tools == {"1", "2", "3"}
    assert sorted(token.running_tool_names) == ["bash", "bash", "web"]
    token.running_tools.clear()
    token.running_tool_names.clear()
    token.register_tool_complete("2")
    token.register_tool_complete("unknown")
    assert token.running_tools == {"1", "3"}
    assert sorted(token.running_tool_names) == ["bash", "web"]


def test_reset_makes_the_token_fresh() -> None:
    """State and running tools; children keep their own state and stay linked."""
    token, child = CancellationToken(), CancellationToken()
    token.register_child(child)
    token.register_tool_start("1", "bash")
    token.request_immediate()
    token.reset()
    assert (told(token), token.running_tools, told(child)) == (NONE, set(), IMMEDIATE)
    child.reset()
    token.request_graceful()
    assert told(child) == GRACEFUL


def test_requests_reach_children_and_their_children() -> None:
    """The same kind of request, as long as the parent changes."""
    parent, child, grandchild = CancellationToken(), CancellationToken(), CancellationToken()
    parent.register_child(child)
    child.register_child(grandchild)
    parent.request_graceful()
    assert (told(child), told(grandchild)) == (GRACEFUL, GRACEFUL)
    child.reset()
    parent.request_graceful()
    assert told(child) == NONE
    parent.request_immediate()
    assert (told(child), told(grandchild)) == (IMMEDIATE, IMMEDIATE)


def test_a_child_s_request_stays_with_the_child() -> None:
    """It reaches neither parent nor siblings."""
    parent, child, sibling = CancellationToken(), CancellationToken(), CancellationToken()
    parent.register_child(child)
    parent.register_child(sibling)
    child.request_immediate()
    assert (told(parent), told(sibling)) == (NONE, NONE)
    parent.request_graceful()
    assert (told(child), told(sibling)) == (IMMEDIATE, GRACEFUL)


@pytest.mark.parametrize(("request_name", "state"), [("request_graceful", GRACEFUL), ("request_immediate", IMMEDIATE)])
def test_a_child_that_comes_late_gets_the_request_at_once(request_name: str, state: Any) -> None:
    """Of the kind the parent is in."""
    parent, child = CancellationToken(), CancellationToken()
    getattr(parent, request_name)()
    parent.register_child(child)
    assert told(child) == state


def test_an_unregistered_child_is_left_alone() -> None:
    """By identity; one that was never registered is fine."""
    parent, child, other = CancellationToken(), CancellationToken(), CancellationToken()
    parent.register_child(child)
    parent.register_child(other)
    parent.unregister_child(child)
    parent.unregister_child(child)
    parent.unregister_child(CancellationToken())
    parent.request_immediate()
    assert (told(child), told(other)) == (NONE, IMMEDIATE)


def test_tokens_linked_in_a_circle_come_to_an_end() -> None:
    """A token that is its own child, or its parent's parent, does not loop."""
    one, two = CancellationToken(), CancellationToken()
    one.register_child(one)
    one.register_child(two)
    two.register_child(one)
    assert two.request_graceful() is True
    assert (told(one), told(two)) == (GRACEFUL, GRACEFUL)
    assert one.request_immediate() is True
    assert (told(one), told(two)) == (IMMEDIATE, IMMEDIATE)


def test_a_parent_does_not_keep_its_children_alive() -> None:
    """A child session that is dropped without clean-up goes."""
    parent, child = CancellationToken(), CancellationToken()
    parent.register_child(child)
    gone = weakref.ref(child)
    del child
    gc.collect()
    assert gone() is None
    assert parent.request_graceful() is True


async def test_callbacks_run_only_when_triggered_and_every_time() -> None:
    """In order, sync or async; requests and resets do not call them or take them away."""
    token, calls = CancellationToken(), list[str]()

    async def later() -> None:
        await asyncio.sleep(0)
        calls.append("async")

    token.on_cancel(lambda: calls.append("sync"))
    token.on_cancel(later)
    token.request_graceful()
    token.request_immediate()
    token.reset()
    assert calls == []
    assert await token.trigger_callbacks() is None
    await token.trigger_callbacks()
    assert calls == ["sync", "async", "sync", "async"]


async def test_a_callback_that_fails_is_logged_and_does_not_stop_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing comes out, whether it raises, cancels itself, or is not callable."""
    token, calls = CancellationToken(), list[str]()

    def fail() -> None:
        raise ValueError("sync")

    async def fail_later() -> None:
        raise KeyError("async")

    async def cancel_itself() -> None:
        raise asyncio.CancelledError("by itself")

    for callback in (fail, fail_later, cancel_itself, 5):
        token.on_cancel(callback)  # pyright: ignore[reportArgumentType]
    token.on_cancel(lambda: calls.append("rest"))
    await token.trigger_callbacks()
    assert calls == ["rest"]
    assert caplog.record_tuples == [
        (LOGGER, logging.ERROR, "Error in cancellation callback: ValueError: sync"),
        (LOGGER, logging.ERROR, "Error in cancellation callback: KeyError: 'async'"),
        (LOGGER, logging.ERROR, "Error in cancellation callback: CancelledError: by itself"),
        (LOGGER, logging.ERROR, "Error in cancellation callback: TypeError: 'int' object is not callable"),
    ]


async def test_an_interruption_is_raised_again_after_all_callbacks_ran() -> None:
    """The first of them."""
    token, calls = CancellationToken(), list[str]()

    def interrupt(error: BaseException) -> Any:
        def callback() -> None:
            calls.append(type(error).__name__)
            raise error

        return callback

    token.on_cancel(interrupt(KeyboardInterrupt("first")))
    token.on_cancel(interrupt(ValueError()))
    token.on_cancel(interrupt(SystemExit("second")))
    triggering = token.trigger_callbacks()
    with pytest.raises(KeyboardInterrupt, match="^first$"):
        triggering.send(None)
    assert calls == ["KeyboardInterrupt", "ValueError", "SystemExit"]


async def test_cancelling_the_triggering_task_comes_out_after_all_callbacks_ran() -> None:
    """It reaches the callback that waits."""
    token, calls, begun = CancellationToken(), list[str](), asyncio.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            calls.append("hang ended")

    token.on_cancel(hang)
    token.on_cancel(lambda: calls.append("rest"))
    task = asyncio.create_task(token.trigger_callbacks())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls == ["hang ended", "rest"]


async def test_callbacks_added_meanwhile_run_the_next_time() -> None:
    """Triggering works on the callbacks it began with."""
    token, calls = CancellationToken(), list[str]()

    def grow() -> None:
        calls.append("old")
        token.on_cancel(lambda: calls.append("new"))

    token.on_cancel(grow)
    await token.trigger_callbacks()
    assert calls == ["old"]


def test_watchers_hear_of_every_request_at_once() -> None:
    """Each change of the state is told, also one that a parent passes on; repeated requests change nothing."""
    parent, child, told = CancellationToken(), CancellationToken(), list[str]()
    parent.register_child(child)
    child.watch(lambda: told.append(child.state))
    parent.request_graceful()
    parent.request_graceful()
    child.request_immediate()
    assert told == ["graceful", "immediate"]


def test_a_watcher_can_stop_watching_even_while_it_is_told() -> None:
    """Ending is final, may happen twice, and leaves other watchers alone."""
    token, told = CancellationToken(), list[str]()

    def once() -> None:
        told.append("once")
        unwatch()

    unwatch = token.watch(once)
    token.watch(lambda: told.append("other"))
    token.request_graceful()
    token.request_immediate()
    unwatch()
    assert told == ["once", "other", "other"]


def test_a_failing_watcher_is_logged_and_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    """The request is made and the others are told."""
    token, told = CancellationToken(), list[str]()

    def fail() -> None:
        raise OSError("no terminal")

    token.watch(fail)
    token.watch(lambda: told.append("other"))
    assert (token.request_immediate(), token.is_immediate, told) == (True, True, ["other"])
    assert "Error in a watcher of a cancellation token: OSError: no terminal" in caplog.text

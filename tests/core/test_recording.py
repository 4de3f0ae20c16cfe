"""Recording callables: what a call answers, what is remembered of it, and what tests can claim."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any
from unittest.mock import call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core._recording import Call, RecordingCallable, RecordingFunction

arguments = st.tuples(
    st.lists(st.integers(), max_size=3).map(tuple), st.dictionaries(st.sampled_from("abc"), st.integers())
)


@given(st.lists(arguments, max_size=5))
def test_every_call_is_remembered_in_order(made: list[tuple[tuple[int, ...], dict[str, int]]]) -> None:
    """Count, list and latest call follow from the calls that were made."""
    recording = RecordingFunction()
    for args, kwargs in made:
        assert recording(*args, **kwargs) is None
    assert recording.call_args_list == made
    assert (recording.call_count, recording.called) == (len(made), bool(made))
    assert recording.call_args == (made[-1] if made else None)


def test_a_call_is_a_pair_with_names() -> None:
    """The arguments unpack, have names, and can be asked for however they were passed."""
    recording = RecordingFunction()
    recording(1, b=2)
    assert recording.call_args is not None
    args, kwargs = recording.call_args
    assert (args, kwargs) == (recording.call_args.args, recording.call_args.kwargs) == ((1,), {"b": 2})
    assert [recording.call_args.argument(0, "a"), recording.call_args.argument(1, "b")] == [1, 2]
    assert recording.call_args.argument(2, "c", default="none") == "none"
    assert repr(recording.call_args) == "(1, b=2)"


def test_calls_compare_with_those_of_unittest_mock() -> None:
    """A call equals the ``unittest.mock.call`` with the same arguments and no other, asked either way."""
    recording = RecordingFunction()
    recording(1, b=2)
    recording()
    assert recording.call_args_list == [call(1, b=2), call()]
    assert recording.call_args_list != [call(1), call()]
    assert (recording.call_args_list[0] != call(1, b=2)) is False
    assert Call((), {}) != ((1,), {})


async def test_an_async_recording_counts_calls_when_made_and_awaits_when_awaited() -> None:
    """The call is remembered at once; its answer comes with the await."""
    recording = RecordingCallable(return_value="answer")
    waiting = recording(1)
    assert (recording.call_count, recording.await_count) == (1, 0)
    with pytest.raises(AssertionError):
        recording.assert_awaited_once()
    assert await waiting == "answer"
    recording.assert_awaited_once()
    await recording(2)
    with pytest.raises(
        AssertionError, match=r"should have been awaited once, not 2 times, was called 2 times: .*\(2\)"
    ):
        recording.assert_awaited_once()


async def test_a_recording_answers_with_side_effect_then_return_value_then_behaviour() -> None:
    """The strongest that is set decides; taking a side effect away gives way to the next."""

    async def behave(word: str) -> str:
        return word.upper()

    recording = RecordingCallable(behave)
    assert (await recording("a"), recording.return_value) == ("A", None)
    recording.return_value = None
    assert (await recording("a"), recording.return_value) == (None, None)
    recording.side_effect = lambda word: word * 2
    assert await recording("a") == "aa"
    recording.side_effect = None
    assert (await recording("a"), recording.side_effect) == (None, None)


async def test_a_side_effect_may_be_async() -> None:
    """What a function gives is awaited when it must be."""

    async def answer(number: int) -> int:
        return number + 1

    assert await RecordingCallable(side_effect=answer)(1) == 2


@pytest.mark.parametrize("effect", [ValueError("no"), ValueError])
async def test_an_exception_as_side_effect_is_raised_by_every_call(effect: Any) -> None:
    """Instances and classes of exceptions both serve; the calls count all the same."""
    recording = RecordingCallable(side_effect=effect)
    for _ in range(2):
        with pytest.raises(ValueError, match="no" if isinstance(effect, ValueError) else None):
            await recording()
    assert (recording.call_count, recording.await_count) == (2, 2)


async def test_an_iterable_as_side_effect_answers_call_by_call() -> None:
    """Items are given, exceptions among them raised; a call too many fails the test and says why."""
    recording = RecordingCallable(side_effect=["first", KeyError("second")], name="fetch")
    assert await recording() == "first"
    with pytest.raises(KeyError, match="second"):
        await recording()
    with pytest.raises(AssertionError, match="'fetch' has no answer left in its side_effect for call 3; give it more"):
        await recording()


def test_a_side_effect_that_cannot_answer_is_refused() -> None:
    """The message says what is expected, and what was probably meant."""
    wrong: Any = 5
    with pytest.raises(TypeError, match=r"side_effect of 'f' must be .* got int; .* set return_value"):
        RecordingFunction(side_effect=wrong, name="f")


@pytest.mark.parametrize(
    ("calls", "claim", "told"),
    [
        (0, lambda f: f.assert_called(), "'f' should have been called, was called 0 times"),
        (1, lambda f: f.assert_not_called(), "'f' should not have been called, was called once: [(0)]"),
        (2, lambda f: f.assert_called_once(), "'f' should have been called once, was called 2 times: [(0), (1)]"),
        (1, lambda f: f.assert_called_with(5), "'f' should have been called last with (5), was called once: [(0)]"),
        (
            2,
            lambda f: f.assert_called_once_with(1, a=2),
            "'f' should have been called once with (1, a=2), was called 2 times: [(0), (1)]",
        ),
    ],
)
def test_a_claim_that_does_not_hold_fails_with_the_calls(
    calls: int, claim: Callable[[RecordingFunction], None], told: str
) -> None:
    """The message names the function, the claim, and what happened instead."""
    recording = RecordingFunction(name="f")
    for number in range(calls):
        recording(number)
    with pytest.raises(AssertionError) as failure:
        claim(recording)
    assert str(failure.value) == told


def test_claims_that_hold_pass() -> None:
    """Each claim accepts the calls it describes."""
    recording = RecordingFunction()
    recording.assert_not_called()
    recording(1, a=2)
    recording.assert_called()
    recording.assert_called_once()
    recording.assert_called_with(1, a=2)
    recording.assert_called_once_with(1, a=2)
    assert recording.call_count == 1


async def test_reset_forgets_calls_and_keeps_answers() -> None:
    """After a reset the recording is as new, but answers as before."""
    recording = RecordingCallable(return_value=1)
    await recording()
    recording.reset_mock()
    assert (recording.call_count, recording.await_count, recording.call_args) == (0, 0, None)
    assert await recording() == 1


def test_an_async_recording_passes_for_a_coroutine_function() -> None:
    """Checks for async functions accept it, and its signature is that of what it stands for."""

    async def execute(input: dict[str, Any]) -> None: ...

    assert inspect.iscoroutinefunction(RecordingCallable(execute))
    assert inspect.iscoroutinefunction(RecordingCallable())
    assert not inspect.iscoroutinefunction(RecordingFunction())
    assert list(inspect.signature(RecordingCallable(execute)).parameters) == ["input"]
    assert list(inspect.signature(RecordingCallable()).parameters) == ["args", "kwargs"]


def test_a_recording_has_the_name_of_what_it_stands_for() -> None:
    """Its own name, else the behaviour's, shows in its repr."""

    def show() -> None: ...

    recording = RecordingFunction(show)
    recording()
    assert repr(recording) == "<RecordingFunction 'show', once>"
    assert repr(RecordingCallable(name="ask")) == "<RecordingCallable 'ask', 0 times>"
    assert repr(RecordingCallable()) == "<RecordingCallable 'recording', 0 times>"


async def test_concurrent_calls_are_all_recorded() -> None:
    """Calls that run at the same time each get their answer."""
    recording = RecordingCallable(lambda number: number * 2)
    assert await asyncio.gather(*map(recording, range(5))) == [0, 2, 4, 6, 8]
    assert recording.await_count == 5

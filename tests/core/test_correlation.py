"""Request ids that pair the events of one LLM call."""

from __future__ import annotations

import asyncio
import contextvars
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.correlation import (
    CORRELATED_EVENTS,
    INTERIM_EVENTS,
    REQUEST_EVENTS,
    REQUEST_ID_FIELD,
    TERMINAL_EVENTS,
    current_request_id,
    new_request_id,
    reset_request_id,
    resolve_request_id,
)
from amplifier_core.events import ALL_EVENTS


@pytest.fixture(autouse=True)
def _no_call_in_flight() -> Iterator[None]:
    reset_request_id()
    yield
    reset_request_id()


def test_constants() -> None:
    """Field and event sets are the published ones, and CORRELATED_EVENTS is all of them."""
    assert REQUEST_ID_FIELD == "request_id"
    assert {"llm:request"} == REQUEST_EVENTS
    assert {"llm:response", "provider:error"} == TERMINAL_EVENTS
    assert {"provider:retry", "provider:throttle"} == INTERIM_EVENTS
    assert CORRELATED_EVENTS == REQUEST_EVENTS | TERMINAL_EVENTS | INTERIM_EVENTS
    assert isinstance(CORRELATED_EVENTS, frozenset)


def test_new_ids_are_random_uuids() -> None:
    """Each new id is the text of another random UUID."""
    first, second = new_request_id(), new_request_id()
    assert first != second
    assert str(uuid.UUID(first, version=4)) == first


def test_request_opens_and_response_closes() -> None:
    """The events of a call share the id that the request made, until the response."""
    opened = resolve_request_id("llm:request")
    assert opened
    assert current_request_id() == opened
    assert resolve_request_id("provider:retry") == opened
    assert resolve_request_id("provider:throttle") == opened
    assert resolve_request_id("llm:response") == opened
    assert current_request_id() is None
    assert resolve_request_id("llm:response") is None


def test_error_closes_too() -> None:
    """A provider error ends the call like a response."""
    opened = resolve_request_id("llm:request")
    assert resolve_request_id("provider:error") == opened
    assert current_request_id() is None


def test_explicit_id_wins_and_opens() -> None:
    """An id that the caller gives is kept: a request and an interim event open a call under it."""
    assert resolve_request_id("llm:request", "mine") == "mine"
    assert current_request_id() == "mine"
    assert resolve_request_id("provider:retry", "other") == "other"
    assert current_request_id() == "other"
    assert resolve_request_id("llm:response", "third") == "third"
    assert current_request_id() is None
    assert resolve_request_id("provider:throttle", "again") == "again"
    assert current_request_id() == "again"


@pytest.mark.parametrize("explicit", ["", None, 7, ["x"], b"x"])
def test_only_a_non_empty_string_counts_as_explicit(explicit: object) -> None:
    """Anything but a non-empty string is taken for no id."""
    opened = resolve_request_id("llm:request", explicit)
    assert isinstance(opened, str)
    assert opened not in ("", explicit)
    assert resolve_request_id("provider:retry", explicit) == opened
    assert resolve_request_id("llm:response", explicit) == opened


@pytest.mark.parametrize("event", sorted({*ALL_EVENTS, "my:event"} - CORRELATED_EVENTS))
def test_other_events_get_no_id_and_change_nothing(event: str) -> None:
    """An event that is no part of a call neither gets an id, given or not, nor ends the call."""
    opened = resolve_request_id("llm:request")
    assert resolve_request_id(event) is None
    assert resolve_request_id(event, "given") is None
    assert current_request_id() == opened


def test_events_without_a_request_get_no_id() -> None:
    """A retry or response that belongs to no call in this context stays without id."""
    assert [resolve_request_id(event) for event in sorted(INTERIM_EVENTS | TERMINAL_EVENTS)] == [None] * 4


def test_reset_forgets_the_call() -> None:
    """After a reset there is no call in flight."""
    resolve_request_id("llm:request")
    reset_request_id()
    assert current_request_id() is None


async def test_concurrent_tasks_keep_their_ids_apart() -> None:
    """Two calls that overlap in two tasks each get their own id on the response."""
    both_open = asyncio.Barrier(2)

    async def call() -> tuple[str | None, str | None]:
        opened = resolve_request_id("llm:request")
        await both_open.wait()
        return opened, resolve_request_id("llm:response")

    first, second = await asyncio.gather(call(), call())
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert first[0] != second[0]
    assert current_request_id() is None


@given(
    st.lists(st.tuples(st.sampled_from([*sorted(CORRELATED_EVENTS), "tool:pre"]), st.sampled_from([None, "a", "b"])))
)
def test_any_sequence_follows_the_state_machine(steps: list[tuple[str, str | None]]) -> None:
    """Over any sequence of events the ids are those of a machine with one open call."""

    def run() -> None:
        is_open: str | None = None
        for event, explicit in steps:
            resolved = resolve_request_id(event, explicit)
            if event in REQUEST_EVENTS:
                assert resolved == (explicit or resolved)
                assert resolved
                is_open = resolved
            elif event in CORRELATED_EVENTS:
                assert resolved == (explicit or is_open)
                is_open = None if event in TERMINAL_EVENTS else resolved
            else:
                assert resolved is None
            assert current_request_id() == is_open

    contextvars.Context().run(run)

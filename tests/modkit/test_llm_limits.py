"""How much may be asked at once, and when to wait."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from amplifier_modkit.llm.limits import (
    LimitRules,
    Limits,
    RateLimit,
    Wait,
    read_rate_limits,
    shared_limits,
    to_rate_limit,
)

RULES = LimitRules(max_concurrent=2, threshold=0.1, least_delay_s=1.0, most_delay_s=60.0)


def requests_left(remaining: int, reset_s: float = 5.0, limit: int = 100) -> list[RateLimit]:
    """One limit of a hundred requests."""
    return [RateLimit("requests", limit, remaining, reset_s)]


@pytest.mark.parametrize(
    ("found", "wait"),
    [
        (requests_left(11), None),
        (requests_left(10), Wait(5.0, "10 of 100 requests left")),
        (requests_left(0, reset_s=0.0), Wait(1.0, "0 of 100 requests left")),
        (requests_left(0, reset_s=900.0), Wait(60.0, "0 of 100 requests left")),
        (requests_left(0, limit=0), None),
        ([], None),
        ([*requests_left(0), RateLimit("tokens", 9, 0, 8.0)], Wait(8.0, "0 of 9 tokens left")),
    ],
)
def test_a_limit_that_is_nearly_used_up_makes_the_next_call_wait(found: list[RateLimit], wait: Wait | None) -> None:
    """It waits for the limit that needs longest, at least the least delay and at most the most."""
    limits = Limits()
    limits.note(found, RULES, now=100.0)
    assert limits.wait_needed(100.0) == wait
    assert limits.latest == tuple(found)


def test_a_wait_is_over_when_its_time_is_up_or_the_service_says_so() -> None:
    """Time passes, and a later answer may tell that there is enough again."""
    limits = Limits()
    limits.note(requests_left(0), RULES, now=100.0)
    assert limits.wait_needed(104.0) == Wait(1.0, "0 of 100 requests left")
    assert limits.wait_needed(105.0) is None
    limits.note(requests_left(0), RULES, now=200.0)
    limits.note(requests_left(50), RULES, now=200.0)
    assert limits.wait_needed(200.0) is None


def test_a_service_that_asks_to_wait_is_heard_by_all() -> None:
    """What one call was told holds for the next one, but not for longer than one is willing to wait."""
    limits = Limits()
    limits.hold(7.0, RULES, now=100.0)
    assert limits.wait_needed(100.0) == Wait(7.0, "the service asked to wait")
    limits.hold(7_000.0, RULES, now=100.0)
    assert limits.wait_needed(100.0) == Wait(60.0, "the service asked to wait")


async def test_so_many_calls_run_at_once_and_the_others_wait_their_turn() -> None:
    """The third of two gets in when one of them leaves, in order."""
    limits, order = Limits(), list[str]()

    async def call(name: str, may_leave: asyncio.Event) -> None:
        await limits.enter(2)
        order.append(name)
        await may_leave.wait()
        limits.leave()

    doors = {name: asyncio.Event() for name in "abcd"}
    calls = [asyncio.ensure_future(call(name, door)) for name, door in doors.items()]
    await asyncio.sleep(0)
    assert order == ["a", "b"]
    doors["b"].set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert order == ["a", "b", "c"]
    for door in doors.values():
        door.set()
    await asyncio.gather(*calls)
    assert order == ["a", "b", "c", "d"]


async def test_who_gives_up_waiting_lets_the_next_one_in() -> None:
    """A call that is cancelled while it waits, or just when its turn comes, does not keep the place."""
    limits = Limits()
    await limits.enter(1)
    first, second, third = (asyncio.ensure_future(limits.enter(1)) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    limits.leave()
    second.cancel()  # its turn has come, and it does not know yet
    await asyncio.wait_for(third, 2)
    assert (first.cancelled(), second.cancelled()) == (True, True)
    limits.leave()
    limits.leave()


async def test_zero_is_no_limit() -> None:
    """Everybody gets in at once."""
    limits = Limits()
    assert await asyncio.gather(*(limits.enter(0) for _ in range(100))) == [None] * 100


async def test_limits_are_shared_by_key_and_place_on_a_loop() -> None:
    """The same key at the same place has the same limits, as long as somebody uses them; others have their own."""
    mine = shared_limits("toy", "http://a", "key")
    assert shared_limits("toy", "http://a", "key") is mine
    others = [("toy", "http://a", "other"), ("toy", "http://b", "key"), ("joy", "http://a", "key"), ("toy", "x", None)]
    assert all(shared_limits(*other) is not mine for other in others)
    marked = mine
    marked.note(requests_left(0), RULES, now=0.0)
    del mine, marked
    gc.collect()
    assert shared_limits("toy", "http://a", "key").latest == ()


def test_each_loop_has_limits_of_its_own() -> None:
    """A wait on one loop can never be ended from another."""

    async def mine() -> Limits:
        return shared_limits("toy", "http://a", "key")

    first = asyncio.run(mine())
    assert asyncio.run(mine()) is not first


def test_limits_are_read_from_the_usual_headers() -> None:
    """Those that are there and make sense; a limit without a reset is full again at once."""
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1h2m3.5s",
        "x-ratelimit-limit-tokens": "many",
    }
    assert read_rate_limits(headers, 0.0) == [RateLimit("requests", 60, 59, 3723.5)]


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [("6m0s", 360.0), ("120ms", 0.12), ("1s", 1.0), ("30", 30.0), ("-5", 0.0), (None, 0.0), ("", 0.0)],
)
def test_a_reset_is_read_in_every_form(reset: Any, seconds: float) -> None:
    """Durations in units, and plain seconds."""
    limit = to_rate_limit("requests", "1", "1", reset, 0.0)
    assert limit is not None
    assert limit.reset_s == pytest.approx(seconds)


def test_a_reset_may_be_a_date() -> None:
    """It is compared with the time of day; one that cannot be read makes the limit unknown."""
    limit = to_rate_limit("requests", "1", "1", "2026-11-15T00:00:30Z", 1_794_700_800.0)
    assert limit is not None
    assert limit.reset_s == 30.0
    assert to_rate_limit("requests", "1", "1", "tomorrow", 0.0) is None

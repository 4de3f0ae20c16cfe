"""Token counts: estimates from characters, and the meter that learns from what providers report."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.memory.tokens import TokenMeter, estimate, estimate_text


def user(content: Any, **more: Any) -> dict[str, Any]:
    """A message."""
    return {"role": "user", "content": content, **more}


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (user(""), 4),
        (user("x" * 400), 104),
        (user("漢" * 100), 104),
        (user("x" * 400, metadata={"note": "y" * 4_000}), 104),
        (user(None), 4),
        (user([{"type": "text", "text": "x" * 400}]), 107),
        (user([{"type": "image", "source": {"type": "base64", "data": "x" * 100_000}}]), 1_604),
        (user([{"type": "image_url", "image_url": {"url": "data:" + "x" * 100_000}}]), 1_604),
        ({"role": "tool", "tool_call_id": "call", "content": "x" * 400}, 105),
        (user({"type": ["string", "null"], "count": 3, "is_set": True}), 12),
    ],
)
def test_an_estimate_is_made_from_what_is_sent(message: dict[str, Any], tokens: int) -> None:
    """Four Latin characters are a token, three bytes of others too; pictures cost the same at any size."""
    assert estimate(message) == tokens


def test_calls_that_stand_twice_count_once() -> None:
    """A message whose calls are blocks and listed beside costs no more than with one of them."""
    blocks = [{"type": "tool_call", "id": "a", "name": "bash", "input": {"command": "x" * 400}}]
    listed = [{"id": "a", "name": "bash", "arguments": {"command": "x" * 400}}]
    once = estimate({"role": "assistant", "content": blocks})
    assert estimate({"role": "assistant", "content": blocks, "tool_calls": listed}) == once
    assert 100 < estimate({"role": "assistant", "content": None, "tool_calls": listed}) < once


def test_texts_are_estimated_alone() -> None:
    """A text without a message around it has no overhead."""
    assert (estimate_text(""), estimate_text("x" * 40), estimate_text("é" * 30)) == (0, 10, 20)


def test_before_any_report_tokens_are_the_estimate() -> None:
    """A meter that knows nothing changes nothing."""
    meter = TokenMeter()
    assert (meter.tokens(500), meter.estimated(500)) == (500, 500)


def test_a_report_fixes_a_point_and_later_messages_come_on_top() -> None:
    """The reported request has exactly its tokens; more is added as estimated until something is learnt."""
    meter = TokenMeter()
    assert meter.report(3_000, 1_000)
    assert (meter.tokens(1_000), meter.tokens(1_500)) == (3_000, 3_500)


def test_the_ratio_is_learnt_from_the_difference_of_two_reports() -> None:
    """What was added between two requests tells what estimated tokens really cost."""
    meter = TokenMeter()
    meter.report(3_000, 1_000)
    meter.report(4_500, 2_000)
    assert meter.tokens(3_000) == 6_000
    meter.report(5_500, 3_000)
    assert meter.tokens(4_000) == 5_500 + 1_250


def test_small_differences_teach_nothing() -> None:
    """Below two hundred tokens a difference is noise."""
    meter = TokenMeter()
    meter.report(3_000, 1_000)
    meter.report(3_900, 1_100)
    assert meter.tokens(2_100) == 4_900


def test_what_is_learnt_has_limits() -> None:
    """A report that would make a token cost ten, or nothing, is taken for two, or a half."""
    for reported, ratio in ((50_000, 2.0), (3_010, 0.5)):
        meter = TokenMeter()
        meter.report(3_000, 1_000)
        meter.report(reported, 2_000)
        assert meter.tokens(3_000) == reported + 1_000 * ratio


def test_a_shorter_view_keeps_the_overhead() -> None:
    """What a request has beside its messages does not go away when messages do."""
    meter = TokenMeter()
    meter.report(5_000, 1_000)
    meter.report(6_000, 2_000)
    assert meter.tokens(500) == 4_500


def test_before_anything_is_learnt_a_request_has_its_own_proportion() -> None:
    """A first report of a long conversation is not mistaken for overhead, nor that of a short one for a proportion."""
    long, short = TokenMeter(), TokenMeter()
    long.report(90_000, 60_000)
    short.report(5_000, 100)
    assert (long.tokens(20_000), short.tokens(0)) == (30_000, 4_800)


@pytest.mark.parametrize(("reported", "estimated"), [(0, 0), (-1, 10), (400, 1_000)])
def test_reports_that_cannot_be_are_not_believed(reported: int, estimated: float) -> None:
    """A provider that reports hardly anything must not switch compaction off."""
    meter = TokenMeter()
    assert not meter.report(reported, estimated)
    assert meter.tokens(1_000) == 1_000


def test_a_request_without_messages_is_all_overhead() -> None:
    """The tokens of an empty view are there before the first message."""
    meter = TokenMeter()
    assert meter.report(700, 0)
    assert (meter.tokens(0), meter.tokens(100), meter.estimated(600)) == (700, 800, 0)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 100_000), st.integers(0, 50_000)), max_size=5), st.integers(0, 100_000))
def test_tokens_and_estimates_are_inverse(reports: list[tuple[int, int]], estimated: int) -> None:
    """The estimate of a number of tokens has that many tokens again, except where no estimate is small enough."""
    meter = TokenMeter()
    for reported, of_request in reports:
        meter.report(reported, of_request)
    tokens = meter.tokens(estimated)
    back = meter.estimated(tokens)
    assert meter.tokens(back) == pytest.approx(tokens)
    assert meter.tokens(estimated + 1) >= tokens

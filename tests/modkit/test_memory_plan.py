"""Plans: what they show, and how they are written and read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modkit.memory.plan import Plan, apply, gaps_between
from amplifier_modkit.memory.shapes import cut, remark, stub

HISTORY = [{"role": "user", "content": f"{number} " + "word " * 50} for number in range(8)]


def test_without_a_plan_the_history_is_shown() -> None:
    """The empty plan covers nothing."""
    assert apply(Plan(), HISTORY) == HISTORY


def test_a_plan_shows_its_beginning_shortened_and_the_rest_as_it_is() -> None:
    """Dropped messages are gone, with the summary in their place; the notice ends what the plan covers."""
    plan = Plan(6, dropped=((1, 3), (4, 5)), stubbed=(0,), clipped=((3, 60), (0, 30)), summary="Sum.", notice="Note.")
    assert apply(plan, HISTORY) == [
        cut(stub(HISTORY[0]), 30),
        remark("Sum.", "summary"),
        cut(HISTORY[3], 60),
        HISTORY[5],
        remark("Note.", "compaction_notice"),
        HISTORY[6],
        HISTORY[7],
    ]


def test_a_summary_of_everything_stands_at_the_end() -> None:
    """Where nothing is kept behind the dropped messages, their summary still is."""
    assert apply(Plan(8, dropped=((1, 8),), summary="Sum."), HISTORY) == [HISTORY[0], remark("Sum.", "summary")]


def test_kept_messages_are_counted_within_a_length() -> None:
    """A plan also tells what is kept of a history that is shorter, or longer, than it covers."""
    plan = Plan(6, dropped=((1, 3), (4, 5)))
    assert [list(plan.kept(length)) for length in (0, 2, 6, 8)] == [[], [0], [0, 3, 5], [0, 3, 5, 6, 7]]


@given(st.sets(st.integers(0, 30)))
def test_gaps_are_what_is_not_kept(kept: set[int]) -> None:
    """Kept messages and gaps together are all messages."""
    gaps = gaps_between(sorted(kept), 31)
    assert {index for first, end in gaps for index in range(first, end)} == set(range(31)) - kept
    assert list(Plan(31, dropped=gaps).kept(31)) == sorted(kept)


PLANS = st.builds(
    lambda kept, covers, numbers, texts: Plan(
        covers,
        gaps_between(sorted(kept), covers) if covers > 40 else (),
        tuple(numbers),
        tuple(zip(numbers, numbers, strict=True)),
        *texts,
    ),
    st.sets(st.integers(0, 40)),
    st.integers(0, 80),
    st.lists(st.integers(0, 40)),
    st.tuples(st.text(), st.text()),
)


@pytest.mark.slow
@given(PLANS)
def test_a_plan_is_read_as_it_was_written(plan: Plan) -> None:
    """What goes out as data comes back as the same plan."""
    assert Plan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize(
    "change",
    [
        {"covers": -1},
        {"covers": True},
        {"covers": "3"},
        {"dropped": [[1]]},
        {"dropped": [[1, 2, 3]]},
        {"dropped": 5},
        {"dropped": [[3, 1]]},
        {"dropped": [[1, 9]]},
        {"stubbed": [None]},
        {"summary": None},
    ],
)
def test_data_that_is_no_plan_is_refused(change: dict[str, Any]) -> None:
    """Storage may be damaged; a plan that means nothing is an error that says so."""
    with pytest.raises(ValueError, match="plan"):
        Plan.from_dict({**Plan(5).to_dict(), **change})
    with pytest.raises(ValueError, match="This is no plan of a view"):
        Plan.from_dict({})

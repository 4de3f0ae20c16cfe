"""Time stamps of events equal what ``datetime.isoformat`` writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core import _timestamps
from amplifier_core._timestamps import Timestamps

MOMENTS = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 12, 30))


@given(st.lists(MOMENTS, min_size=1, max_size=4))
def test_the_time_of_the_machine_is_written_as_isoformat_writes_it(moments: list[datetime]) -> None:
    """Over any moments, in one second or in many, forwards or backwards."""
    nanoseconds = [
        (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000 + 999
        for moment in moments
    ]
    queue = [each for each in nanoseconds for _ in range(2)]
    expected = [moment.replace(tzinfo=UTC).isoformat(timespec="microseconds") for moment in moments for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_timestamps, "time_ns", lambda: queue.pop(0))
        stamps = Timestamps()
        assert [stamps.now() for _ in expected] == expected


@given(MOMENTS, st.integers(-23, 23))
def test_the_time_of_a_clock_is_written_in_utc(moment: datetime, hours: int) -> None:
    """Whatever its zone, always with microseconds."""
    aware = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=hours)))
    expected = moment.replace(tzinfo=UTC).isoformat(timespec="microseconds")
    assert Timestamps(lambda: aware).now() == expected

"""The notice after a compaction: how much it tells, and when it is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from amplifier_modkit.memory.notice import Outcome, compaction_notice
from amplifier_modkit.memory.policy import CompactionPolicy

OUTCOME = Outcome(level=2, removed=12, truncated=0, stubbed=1, before_tokens=95_000, after_tokens=49_500)
MINIMAL = "Earlier parts of this conversation were shortened to make room."
NORMAL = (
    "This conversation was shortened to make room: 12 earlier messages are left out, 1 earlier message is replaced by "
    "a stand-in. If you need details that are missing, read the file or run the tool again, or ask the user."
)
VERBOSE = f"{NORMAL} It had about 95,000 tokens and has about 49,500 now (step 2 of 5)."


@pytest.mark.parametrize(
    ("settings", "max_tokens", "text"),
    [
        ({"notice_verbosity": "minimal"}, 800, MINIMAL),
        ({}, 800, NORMAL),
        ({"notice_verbosity": "verbose"}, 800, VERBOSE),
        ({"notice_verbosity": "verbose"}, 60, NORMAL),
        ({"notice_verbosity": "verbose"}, 20, MINIMAL),
        ({}, 10, ""),
        ({"notice_enabled": False}, 800, ""),
        ({"notice_min_level": 3}, 800, ""),
    ],
)
def test_a_notice_tells_what_the_policy_wants_and_the_room_allows(
    settings: dict[str, object], max_tokens: float, text: str
) -> None:
    """A shorter one takes the place of one that is too long."""
    assert compaction_notice(replace(CompactionPolicy(), **settings), OUTCOME, max_tokens) == text

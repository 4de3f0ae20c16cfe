"""What the model is told after a compaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amplifier_modkit.memory.policy import CompactionPolicy
from amplifier_modkit.memory.tokens import estimate_text

_MINIMAL = "Earlier parts of this conversation were shortened to make room."
_ADVICE = "If you need details that are missing, read the file or run the tool again, or ask the user."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compaction did, in numbers."""

    level: int
    removed: int
    truncated: int
    stubbed: int
    before_tokens: int
    after_tokens: int


def compaction_notice(policy: CompactionPolicy, outcome: Outcome, max_tokens: float) -> str:
    """The most detailed notice that the policy wants and that has at most ``max_tokens``; empty if there is none."""
    if not policy.notice_enabled or outcome.level < policy.notice_min_level:
        return ""
    texts = [_verbose(outcome), _normal(outcome), _MINIMAL]
    wanted = texts[("verbose", "normal", "minimal").index(policy.notice_verbosity) :]
    return next((text for text in wanted if estimate_text(text) <= max_tokens), "")


def _normal(outcome: Outcome) -> str:
    return f"This conversation was shortened to make room: {', '.join(_changes(outcome))}. {_ADVICE}"


def _verbose(outcome: Outcome) -> str:
    sizes = f"It had about {outcome.before_tokens:,} tokens and has about {outcome.after_tokens:,} now"
    return f"{_normal(outcome)} {sizes} (step {outcome.level} of 5)."


def _changes(outcome: Outcome) -> Iterator[str]:
    counted = (
        (outcome.removed, "left out"),
        (outcome.truncated, "cut"),
        (outcome.stubbed, "replaced by a stand-in"),
    )
    for number, change in counted:
        if number:
            yield f"{number} earlier {'message is' if number == 1 else 'messages are'} {change}"

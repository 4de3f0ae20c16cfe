"""The plan of a view: how the beginning of a history is shortened until the next compaction.

Applying a plan is pure: the same history and plan give the same messages to the byte, also after a resume. Prompt
caches live from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from amplifier_modkit.memory.shapes import cut, remark, stub
from amplifier_modkit.messages import Message

SUMMARY = "summary"
COMPACTION_NOTICE = "compaction_notice"


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the first ``covers`` messages of a history; those behind them are shown as they are."""

    covers: int = 0
    dropped: tuple[tuple[int, int], ...] = ()
    """Ranges of messages left out, each from its first to before its last, ascending and apart."""
    stubbed: tuple[int, ...] = ()
    clipped: tuple[tuple[int, int], ...] = ()
    """Message and the characters it may have."""
    summary: str = ""
    """What the dropped messages said; stands in their place."""
    notice: str = ""
    """What the model is told about it; stands behind the last covered message."""

    def kept(self, length: int) -> Iterator[int]:
        """The messages among the first ``length`` that are not left out."""
        begin = 0
        for first, end in self.dropped:
            yield from range(begin, min(first, length))
            begin = end
        yield from range(begin, length)

    def shaped(self, history: Sequence[Message]) -> Iterator[tuple[int | None, Message]]:
        """The covered messages as they are shown, each with its place in the history; the plan's own have none."""
        stubbed, clipped = frozenset(self.stubbed), dict(self.clipped)
        summary_at = self.dropped[0][0] if self.summary and self.dropped else None
        for index in self.kept(self.covers):
            if summary_at is not None and index >= summary_at:
                yield None, remark(self.summary, SUMMARY)
                summary_at = None
            message = history[index]
            if index in stubbed:
                message = stub(message)
            if index in clipped:
                message = cut(message, clipped[index])
            yield index, message
        if summary_at is not None:
            yield None, remark(self.summary, SUMMARY)
        if self.notice:
            yield None, remark(self.notice, COMPACTION_NOTICE)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON data."""
        return {
            "covers": self.covers,
            "dropped": [list(each) for each in self.dropped],
            "stubbed": list(self.stubbed),
            "clipped": [list(each) for each in self.clipped],
            "summary": self.summary,
            "notice": self.notice,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The plan that ``to_dict`` wrote. Raises ``ValueError`` for anything else."""
        try:
            plan = cls(
                covers=_natural(data["covers"]),
                dropped=_pairs(data["dropped"]),
                stubbed=tuple(map(_natural, data["stubbed"])),
                clipped=_pairs(data["clipped"]),
                summary=_text(data["summary"]),
                notice=_text(data["notice"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"This is no plan of a view ({error!r}); expected what Plan.to_dict() gives") from error
        edges = [edge for span in plan.dropped for edge in span]
        if edges != sorted(set(edges)) or max(edges, default=0) > plan.covers:
            raise ValueError(f"A plan's dropped ranges must ascend within its {plan.covers} messages, got {edges}")
        return plan


def apply(plan: Plan, history: Sequence[Message]) -> list[Message]:
    """The view of ``history``: its covered messages by the plan, the others as they are."""
    return [message for _, message in plan.shaped(history)] + list(history[plan.covers :])


def gaps_between(kept: Iterable[int], length: int) -> tuple[tuple[int, int], ...]:
    """What is missing from ``kept``, ascending numbers below ``length``, as ranges from a first to before a last."""
    gaps: list[tuple[int, int]] = []
    begin = 0
    for index in (*kept, length):
        if index > begin:
            gaps.append((begin, index))
        begin = index + 1
    return tuple(gaps)


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"expected a number from 0 on, got {value!r}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {value!r}")
    return value


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
    pairs = [tuple(map(_natural, each)) for each in cast("Iterable[Any]", value)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"expected pairs of numbers, got {value!r}")
    return tuple(cast("list[tuple[int, int]]", pairs))

"""One line of the result: what was measured, what came out, and what must be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.measure import Ratio


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with its limit; ``low`` and ``high`` bound the middle half of the groups of rounds."""

    key: str
    """Stable name in the JSON file."""
    what: str
    measured: float
    limit: float
    unit: str = "×"
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether the value is within its limit."""
        return self.measured <= self.limit

    @property
    def verdict(self) -> str:
        """The word in the table."""
        return "reached" if self.is_reached else "MISSED"

    def to_row(self) -> list[str]:
        """The cells of the table."""
        spread = "" if self.low is None or self.high is None else f" ({self.low:.3g}–{self.high:.3g})"
        return [self.what, f"{self.measured:.3g} {self.unit}{spread}", f"≤ {self.limit:.3g} {self.unit}", self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The entry in the JSON file."""
        return {
            "what": self.what,
            "measured": round(self.measured, 4),
            "limit": round(self.limit, 4),
            "unit": self.unit,
            "middle_half": None if self.low is None or self.high is None else [round(self.low, 4), round(self.high, 4)],
            "reached": self.is_reached,
            "note": self.note,
        }


def ratio_figure(key: str, what: str, ratio: Ratio, limit: float, note: str = "") -> Figure:
    """The figure of a comparison."""
    costs = f"{_duration(ratio.subject_s)} against {_duration(ratio.reference_s)}, {ratio.rounds} rounds"
    return Figure(
        key, what, ratio.value, limit, low=ratio.low, high=ratio.high, note="; ".join(filter(None, [costs, note]))
    )


def _duration(seconds: float) -> str:
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"

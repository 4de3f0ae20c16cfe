"""What came out for each framework, as rows of a table and as entries of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import table
from bench.agents.task import STEPS
from bench.measure import Ratio, ratio_of

OURS, OURS_WITH_HOOKS = "amplifier", "amplifier_with_hooks"
HEAD = ["framework", "CPU per step", "times ours", "agent made anew for each run", "times ours"]
LEGEND = (
    f"CPU time of a run of {STEPS} tool calls and a final answer, divided by {STEPS}: medians over groups of rounds; "
    "the middle half of the groups is in brackets."
)

_REASON_LENGTH = 160

Samples = Mapping[str, Sequence[float]]
"""CPU seconds of a run, by framework, one per round; round by round they belong together."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One framework beside ours; the ratios say how many times ours it costs."""

    name: str
    version: str
    what: str
    run: Ratio
    anew: Ratio

    def to_cells(self) -> list[str]:
        """The cells of the table."""
        return [f"{_title(self.name)} {self.version}, {self.what}", *self._costs(self.run), *self._costs(self.anew)]

    def to_dict(self) -> dict[str, Any]:
        """The entry in the file."""
        return {
            "version": self.version,
            "what": self.what,
            "run": _entry(self.run),
            "agent_made_anew": _entry(self.anew),
        }

    def _costs(self, ratio: Ratio) -> list[str]:
        factor = "1" if self.name == OURS else f"{ratio.value:.2g} × ({ratio.low:.2g}–{ratio.high:.2g})"
        return [_duration(per_step(ratio.subject_s)), factor]


@dataclass(frozen=True, slots=True)
class Missing:
    """A framework that could not be measured, and why."""

    name: str
    reason: str

    def to_cells(self) -> list[str]:
        """The cells of the table."""
        return [_title(self.name), f"not measured: {_shortened(self.reason)}", "–", "–", "–"]

    def to_dict(self) -> dict[str, Any]:
        """The entry in the file."""
        return {"not_measured": _shortened(self.reason)}


Row = Measured | Missing


def rows(
    abouts: Mapping[str, tuple[str, str]], samples: Mapping[str, Samples], missing: Mapping[str, str]
) -> list[Row]:
    """Every framework, the cheapest first, those without a figure last; ``samples`` are given by kind of run."""
    measured = [
        Measured(name, *about, *(_against_ours(samples[kind], name) for kind in ("run", "anew")))
        for name, about in abouts.items()
    ]
    measured.sort(key=lambda row: row.run.subject_s)
    return [*measured, *(Missing(*each) for each in missing.items())]


def render(rows: Sequence[Row]) -> str:
    """The table, and below it whether ours is what it should be."""
    return "\n".join([table.render(HEAD, [row.to_cells() for row in rows]), "", LEGEND, *verdicts(rows)])


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Ours, without and with handlers on every event, against the cheapest of the others, which have none."""
    measured = {row.name: row.run.subject_s for row in rows if isinstance(row, Measured)}
    ours = {name: measured.pop(name) for name in (OURS, OURS_WITH_HOOKS) if name in measured}
    if not measured:
        return ["There is nothing to compare with."]
    best = min(measured, key=lambda name: measured[name])
    return [_verdict(name, seconds / measured[best], best) for name, seconds in ours.items()]


def _verdict(name: str, share: float, best: str) -> str:
    told = f"{share:.2g} ×, expected < 1 ×: {'reached' if share < 1 else 'MISSED'}"
    with_handlers = " with handlers" if name == OURS_WITH_HOOKS else ""
    return f"Ours{with_handlers} against the cheapest of the others, {_title(best)}: {told}."


def per_step(seconds: float) -> float:
    """The share of one step in a run."""
    return seconds / STEPS


def _against_ours(samples: Samples, name: str) -> Ratio:
    return ratio_of(list(zip(samples[name], samples[OURS], strict=True)))


def _entry(ratio: Ratio) -> dict[str, Any]:
    return {
        "us_per_step": round(per_step(ratio.subject_s) * 1e6, 1),
        "times_ours": round(ratio.value, 3),
        "middle_half": [round(ratio.low, 3), round(ratio.high, 3)],
    }


def _title(name: str) -> str:
    return name.replace("_with_hooks", "").replace("_", "-")


def _duration(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def _shortened(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _REASON_LENGTH else f"{line[: _REASON_LENGTH - 1]}…"

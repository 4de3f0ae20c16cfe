"""Interleaved measurement: two things are timed in turn, in many short rounds, and compared round by round."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

Sample = Callable[[], float]
"""Runs something once or a few times and gives the CPU seconds of one operation."""

Work = Callable[[int], Awaitable[None]]
"""Does an operation that many times in a row."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: rounds per comparison and CPU seconds per sample."""

    rounds: int
    sample_s: float
    is_smoke: bool = False

    def rounds_of(self, weight: float) -> int:
        """The rounds for a comparison whose samples are longer or shorter than most."""
        return max(2, round(self.rounds * weight))

    def size(self, full: int, smoke: int) -> int:
        """A count that shrinks when nothing has to be proved but that the benchmark runs."""
        return smoke if self.is_smoke else full


GROUPS = 10
"""Into how many groups the rounds of a comparison are divided; fewer when there would be less than three in each."""

FULL = Effort(rounds=300, sample_s=0.002)
SMOKE = Effort(rounds=2, sample_s=0.0, is_smoke=True)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times the reference the subject costs: the median over groups of rounds, and the middle half of them."""

    value: float
    low: float
    high: float
    rounds: int
    subject_s: float
    reference_s: float


def compare(subject: Sample, reference: Sample, rounds: int) -> Ratio:
    """Measures both alternately, in changing order, and gives the ratio of their costs."""
    pairs: list[tuple[float, float]] = []
    with quiet_heap():
        for number in range(rounds):
            if number % 2:
                reference_s, subject_s = reference(), subject()
            else:
                subject_s, reference_s = subject(), reference()
            pairs.append((subject_s, reference_s))
    return ratio_of(pairs)


def compare_work(subject: Work, reference: Work, effort: Effort, weight: float = 1.0) -> Ratio:
    """Compares two kinds of async work in one event loop, each repeated until a sample is long enough to be timed."""
    with asyncio.Runner() as runner:
        samples = (repeated(runner, work, effort.sample_s) for work in (subject, reference))
        return compare(*samples, rounds=effort.rounds_of(weight))


def repeated(runner: asyncio.Runner, work: Work, sample_s: float) -> Sample:
    """A sample of ``work`` that takes about ``sample_s`` CPU seconds; finding out how often that is warms it up."""
    count = 1
    while (spent_s := runner.run(cpu_seconds(work, count)) * count) < sample_s:
        count *= max(2, min(10, int(sample_s / max(spent_s, 1e-9))))
    return lambda: runner.run(cpu_seconds(work, count))


async def cpu_seconds(work: Work, count: int) -> float:
    """CPU seconds of one operation when ``work`` does ``count`` of them."""
    # The work never waits for anything, so CPU time is all it takes; unlike time on the wall it does not grow when
    # other processes are given the processor meanwhile.
    begin = time.process_time_ns()
    await work(count)
    return (time.process_time_ns() - begin) / 1e9 / count


def ratio_of(pairs: list[tuple[float, float]]) -> Ratio:
    """The ratio of the costs that were measured in pairs of subject and reference."""
    # Within a group of rounds the minima are compared: they are what the work costs when nothing disturbs it, while
    # medians and means rise with the load of the machine, and more so for the side that touches more memory. The median
    # over the groups then guards against a lucky or unlucky minimum, and shows how far the figure can be trusted.
    size = max(len(pairs) // GROUPS, min(3, len(pairs) // 2), 1)
    groups = [pairs[begin : begin + size] for begin in range(0, len(pairs) - size + 1, size)]
    minima = [tuple(map(min, zip(*group, strict=True))) for group in groups]
    ratios = [subject_s / max(reference_s, 1e-9) for subject_s, reference_s in minima]
    low, _, high = quantiles(ratios, n=4)
    subject_s, reference_s = (median(times) for times in zip(*minima, strict=True))
    return Ratio(median(ratios), low, high, len(pairs), subject_s, reference_s)


@contextmanager
def quiet_heap() -> Iterator[None]:
    """Keeps what exists already out of garbage collections; those that the measured code causes count as its cost."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()

"""``python -m bench.peer``: the same script on this kernel and on the public ``amplifier-core`` wheel, side by side.

The wheel lives in an environment of its own, ``.venv-peer``, and is used through its public names only.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine, peer_environment, table
from bench.measure import ratio_of
from bench.peer_environment import PeerError
from bench.peer_process import ROOT, PeerProcess

RESULTS = Path(__file__).with_name("peer-results.json")

ROWS = {
    "emit_no_handlers": ("emit, no handlers", 40),
    "emit_1_handler": ("emit, 1 handler", 40),
    "emit_10_handlers": ("emit, 10 handlers", 40),
    "emit_1_mb": ("emit, 1 handler, 1 MB under one key", 40),
    "session": ("session: create, initialise 8 modules, a turn of 10 steps with 5 hooks on each event, clean up", 30),
    "mount_unmount": ("mount and unmount a tool", 20),
}
HEAD = ["what", "this kernel", f"amplifier-core {peer_environment.VERSION}", "factor", "expected", "verdict"]

_LEGEND = (
    "CPU time of one operation, from {rounds} rounds in each of {processes} pairs of processes: medians over groups of "
    "rounds; the middle half of the groups is in brackets."
)

Cost = tuple[float, float]
Pair = tuple[Cost, Cost]
"""What one operation costs here and on the peer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation on both kernels, in CPU microseconds; ``factor`` says how many times quicker this one is."""

    key: str
    ours_us: float
    peer_us: float
    factor: float
    low: float
    high: float
    wall_factor: float

    @property
    def is_reached(self) -> bool:
        """Whether the factor is what is expected."""
        return self.factor >= ROWS[self.key][1]

    def to_cells(self) -> list[str]:
        """The cells of the table."""
        what, expected = ROWS[self.key]
        factor = f"{self.factor:,.0f} × ({self.low:,.0f}–{self.high:,.0f})"
        verdict = "reached" if self.is_reached else "MISSED"
        return [what, _told(self.ours_us), _told(self.peer_us), factor, f"≥ {expected} ×", verdict]

    def to_dict(self) -> dict[str, Any]:
        """The entry in the JSON file."""
        what, expected = ROWS[self.key]
        return {
            "what": what,
            "ours_us": round(self.ours_us, 3),
            "peer_us": round(self.peer_us, 3),
            "factor": round(self.factor, 2),
            "middle_half": [round(self.low, 2), round(self.high, 2)],
            "wall_factor": round(self.wall_factor, 2),
            "expected": expected,
            "reached": self.is_reached,
        }


def main(arguments: list[str] | None = None) -> int:
    """Makes the environment when needed, measures, prints and writes."""
    options = _parse(arguments)
    conditions = machine.conditions()
    try:
        peer = peer_environment.ensure(ROOT / ".venv-peer")
        costs = _measure(sys.executable, str(peer), options.processes, options.rounds)
    except PeerError as error:
        print(error, file=sys.stderr)
        return 1
    rows = [_row(key, pairs) for key, pairs in costs.items()]
    print(f"\n{machine.in_words(conditions)}\n\n{table.render(HEAD, [row.to_cells() for row in rows])}\n")
    print(_LEGEND.format(rounds=options.rounds, processes=options.processes))
    results = {**conditions, "peer": peer_environment.VERSION, "results": {row.key: row.to_dict() for row in rows}}
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if options.strict and not all(row.is_reached for row in rows) else 0


def _measure(ours: str, peer: str, processes: int, rounds: int) -> dict[str, list[Pair]]:
    """Costs of each operation on both kernels: several processes of each, asked in turn for many short samples."""
    pairs: dict[str, list[Pair]] = {key: [] for key in ROWS}
    for number in range(processes):
        print(f"measuring, processes {number + 1} of {processes} …", file=sys.stderr, flush=True)
        with PeerProcess(ours) as our_process, PeerProcess(peer) as peer_process:
            _require_same_work(our_process, peer_process)
            for key in ROWS:
                pairs[key] += [_pair(our_process, peer_process, key, turn) for turn in range(rounds)]
    return pairs


def _pair(ours: PeerProcess, peer: PeerProcess, key: str, turn: int) -> Pair:
    """One round; who goes first changes from turn to turn."""
    if turn % 2:
        peer_cost, our_cost = peer.cost(key), ours.cost(key)
    else:
        our_cost, peer_cost = ours.cost(key), peer.cost(key)
    return our_cost, peer_cost


def _require_same_work(ours: PeerProcess, peer: PeerProcess) -> None:
    if ours.version == peer.version or peer.version != peer_environment.VERSION:
        raise PeerError(f"The wrong kernels were compared: {ours.version} with {peer.version}")
    if ours.handler_calls != peer.handler_calls:
        raise PeerError(f"A session calls {ours.handler_calls} handlers here and {peer.handler_calls} there")


def _row(key: str, costs: list[Pair]) -> Row:
    # CPU time of all threads counts, not time on the wall: it is stable on a busy machine, and kinder to the peer,
    # whose waiting for threads of its own is not charged.
    cpu, wall = (ratio_of([(peer[clock], ours[clock]) for ours, peer in costs]) for clock in (0, 1))
    return Row(
        key,
        ours_us=cpu.reference_s * 1e6,
        peer_us=cpu.subject_s * 1e6,
        factor=cpu.value,
        low=cpu.low,
        high=cpu.high,
        wall_factor=wall.value,
    )


def _told(microseconds: float) -> str:
    return f"{microseconds:.3g} µs" if microseconds < 1000 else f"{microseconds / 1000:.3g} ms"


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peer", description=__doc__)
    parser.add_argument("--processes", type=int, default=4, help="how many processes of each to run (default: 4)")
    parser.add_argument("--rounds", type=int, default=50, help="samples of each operation in a process (default: 50)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when an expected factor is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

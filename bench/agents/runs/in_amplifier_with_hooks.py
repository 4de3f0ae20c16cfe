"""The run in this repository with three handlers on every event."""

from __future__ import annotations

from functools import partial

from bench.agents.runs import in_amplifier

HANDLERS = 3

DISTRIBUTION = in_amplifier.DISTRIBUTION
WHAT = f"{in_amplifier.WHAT}, {HANDLERS} handlers on every event"

agent = partial(in_amplifier.agent, handlers=HANDLERS)

"""The demo's mount plan, and the turn that runs on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amplifier.demo.tool import CountLinesTool
from amplifier.demo.transcript import Transcript, Write
from amplifier_core.session import AmplifierSession

DEFAULT_PROMPT = "How many lines of Python are here?"
SCENARIO = Path(__file__).with_name("scenario.yaml")


def mount_plan(piece_delay_s: float = 0.0) -> dict[str, Any]:
    """Which module goes where, with its config; ``piece_delay_s`` gives readers time to see an answer stream."""
    return {
        "session": {
            "orchestrator": {
                "module": "loop-streaming",
                "config": {"max_iterations": 8, "stream_delay": piece_delay_s},
            },
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock", "config": {"scenario": str(SCENARIO)}}],
    }


async def run_turn(prompt: str, write: Write, piece_delay_s: float = 0.0) -> bool:
    """Runs one turn and writes its transcript and the load report; tells whether every module did its part."""
    session = AmplifierSession(mount_plan(piece_delay_s))
    try:
        async with session:
            await session.coordinator.mount("tools", CountLinesTool())
            session.coordinator.register_cleanup(Transcript(write).watch(session.coordinator.hooks))
            await session.execute(prompt)
    finally:
        write("\n")
        for line in str(session.report).splitlines():
            write(f"report  {line}\n")
    return session.report.is_clean

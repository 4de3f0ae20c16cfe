"""The demo's mount plan, and the turn that runs on it."""

from __future__ import annotations

from functools import partial
from typing import Any

from amplifier.demo import context, loop, provider, tool, transcript
from amplifier.demo.loader import EmbeddedLoader
from amplifier_core.session import AmplifierSession

DEFAULT_PROMPT = "How many lines of Python are here?"


def mount_plan() -> dict[str, Any]:
    """Which module goes where, with its config."""
    return {
        "session": {
            "orchestrator": {"module": "loop-demo", "config": {"max_rounds": 8}},
            "context": {"module": "context-list"},
        },
        "providers": [{"module": "provider-scripted"}],
        "tools": [{"module": "tool-count-lines"}],
        "hooks": [{"module": "hooks-transcript"}],
    }


async def run_turn(prompt: str, write: transcript.Write) -> bool:
    """Runs one turn and writes its transcript and the load report; tells whether every module did its part."""
    loader = EmbeddedLoader(
        {
            "loop-demo": loop.mount,
            "context-list": context.mount,
            "provider-scripted": provider.mount,
            "tool-count-lines": tool.mount,
            "hooks-transcript": partial(transcript.mount, write=write),
        }
    )
    async with AmplifierSession(mount_plan(), loader=loader) as session:
        await session.execute(prompt)
    write("")
    for line in str(session.report).splitlines():
        write(f"report  {line}")
    return session.report.is_clean

"""The plain rounds of a turn: ask the model, run the tools it calls, until it answers."""

from __future__ import annotations

from amplifier_modkit.turns.turn import Outcome, Turn


async def run_rounds(turn: Turn) -> Outcome:
    """How the turn ends: answered, stopped, or wrapped up at a limit."""
    while not turn.is_at_limit:
        if turn.token.is_cancelled:
            return await turn.stopped()
        reply = await turn.ask_model()
        if not reply.calls:
            return await turn.answered(reply)
        if await turn.run_tools(reply) == "stop":
            return await turn.wrapped_up("repeated_calls")
    return await turn.wrapped_up("max_iterations")

"""What a user says while the agent works: queued, and put into the conversation before the next model call."""

from __future__ import annotations

from collections import deque

from amplifier_modkit.events import ORCHESTRATOR_STEERING_INJECTED
from amplifier_modkit.turns.stopping import finish
from amplifier_modkit.turns.turn import Turn

CAPACITY = 100
"""Messages that may wait; further ones are turned away."""


class Steering:
    """The queue behind the capability ``session.steer``; lives as long as the loop, so that nothing said is lost."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()

    @property
    def is_waiting(self) -> bool:
        """Whether somebody has said something."""
        return bool(self._waiting)

    def steer(self, content: str) -> bool:
        """Queues a user message for the next round; tells whether there was room for it.

        Raises ``ValueError`` for a message without text.
        """
        if not content.strip():
            raise ValueError("A steering message needs some text")
        if len(self._waiting) >= CAPACITY:
            return False
        self._waiting.append(content)
        return True

    async def inject(self, turn: Turn) -> None:
        """Puts what was said into the conversation, in order."""
        while self._waiting:
            content = self._waiting[0]
            await finish(self._store_first(turn))
            facts = {"content": content, "iteration": turn.model_calls + 1, "queued_remaining": len(self._waiting)}
            await turn.gate.tell(ORCHESTRATOR_STEERING_INJECTED, facts)

    async def _store_first(self, turn: Turn) -> None:
        # It leaves the queue once it is stored: a store that fails, or is cut off before, must not lose it.
        await turn.store({"role": "user", "content": self._waiting[0], "metadata": {"source": "steering"}})
        self._waiting.popleft()

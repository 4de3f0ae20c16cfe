"""The messages of the next request, kept up to date while the conversation grows."""

from __future__ import annotations

from collections.abc import Sequence

from amplifier_modkit.memory.pairing import Healed, Pairing
from amplifier_modkit.memory.plan import Plan
from amplifier_modkit.memory.shapes import is_system, source_of
from amplifier_modkit.memory.tokens import estimate
from amplifier_modkit.messages import Message


class RunningView:
    """A history as a plan shows it; made anew by each compaction, and between two of them only appended to.

    With ``hides_system`` stored instructions are not in it, since the system prompt is made for each request; what
    hooks and memory files put in stays.
    """

    def __init__(self, history: Sequence[Message], estimates: Sequence[int], plan: Plan, *, hides_system: bool) -> None:
        self._pairing = Pairing()
        self._hides_system = hides_system
        self.tokens = 0
        """The estimated tokens of all its messages."""
        self.hidden_tokens = 0
        """Those of the instructions that are not in it."""
        for index, message in plan.shaped(history):
            if index is None or message is not history[index]:
                self.append(message, estimate(message))
            else:
                self.append(message, estimates[index])
        for index in range(plan.covers, len(history)):
            self.append(history[index], estimates[index])

    def append(self, message: Message, tokens: int) -> None:
        """Takes the next message of the history."""
        if self._hides_system and is_system(message) and source_of(message) not in ("hook", "context"):
            self.hidden_tokens += tokens
            return
        self._pairing.add(message)
        self.tokens += tokens

    def healed(self) -> Healed:
        """The messages as they can be sent, in a list of the caller's own, and what had to be done to them."""
        return self._pairing.healed()

"""A conversation as a context holds it: the whole history, the plan for its beginning, and the view that follows."""

from __future__ import annotations

from collections.abc import Iterable

from amplifier_modkit.memory.plan import Plan
from amplifier_modkit.memory.shapes import is_real_user
from amplifier_modkit.memory.tokens import estimate
from amplifier_modkit.memory.view import RunningView
from amplifier_modkit.messages import Message


class Conversation:
    """Everything that was said, in order; lives as long as its context.

    ``history`` is only appended to, or replaced as a whole, which begins another ``generation``: a plan that was made
    for one history means nothing for the next.
    """

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.estimates: list[int] = []
        """The estimated tokens of each message of the history."""
        self.plan = Plan()
        self.generation = 0
        self.prompts = 0
        """How often the user has spoken."""
        self._hides_system = False
        self.view = self._make_view()

    def append(self, message: Message) -> None:
        """Adds a message at the end."""
        tokens = estimate(message)
        self.history.append(message)
        self.estimates.append(tokens)
        self.view.append(message, tokens)
        self.prompts += is_real_user(message)

    def replace(self, messages: Iterable[Message], plan: Plan) -> None:
        """Puts another history, and the plan that belongs to it, in the place of this one."""
        self.history = list(messages)
        self.estimates = [estimate(message) for message in self.history]
        self.generation += 1
        self.follow(plan)

    def follow(self, plan: Plan) -> None:
        """Shows the history by ``plan`` from now on."""
        self.plan = plan
        self.view = self._make_view()

    def hide_system(self, hides: bool) -> None:
        """Whether stored instructions are left out of the view."""
        if hides != self._hides_system:
            self._hides_system = hides
            self.view = self._make_view()

    def _make_view(self) -> RunningView:
        return RunningView(self.history, self.estimates, self.plan, hides_system=self._hides_system)

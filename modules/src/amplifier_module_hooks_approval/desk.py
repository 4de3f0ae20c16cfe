"""The one desk at which a session and its children ask: one question at a time, and each question once.

A child's copy of the module finds the desk of its parent, so that the parent's guard, which guards the child too, and
the child's own know of each other's answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from amplifier_module_hooks_approval.calls import Call, as_text
from amplifier_module_hooks_approval.modes import ApprovalMode
from amplifier_module_hooks_approval.questions import Answer
from amplifier_module_hooks_approval.rules import Rule

DESK = "approval.desk"
"""The capability under which it is found."""

_MOST_KEPT = 1_000

Key = tuple[str, ...]


class ApprovalDesk:
    """What guards of one tree of sessions share; lives as long as any of them."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        """Whoever asks holds it."""
        self.provider: Any = None
        """Who is asked in place of the approval system."""
        self.learned: list[Rule] = []
        """Rules from answers, for all sessions of the tree."""
        self.modes: dict[str, ApprovalMode] = {}
        """By session."""
        self.homes: dict[str, Any] = {}
        """The coordinators of the sessions that have a guard of their own."""
        self._answers: dict[Key, Answer] = {}
        self._grants: dict[Key, set[Key]] = {}

    def register_provider(self, provider: Any) -> None:
        """Has ``provider`` asked from now on; ``None`` leaves it to the approval system again."""
        if provider is not None and not callable(getattr(provider, "request_approval", None)):
            raise TypeError(f"An approval provider needs 'request_approval', which {type(provider).__name__} has not")
        self.provider = provider

    def granted(self, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """Whether this very call was allowed by a rule, the mode or a person; each allowance counts once.

        For tools that do nothing doubtful without it.
        """
        calls = self._grants.get((tool_name, as_text(tool_input)))
        if not calls:
            return False
        calls.pop()
        return True

    def note_grant(self, call: Call) -> None:
        """Keeps that a call was allowed."""
        self._grants.setdefault((call.name, call.input_text), set()).add(call.key)
        _forget_oldest(self._grants)

    def withdraw_grant(self, call: Call) -> None:
        """Takes back what another guard has allowed."""
        self._grants.get((call.name, call.input_text), set[Key]()).discard(call.key)

    def answer_to(self, call: Call) -> Answer | None:
        """The answer, if there was a question about this very call."""
        return self._answers.get(call.key)

    def note_answer(self, call: Call, answer: Answer) -> None:
        """Keeps the answer for other guards of the same call."""
        self._answers[call.key] = answer
        _forget_oldest(self._answers)

    def learn(self, rule: Rule) -> None:
        """Keeps a rule for the rest of the session."""
        self.learned.append(rule)


def _forget_oldest(kept: dict[Key, Any]) -> None:
    while len(kept) > _MOST_KEPT:
        del kept[next(iter(kept))]

"""What every framework is asked to do: ten calls of one trivial tool, one after the other, then a final text."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

STEPS = 10
PROMPT = "Read the ten entries and tell me whether all of them are there."
TOOL = "look_up"
DESCRIPTION = "Gives the entry with that number."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer", "description": "Which entry."}},
    "required": ["number"],
}
ENTRIES = [f"This is entry {number}." for number in range(STEPS)]
ANSWER = "All ten entries are there."
INPUT_TOKENS, OUTPUT_TOKENS = 100, 10

Run = Callable[[], Awaitable[str]]
"""Runs the task once, from an empty conversation, and gives the final text."""

Answer = TypeVar("Answer")


class WrongRunError(Exception):
    """A framework did something else than it was asked to, so its cost would mean nothing."""


class LookUp:
    """The tool's work, the same for all: gives a text and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, number: int) -> str:
        """The entry with that number."""
        self.calls += 1
        return ENTRIES[number]


class Framework(Protocol):
    """A file of ``bench.agents.runs``."""

    DISTRIBUTION: str
    """What is installed, for the version in the table."""
    WHAT: str
    """What of it is used."""

    def agent(self, look_up: LookUp) -> AbstractAsyncContextManager[Run]:
        """Makes the agent, hands out its run, and takes the agent down again."""
        ...


class Script(list[Answer]):
    """The model's answers of one run in the framework's own form, made beforehand and given again in each run."""

    def __init__(self, calling: Callable[[str, dict[str, Any]], Answer], final: Answer) -> None:
        super().__init__(calling(f"call-{step}", {"number": step}) for step in range(STEPS))
        self.append(final)
        self._given = 0

    def next(self) -> Answer:
        """The next answer; after the last one, the first again."""
        answer = self[self._given]
        self._given = (self._given + 1) % len(self)
        return answer


def as_json(arguments: dict[str, Any]) -> str:
    """Arguments in the form in which models send them."""
    return json.dumps(arguments)


def require_right(text: object, look_up: LookUp, runs: int = 1) -> None:
    """Raises ``WrongRunError`` unless the tool ran ten times in each run and the final text came back."""
    if text != ANSWER:
        raise WrongRunError(f"The final text is {text!r} instead of {ANSWER!r}")
    if look_up.calls != runs * STEPS:
        raise WrongRunError(f"The tool ran {look_up.calls} times instead of {runs * STEPS}")

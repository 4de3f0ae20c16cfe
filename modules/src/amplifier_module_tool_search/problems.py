"""What the search tools cannot do, told to the model.

ProblemError            a tool cannot do what it was asked
├── InputError          the input of the call cannot be used
│   └── PatternError    a pattern cannot be used; ``position`` is where it goes wrong
├── TooLongError        the search did not end in time
└── EngineError         what searches the files could not do its work
"""

from __future__ import annotations

from typing import ClassVar


class ProblemError(Exception):
    """A tool cannot do what it was asked; the message tells the model why, and what to do."""

    kind: ClassVar[str] = "not_possible"
    """What the result's error has as ``type``."""


class InputError(ProblemError):
    """The input of a tool call cannot be used."""

    kind = "invalid_input"


class PatternError(InputError):
    """A pattern cannot be used; tells where it goes wrong, counted from 0."""

    kind = "invalid_pattern"

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"The pattern cannot be used, at position {position}: {what}")
        self.position = position


class TooLongError(ProblemError):
    """The search did not end in time."""

    kind = "timeout"

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            f"The search did not end within {timeout_s:g} s and was stopped. Search a smaller folder with 'path', "
            "narrow the files with 'glob' or 'type', or simplify the pattern."
        )


class EngineError(ProblemError):
    """What searches the files could not do its work."""

    kind = "engine"

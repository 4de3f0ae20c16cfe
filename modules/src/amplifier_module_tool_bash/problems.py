"""What the tools cannot do, told to the model.

ProblemError            a call cannot be carried out
├── InputError          its input cannot be used
├── RefusedError        the rules refuse the command
└── ApprovalError       the command needs an approval that nobody gave
"""

from __future__ import annotations

from typing import ClassVar


class ProblemError(Exception):
    """A call cannot be carried out; the message tells the model why, and what to do."""

    kind: ClassVar[str] = "not_possible"
    """What the result's error has as ``type``."""


class InputError(ProblemError):
    """The input of a call cannot be used."""

    kind = "invalid_input"


class RefusedError(ProblemError):
    """The rules refuse a command."""

    kind = "denied"


class ApprovalError(ProblemError):
    """A command needs an approval that nobody gave."""

    kind = "approval_required"

"""What the file tools cannot do, told to the model.

ProblemError            a tool cannot do what it was asked
├── InputError          the input of the call cannot be used
├── StaleError          a file was not read in this session, or is not the one that was read
├── EncodingError       a text cannot be written in the encoding of its file
├── EditError           an edit does not fit the file
└── PatchError          a patch cannot be understood, or does not fit
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


class StaleError(ProblemError):
    """A file was not read in this session, or is not the one that was read."""

    kind = "stale"


class EncodingError(ProblemError):
    """A text cannot be written in the encoding of its file."""

    kind = "encoding"


class EditError(ProblemError):
    """An edit does not fit the file."""

    kind = "no_match"


class PatchError(ProblemError):
    """A patch cannot be understood, or does not fit."""

    kind = "patch"

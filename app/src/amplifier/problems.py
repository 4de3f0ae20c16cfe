"""What the command cannot do, told to its user: what failed, what to do next, and the exit code.

Problem                 something failed that the user can do something about
├── UsageProblem        the command was called in a way it does not understand
├── SettingsProblem     settings or keys cannot be read, used or written
├── BundleProblem       a bundle cannot be found, read or put together
├── SourceProblem       other people's code cannot be fetched, or is not what was locked
├── SessionProblem      a stored session is not there, not the only one, or in use
├── ProviderProblem     no model can be asked: no provider, no key, or it refuses
├── LimitProblem        a limit of turns or money ended the work
├── TimeoutProblem      the time that was given is over
└── StorageProblem      a file of ours or the output cannot be read or written
"""

from __future__ import annotations

from typing import ClassVar

EXIT_CODES: dict[int, str] = {
    0: "all is well",
    1: "the work failed, or the answer to the question is no",
    2: "the command was called wrongly",
    53: "a limit of turns or of money ended the work",
    66: "a stored session is not there, not the only one that fits, or in use",
    69: "no model can be asked: no provider, no key, or it refuses",
    70: "an error inside the command; please report it",
    74: "a file or the output cannot be read or written",
    78: "settings, keys, a bundle or a source cannot be used",
    124: "the time that was given is over",
    129: "the terminal has gone (SIGHUP)",
    130: "interrupted (Ctrl-C)",
    141: "whoever read the output has gone",
    143: "terminated (SIGTERM)",
}
"""Every exit code of the command, with what it means."""


class Problem(Exception):  # noqa: N818 - nothing is broken: it is a message to a user
    """Something failed that the user can do something about; shown without a traceback."""

    exit_code: int = 1
    kind: ClassVar[str] = "error"
    """What a JSON result has as ``type``."""

    def __init__(self, message: str, hint: str = "", *, exit_code: int | None = None) -> None:
        """``message`` tells what failed, on what, and what was expected; ``hint`` what to do next."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def to_dict(self) -> dict[str, str]:
        """The problem as it stands in a JSON result."""
        return {"type": self.kind, "message": self.message, "hint": self.hint}


class UsageProblem(Problem):
    """The command was called in a way it does not understand."""

    exit_code = 2
    kind = "usage"


class SettingsProblem(Problem):
    """Settings or keys cannot be read, used or written."""

    exit_code = 78
    kind = "settings"


class BundleProblem(Problem):
    """A bundle cannot be found, read or put together."""

    exit_code = 78
    kind = "bundle"


class SourceProblem(Problem):
    """A source of modules or bundles cannot be fetched, or is not what was locked."""

    exit_code = 78
    kind = "source"


class SessionProblem(Problem):
    """A stored session is not there, not the only one that fits, or in use."""

    exit_code = 66
    kind = "session"


class ProviderProblem(Problem):
    """No model can be asked: no provider, no key, or it refuses."""

    exit_code = 69
    kind = "provider"


class LimitProblem(Problem):
    """A limit of turns or of money ended the work."""

    exit_code = 53
    kind = "limit"


class TimeoutProblem(Problem):
    """The time that was given is over."""

    exit_code = 124
    kind = "timeout"


class StorageProblem(Problem):
    """A file of ours or the output cannot be read or written."""

    exit_code = 74
    kind = "storage"

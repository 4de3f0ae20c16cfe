"""What can go wrong with a server, told so that a person or a model knows what to do next.

ServerError
├── InvalidEntryError    what is written about the server cannot be used
├── NotAllowedError      the server comes with the project, and nobody has said that it may run
├── NotInstalledError    the SDK is missing
├── AuthorizationError   the server wants to know who is there, and that did not work out
├── UnreachableError     it cannot be reached
│   └── NotStartedError  there is no such command
├── TimedOutError        it took longer than is allowed
├── LostError            the connection ended under way
│   └── ForgottenError   and the server has not begun what it was asked for
└── AnsweredError        the server itself says no
    └── DeniedError      and will say so again
"""

from __future__ import annotations


class ServerError(Exception):
    """Something that is told instead of a result; ``kind`` is its name for programs."""

    kind = "mcp_error"
    is_lasting = False
    """Whether trying again changes nothing."""


class InvalidEntryError(ServerError):
    """What is written about the server cannot be used."""

    kind = "invalid_entry"
    is_lasting = True


class NotAllowedError(ServerError):
    """The server comes with the project, and nobody has said that it may run."""

    kind = "not_allowed"
    is_lasting = True


class NotInstalledError(ServerError):
    """The SDK is missing."""

    kind = "not_installed"
    is_lasting = True

    def __init__(self) -> None:
        super().__init__("the library 'mcp' is not installed; run: pip install 'amplifier-modules[mcp]'")


class AuthorizationError(ServerError):
    """The server wants to know who is there, and that did not work out."""

    kind = "authorization"
    is_lasting = True


class UnreachableError(ServerError):
    """It cannot be reached."""

    kind = "unreachable"


class NotStartedError(UnreachableError):
    """The command of the server cannot be started at all."""

    is_lasting = True


class TimedOutError(ServerError):
    """It took longer than is allowed."""

    kind = "timeout"


class LostError(ServerError):
    """The connection ended under way; whether a call had its effect is not known."""

    kind = "connection_lost"


class ForgottenError(LostError):
    """The server does not know us any more, and has not begun what it was asked for."""


class AnsweredError(ServerError):
    """The server itself says no."""

    kind = "server_error"


class DeniedError(AnsweredError):
    """The server says no, and will say so again: it does not let us in, or is no MCP server."""

    is_lasting = True

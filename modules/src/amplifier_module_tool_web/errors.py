"""What can go wrong between a tool and the web, told so that a model knows what to do next.

WebError
├── InvalidInputError   the tool was not given what it needs
├── RefusedError        the guard says no: to an address, a name, a port, a redirect
├── UnreachableError    nobody answers there, or what answers is no proper HTTP
├── TimedOutError       it took longer than is allowed
├── BadContentError     what came cannot be read
├── NotSavedError       what came could not be written to a file
├── NotConfiguredError  something must be set up first
└── NotInstalledError   a library of the extra is missing
"""

from __future__ import annotations

from amplifier_core.models import ToolResult

_MOST_CHARS = 200


class WebError(Exception):
    """Something that a tool tells instead of a result; ``kind`` is its name for programs."""

    kind = "web_error"


class InvalidInputError(WebError):
    """The tool was not given what it needs."""

    kind = "invalid_input"


class RefusedError(WebError):
    """The guard does not let it happen."""

    kind = "refused"


class UnreachableError(WebError):
    """There is no answer, or none that is proper HTTP."""

    kind = "unreachable"


class TimedOutError(WebError):
    """A time limit was reached."""

    kind = "timeout"


class BadContentError(WebError):
    """The content cannot be read."""

    kind = "bad_content"


class NotSavedError(WebError):
    """The content could not be written to a file."""

    kind = "not_saved"


class NotConfiguredError(WebError):
    """Something must be set up first."""

    kind = "not_configured"


class NotInstalledError(WebError):
    """A library is missing."""

    kind = "not_installed"

    def __init__(self, library: str) -> None:
        super().__init__(
            f"The library '{library}' is not installed. Tell the user to run: pip install 'amplifier-modules[web]'"
        )


def to_failure(error: WebError) -> ToolResult:
    """The result that tells a model what went wrong."""
    return ToolResult(success=False, error={"type": error.kind, "message": str(error)})


def shown(text: str) -> str:
    """A text of strangers as one printable line of bounded length, for messages."""
    clipped = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in clipped)

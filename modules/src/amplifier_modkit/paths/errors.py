"""What can be wrong with a path, told so that a model or its user knows what to do instead.

OSError
└── PathError             a path cannot be used; ``path`` is what was asked for
    ├── PathDeniedError   the policy refuses it; ``rule`` says why
    ├── InvalidPathError  it is no path: empty, too long, with a NUL in it
    └── UnstablePathError it leads somewhere else each time: a loop of links, or somebody changes it meanwhile
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

_MOST_CHARS = 1000


class PathError(OSError):
    """A path cannot be used as it was asked for."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class PathDeniedError(PathError):
    """The policy refuses a path; the message names it, the rule, and the way out."""

    def __init__(self, verb: str, path: str, rule: str, way_out: str) -> None:
        super().__init__(f"Not allowed to {verb} {shown(path)}: {rule}. {way_out}", path)
        self.rule = rule


class InvalidPathError(PathError):
    """A text is no path."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"The path {shown(path)!r} {what}. Give the path of a file.", path)


class UnstablePathError(PathError):
    """A path does not lead to one place."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"The path {shown(path)} {what}. Look at its folders and try again.", path)


@contextmanager
def naming(path: str) -> Generator[None]:
    """Lets what the operating system raises in the block tell the whole path, not only the name in its folder."""
    try:
        yield
    except PathError:
        raise
    except OSError as error:
        error.filename = path
        raise


def shown(path: str) -> str:
    """The path as one line of printable text of bounded length: names of files may be chosen to deceive."""
    text = "".join(each if each.isprintable() else _escaped(each) for each in path[: _MOST_CHARS + 1])
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

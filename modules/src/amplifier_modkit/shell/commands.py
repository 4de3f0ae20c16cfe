"""What a shell text does, as data: its simple commands, and what is certain about them.

These are the answers of the parser. Rules and approvals decide on them, never on the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Literal

from amplifier_modkit.shell.words import Word

Access = Literal["read", "write", "remove"]


class Mark(Enum):
    """What else is to be known about a command."""

    WRAPPER = "wrapper"
    """It does nothing of its own; the command that it runs is in the list too."""
    PRIVILEGED = "privileged"
    """It runs as somebody else."""
    REMOTE = "remote"
    """It runs on another machine."""
    CONTAINER = "container"
    """It runs in a container."""
    RUNS_CODE = "runs_code"
    """It runs code of a language that is not read here, given on the command line or on standard input."""
    RUNS_FILE = "runs_file"
    """It runs a file of code."""
    BREAKS_OUT = "breaks_out"
    """Its trade is another one, but with these words it runs code or a file of code; a rule about its name is no
    leave for that."""
    OPAQUE = "opaque"
    """It runs commands that the text does not show."""
    UNSURE = "unsure"
    """A word that is not known may be an option with which it runs something."""
    GUESS = "guess"
    """It may turn out to be this command; good for a refusal only."""


ELSEWHERE = frozenset({Mark.REMOTE, Mark.CONTAINER, Mark.PRIVILEGED})
"""Who runs there, or as that user, does more than the same command here: it takes a rule about the outer command."""


@dataclass(slots=True, eq=False)
class Redirection:
    """A redirection of a command; complete once the text is parsed."""

    op: str
    fd: str
    """The number or name before the operator; empty if there is none."""
    target: Word
    body: Word | None = None
    """The text of a here-document or here-string."""

    @property
    def access(self) -> Access | None:
        """What it does to the file that its target names; ``None`` if the target is no file."""
        if self.body is not None or (self.op in (">&", "<&") and _is_descriptor(self.target)):
            return None
        return "read" if self.op in ("<", "<&") else "write"

    @property
    def is_input(self) -> bool:
        """Whether it is where standard input comes from."""
        return self.op.startswith("<") and self.fd in ("", "0")


def _is_descriptor(target: Word) -> bool:
    value = target.value
    return value == "-" or (value is not None and value.rstrip("-").isdigit())


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that gets a value, as a statement of its own or for one command."""

    name: str
    value: Word
    is_append: bool = False
    subscript: str | None = None
    elements: tuple[Word, ...] | None = None
    """The values of an array."""


@dataclass(frozen=True, slots=True)
class Target:
    """A path that a command reads, writes or removes."""

    path: Word
    access: Access
    is_recursive: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Feed:
    """What is certain about a command's standard input."""

    text: str | None
    """All of it, if it is known and if nobody else reads from it."""
    guess: str = ""
    """What it may be."""
    programs: tuple[str, ...] = ()
    """The names of the programs that write it."""


@dataclass(frozen=True, eq=False)
class SimpleCommand:
    """One program, function or builtin with its words; or assignments and redirections alone."""

    argv: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    is_background: bool = False
    is_piped: bool = False
    """Whether it is part of a pipeline of several commands."""
    function: str | None = None
    """The function in whose body it stands."""
    origin: tuple[str, ...] = ()
    """The wrappers through which it runs, outermost first."""
    marks: frozenset[Mark] = frozenset()
    is_elsewhere: bool = False
    """Whether one of the wrappers runs it on another machine, in a container or as another user."""
    targets: tuple[Target, ...] = ()
    feed: Feed | None = None
    """Its standard input, if that is a pipe, a file or a text."""

    @cached_property
    def name(self) -> str:
        """The program's own name in lower case, without folder; empty if it is not known or if there is none."""
        value = self.argv[0].value if self.argv else None
        return "" if value is None else program_name(value)

    @cached_property
    def values(self) -> tuple[str | None, ...]:
        """The words behind the name; ``None`` for what is not known."""
        return tuple(word.value for word in self.argv[1:])

    @property
    def is_dynamic(self) -> bool:
        """Whether it is not known which program runs."""
        return bool(self.argv) and self.argv[0].value is None

    @property
    def text(self) -> str:
        """The command for people to read."""
        given = [f"{each.name}={each.value.text}" for each in self.assignments]
        redirected = [f"{each.fd}{each.op} {each.target.text}" for each in self.redirections]
        return " ".join([*given, *(word.text for word in self.argv), *redirected])


def program_name(path: str) -> str:
    """The name of the program at ``path``, as rules spell it: file systems may not tell ``SUDO`` from ``sudo``."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold().removesuffix(".exe") or path


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that the text does which cannot be followed, such as evaluating data as code."""

    id: str
    detail: str


@dataclass(frozen=True, eq=False)
class ParsedCommand:
    """Everything that is known of a shell text."""

    text: str
    commands: tuple[SimpleCommand, ...] = ()
    """Every simple command anywhere in it, in the order of the text; those inside wrappers follow the wrapper."""
    functions: frozenset[str] = frozenset()
    """The names of the functions that it defines."""
    doubts: tuple[Doubt, ...] = ()
    problems: tuple[str, ...] = field(default=())
    """Why it is not understood."""

    @property
    def is_understood(self) -> bool:
        """Whether the list of commands is complete."""
        return not self.problems

    @property
    def reason(self) -> str:
        """Why it is not understood; empty if it is."""
        return self.problems[0] if self.problems else ""

    @cached_property
    def folders(self) -> tuple[Word | None, ...]:
        """The folders that it goes to, in order; ``None`` is the home folder."""
        folders: list[Word | None] = []
        for command in self.commands:
            words = command.argv[1:]
            if command.name in ("cd", "pushd", "chdir"):
                folders.append(next((word for word in words if not word.known_start.startswith("-")), None))
            elif command.name == "env":
                folders += [folder for option, folder in pairwise(words) if option.value in ("-C", "--chdir")]
        return tuple(folders)

    @property
    def certain(self) -> tuple[SimpleCommand, ...]:
        """The commands without the guesses."""
        return tuple(command for command in self.commands if Mark.GUESS not in command.marks)

    @property
    def targets(self) -> tuple[Target, ...]:
        """All paths that certain commands name, whatever they do to them."""
        return tuple(target for command in self.certain for target in command.targets)

    @property
    def reads(self) -> tuple[Word, ...]:
        """Paths that are read."""
        return tuple(target.path for target in self.targets if target.access == "read")

    @property
    def writes(self) -> tuple[Word, ...]:
        """Paths that are written or removed."""
        return tuple(target.path for target in self.targets if target.access != "read")

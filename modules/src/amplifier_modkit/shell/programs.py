"""How programs run other programs: the forms that there are, as data for a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from amplifier_modkit.shell.commands import Mark
from amplifier_modkit.shell.options import OptionTable, option_table


class Form(Enum):
    """What the words behind the options are."""

    PLAIN = "plain"
    """Nothing that is run."""
    COMMAND = "command"
    """A command with its words."""
    TEXT = "text"
    """A shell text, once they are put together with blanks."""
    FIRST_TEXT = "first_text"
    """The first is a shell text."""
    DEFINITIONS = "definitions"
    """``name=text`` each, with a shell text."""
    SETTING = "setting"
    """A key and its value, which is a shell text for some keys."""
    SHELL = "shell"
    """A script of a shell: a text with ``-c``, a file, or standard input."""
    FILE = "file"
    """A file of code, or none if the code comes by standard input."""
    PROGRAM = "program"
    """The first is a program in a small language, unless an option has brought it."""
    ACTIONS = "actions"
    """Expressions, among them commands that end with ``;`` or ``+``."""
    TEMPLATE = "template"
    """A shell text that inputs are added to; inputs follow behind ``:::``."""
    ADDRESSES = "addresses"
    """``kind:text`` each, with a shell text for some kinds."""
    SUBCOMMANDS = "subcommands"
    """The first says how to go on."""


@dataclass(frozen=True, slots=True)
class Program:
    """How one program runs others."""

    form: Form = Form.PLAIN
    options: OptionTable = field(default_factory=OptionTable)
    skip: int = 0
    """How many words come before the command."""
    may_skip_none: bool = False
    """Whether those words may be left out."""
    is_permuted: bool = False
    """Whether options may follow other words."""
    resumes: bool = False
    """Whether options may follow the words that come before the command."""
    is_bundled: bool = False
    """Whether the first word may be a row of options without a dash."""
    takes_assignments: bool = False
    appends_input: bool = False
    """Whether words that it reads are added to the command."""
    keys: tuple[str, ...] = ()
    """Patterns of the keys whose values are shell texts."""
    language: str = ""
    """The small language of its programs."""
    by_input: str = ""
    """What it takes standard input for if nothing else is given: a script, or code."""
    marks: frozenset[Mark] = frozenset()
    plus_is_code: bool = False
    """Whether a word that begins with a plus sign is code."""
    dialect: Literal["bash", "posix", "other"] = "bash"
    """How a shell reads texts: as bash does, as bash does without its own inventions, or in its own way."""
    subcommands: Mapping[str, Program] = field(default_factory=dict[str, "Program"])

    @property
    def is_for_code(self) -> bool:
        """Whether running code is what it is for."""
        return self.form in (Form.SHELL, Form.FILE)


def program(form: Form = Form.PLAIN, options: str = "", **facts: object) -> Program:
    """A row of the table; see ``option_table`` for how options are written."""
    return Program(form, option_table(options), **facts)  # pyright: ignore[reportArgumentType]

"""``parse``: from a shell text to everything it does.

The text is read twice, here and by tree-sitter; then every command is looked into for what it runs in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from amplifier_modkit.shell.agreement import disagreement
from amplifier_modkit.shell.commands import ELSEWHERE, Feed, Mark, ParsedCommand, Redirection, SimpleCommand
from amplifier_modkit.shell.drafts import MOST_COMMANDS, Draft, Notes, ShellTextError, Write
from amplifier_modkit.shell.evaluations import evaluation_doubts, loading_doubts
from amplifier_modkit.shell.grammar import Reader
from amplifier_modkit.shell.outputs import TRUSTED_PROGRAMS, known_output
from amplifier_modkit.shell.targets import targets_of
from amplifier_modkit.shell.terms import MAX_CHARS
from amplifier_modkit.shell.unwrapping import contents_of
from amplifier_modkit.shell.variables import Variables
from amplifier_modkit.shell.words import Kind, Word

_MOST_NESTED_CHARS = 2 * MAX_CHARS
_MAX_WRAPPERS = 12
# What holds for a command holds for what it runs.
_INHERITED = frozenset({Mark.PRIVILEGED, Mark.REMOTE, Mark.CONTAINER, Mark.GUESS})
_HOLE = "${hole}"


def parse(text: str) -> ParsedCommand:
    """Everything that is known of ``text``.

    Never raises: what cannot be followed is in ``problems``, and the commands found so far are there all the same.
    """
    parser = _Parser()
    if len(text) > MAX_CHARS:
        return ParsedCommand(text, problems=(f"it is longer than {MAX_CHARS:,} characters",))
    if "\0" in text:
        parser.problems.append("it has a NUL character")
    parser.read(text, None, "bash")
    return ParsedCommand(
        text,
        tuple(parser.commands),
        frozenset(parser.notes.functions),
        tuple(dict.fromkeys([*parser.notes.doubts, *evaluation_doubts(parser.notes), *loading_doubts(parser.notes)])),
        tuple(dict.fromkeys(parser.problems)),
    )


class _Parser:
    """Collects what one text does, with all the texts inside of it."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.problems: list[str] = []
        self.notes = Notes()
        """What was noted in all texts together; a variable of one can be evaluated in another."""
        self._chars = 0

    def read(self, text: str, outer: SimpleCommand | None, dialect: str) -> None:
        """Reads a text that ``outer`` runs; what is wrong with a guess is no problem."""
        self._chars += len(text)
        if self._chars > _MOST_NESTED_CHARS:
            self.problems.append("the texts inside of it are too long")
            return
        notes, problems = _notes_of(text)
        is_guess = outer is not None and Mark.GUESS in outer.marks
        if not is_guess:
            self.problems += problems
            self.problems += _dialect_problems(notes, dialect)
            self.notes.adopt("", notes)
        variables = Variables(notes)
        for draft in notes.drafts:
            self._add(_finished(draft, variables, outer), variables)

    def _add(self, command: SimpleCommand, variables: Variables) -> None:
        if len(self.commands) >= MOST_COMMANDS or len(command.origin) > _MAX_WRAPPERS:
            self.problems.append("commands are wrapped in too many others")
            return
        contents = contents_of(command)
        marks = command.marks | contents.settled_marks()
        command = replace(command, marks=marks, targets=targets_of(command))
        self.commands.append(command)
        if Mark.GUESS not in marks:
            for guess in variables.guessed(command.argv):
                self._add(replace(command, argv=tuple(guess), marks=command.marks | {Mark.GUESS}), variables)
        inner = replace(
            command,
            redirections=(),
            assignments=(),
            targets=(),
            marks=marks & _INHERITED,
            origin=(*command.origin, command.name),
            is_elsewhere=not ELSEWHERE.isdisjoint(marks),
        )
        for words, assignments in contents.commands:
            self.notes.writes.extend(Write(each.name, each.value) for each in assignments)
            self._add(replace(inner, argv=words, assignments=assignments), variables)
        for words in contents.guesses:
            self._add(replace(inner, argv=words, marks=inner.marks | {Mark.GUESS}), variables)
        for script, dialect in contents.scripts:
            self._read_script(script, inner, dialect)
        for text in contents.guessed_scripts:
            self.read(text, replace(inner, marks=inner.marks | {Mark.GUESS}), "bash")

    def _read_script(self, script: Word, outer: SimpleCommand, dialect: str) -> None:
        value = script.value
        if value is not None:
            self.read(value, outer, dialect)
            return
        text = "".join(piece.text if piece.kind in (Kind.TEXT, Kind.GLOB) else _HOLE for piece in script.pieces)
        self.read(text, replace(outer, marks=outer.marks | {Mark.GUESS}), dialect)


def _notes_of(text: str) -> tuple[Notes, list[str]]:
    """What a text holds, and why it is not understood."""
    reader = Reader(text)
    try:
        reader.read_all()
    except ShellTextError as error:
        reader.notes.problems.append(str(error))
    except RecursionError:
        reader.notes.problems.append("it is nested too deep")
    notes = reader.notes
    problems = list(notes.problems)
    masked = TRUSTED_PROGRAMS.intersection(notes.functions)
    problems += [f"it defines a function '{name}' in place of the program" for name in sorted(masked)]
    return notes, problems or list(_disagreements(text, notes))


def _disagreements(text: str, notes: Notes) -> Iterator[str]:
    for part, starts, skipped in [(text, notes.starts(), tuple(notes.skipped)), *notes.parts]:
        found = disagreement(part, starts, skipped)
        if found is not None:
            yield found


def _dialect_problems(notes: Notes, dialect: str) -> Iterable[str]:
    if dialect == "other":
        yield "it runs in a shell that is not bash"
    elif dialect == "posix" and notes.dialect:
        yield f"other shells than bash read '{min(notes.dialect)}' in another way"


def _finished(draft: Draft, variables: Variables, outer: SimpleCommand | None) -> SimpleCommand:
    return SimpleCommand(
        argv=tuple(variables.resolved(draft.words, draft)),
        redirections=tuple(_resolved(each, variables, draft) for each in draft.redirections),
        assignments=tuple(draft.assignments),
        is_background=draft.is_background or (outer is not None and outer.is_background),
        is_piped=draft.is_piped or (outer is not None and outer.is_piped),
        function=draft.function or (outer.function if outer else None),
        origin=outer.origin if outer else (),
        marks=outer.marks if outer else frozenset(),
        is_elsewhere=outer is not None and outer.is_elsewhere,
        feed=_feed(draft) or (outer.feed if outer else None),
    )


def _resolved(redirection: Redirection, variables: Variables, draft: Draft) -> Redirection:
    words = variables.resolved([redirection.target], draft)
    return redirection if len(words) != 1 else replace(redirection, target=words[0])


def _feed(draft: Draft) -> Feed | None:
    source = draft.input
    if source is None:
        return None
    if isinstance(source, Redirection):
        text, programs = source.body.value if source.body is not None else None, ()
    else:
        text, programs = known_output(source), tuple(dict.fromkeys(_programs_before(draft)))
    return Feed(None if draft.shares_input else text, text or "", programs)


def _programs_before(draft: Draft) -> Iterator[str]:
    """The programs whose output comes to ``draft``, through however many others."""
    while isinstance(draft.input, tuple) and draft.input:
        for each in draft.input:
            yield (each.words[0].value if each.words else None) or ""
        draft = draft.input[0]

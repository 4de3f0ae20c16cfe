"""Looks into a command for the commands and texts that it runs, by the table of programs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise, takewhile

from amplifier_modkit.shell.commands import Assignment, Mark, SimpleCommand
from amplifier_modkit.shell.contents import Case, Contents
from amplifier_modkit.shell.inputs import is_stream, run_file, run_input
from amplifier_modkit.shell.languages import is_harmless
from amplifier_modkit.shell.options import (
    CHECKED_CODE,
    CODE,
    CODE_FILE,
    CODE_FLAG,
    KEYED,
    MODULE,
    ONLY_ASKS,
    SHELL_TEXT,
    WORDS,
    joined,
    may_be_option,
    parse_options,
    tail,
    unbundled,
)
from amplifier_modkit.shell.program_table import program_for
from amplifier_modkit.shell.programs import Form, Program
from amplifier_modkit.shell.words import Kind, Piece, Word, static, unknown

_ASSIGNMENT = re.compile(r"([^=]*)=", re.DOTALL)
_SIMPLE_WORDS = re.compile(r"[\w\s./:=,@%+-]*")
# Modules of Python that run code which is given on the command line.
_RUNS_ARGUMENTS = frozenset({"timeit", "pdb", "code"})
_MOST_GUESSES = 20
_BRINGS_CODE = frozenset({CHECKED_CODE, CODE, CODE_FILE, SHELL_TEXT})
_COMMAND_ADDRESS = "ext::"
_CODE_MARKS = frozenset({Mark.RUNS_CODE, Mark.RUNS_FILE})
_HARMLESS_PLUS = re.compile(r"\+(?:\d*|[FG]|/[^!]*)")


def contents_of(command: SimpleCommand) -> Contents:
    """What ``command`` runs beside itself."""
    contents = Contents()
    program = program_for(command.name)
    if program is not None:
        _look(program, command.argv[1:], command, contents)
    if command.name == "git":
        contents.scripts += _remote_commands(command)
    return contents


def _remote_commands(command: SimpleCommand) -> Iterator[tuple[Word, str]]:
    """The commands that stand for addresses, wherever git takes one."""
    for word in command.argv[1:]:
        _, mark, _ = word.known_start.partition(_COMMAND_ADDRESS)
        if mark:
            yield tail(word, word.known_start.index(mark) + len(mark)), "bash"


def _look(program: Program, words: Sequence[Word], command: SimpleCommand, contents: Contents) -> None:
    if program.form is Form.SHELL:
        words = [_with_minus(word) for word in words]
    elif program.is_bundled:
        words = unbundled(words, program.options)
    options = parse_options(words, program.options, stops=not program.is_permuted)
    if program.resumes:
        options.resume(program.skip, program.options)
    if any(kind == ONLY_ASKS for _, kind, _ in options.found):
        return
    contents.marks |= program.marks
    case = Case(program, words, options, command, contents)
    _take_options(case)
    _FORMS[program.form](case)
    if not program.is_for_code and not (contents.marks - program.marks).isdisjoint(_CODE_MARKS):
        case.mark(Mark.BREAKS_OUT)
    if options.doubt is not None:
        _doubt(case, options.doubt)


def _with_minus(word: Word) -> Word:
    value = word.value
    return static("-" + value[1:]) if value is not None and value.startswith("+") else word


def _doubt(case: Case, position: int) -> None:
    """It is not known where the options end: what follows may be anything."""
    if case.program.form in (Form.COMMAND, Form.TEXT, Form.SHELL, Form.TEMPLATE):
        case.mark(Mark.OPAQUE)
        places = range(position + 1, len(case.words))
        case.contents.guesses += [tuple(case.words[start:]) for start in places[:_MOST_GUESSES]]
    elif not case.words[position].is_static:
        case.mark(Mark.UNSURE)
    elif case.program.form is Form.FILE:
        # What looks like a file may be the value of that option, with code behind it.
        again = parse_options(case.words, case.program.options, stops=False)
        if any(kind in (CODE, CODE_FLAG) for _, kind, _ in again.found):
            case.mark(Mark.RUNS_CODE)


def _take_options(case: Case) -> None:
    for text in case.options.values(SHELL_TEXT):
        case.script(text)
    if any(kind in (CODE, CODE_FLAG) for _, kind, _ in case.options.found):
        case.mark(Mark.RUNS_CODE)
    for file in case.options.values(CODE_FILE):
        run_file(case, file)
    for module in case.options.values(MODULE):
        case.mark(Mark.RUNS_CODE if module.value in _RUNS_ARGUMENTS else Mark.RUNS_FILE)
    for text in case.options.values(CHECKED_CODE):
        _check_code(case, text)
    for setting in case.options.values(KEYED):
        _take_setting(case, setting)
    if case.program.plus_is_code and any(
        word.known_start.startswith("+") and not _HARMLESS_PLUS.fullmatch(word.text) for word in case.options.rest
    ):
        case.mark(Mark.RUNS_CODE)


def _check_code(case: Case, text: Word) -> None:
    value = text.value
    if value is None or not is_harmless(case.program.language, value):
        case.mark(Mark.RUNS_CODE)


def _take_setting(case: Case, setting: Word) -> None:
    found = re.match(r"([^=\s]*)[=\s]", setting.known_start)
    if found is None:
        if not setting.is_static:
            case.mark(Mark.UNSURE)
        return
    _take_value(case, found[1], tail(setting, found.end()))


def _take_value(case: Case, key: str, value: Word) -> None:
    key = key.casefold()
    is_command = value.known_start.startswith("!")
    if key.startswith("alias.") and value.is_static and not is_command:
        return
    if any(fnmatchcase(key, pattern) for pattern in case.program.keys):
        case.script(tail(value, 1) if is_command else value)


def _command(case: Case) -> None:
    for inserted in case.options.values(WORDS):
        _insert_words(case, inserted)
        return
    rest = case.rest
    if rest and rest[0].value == "--":
        rest = rest[1:]
    assignments: list[Assignment] = []
    while case.program.takes_assignments and rest and (found := _ASSIGNMENT.match(rest[0].known_start)):
        assignments.append(Assignment(found[1], tail(rest.pop(0), found.end())))
    if case.program.appends_input and rest:
        rest = _with_input(case, rest)
    if case.program.may_skip_none and case.options.rest:
        case.contents.commands.append((tuple(case.options.rest), ()))
    if rest or assignments:
        case.contents.commands.append((tuple(rest), tuple(assignments)))
    elif case.program.by_input and not any(case.options.values(SHELL_TEXT)):
        run_input(case)


def _insert_words(case: Case, inserted: Word) -> None:
    """Goes on with the words that one word holds."""
    value = inserted.value
    if value is None or not _SIMPLE_WORDS.fullmatch(value):
        case.mark(Mark.OPAQUE)
    words = [static(word) for word in re.findall(r"[\w./:=,@%+-]+", inserted.text)]
    _look(case.program, [*words, *case.options.rest], case.command, case.contents)


def _with_input(case: Case, rest: list[Word]) -> list[Word]:
    marks = [value.value for name, _, value in case.options.found if name in ("-I", "--replace") and value is not None]
    if any(name == "-i" for name, _, _ in case.options.found):
        marks.append("{}")
    if marks:
        return [_with_hole(word, marks[-1] or "{}") for word in rest]
    feed = case.command.feed
    given = (feed.text,) if feed is not None and feed.text is not None else ()
    return [*rest, Word((Piece(Kind.UNKNOWN, "input", may_split=True, guesses=given),))]


def _with_hole(word: Word, mark: str) -> Word:
    pieces: list[Piece] = []
    for piece in word.pieces:
        texts = piece.text.split(mark) if piece.kind is Kind.TEXT else []
        if len(texts) < len("ab"):
            pieces.append(piece)
            continue
        for text in texts:
            pieces += [Piece(Kind.TEXT, text), Piece(Kind.UNKNOWN, mark)]
        pieces.pop()
    return Word(tuple(piece for piece in pieces if piece.text), word.raw)


def _text(case: Case) -> None:
    if case.rest:
        case.script(joined(case.rest))
    else:
        run_input(case)


def _first_text(case: Case) -> None:
    if case.rest and case.rest[0].value not in ("", "-"):
        case.script(case.rest[0])


def _definitions(case: Case) -> None:
    for word in case.rest:
        name, sign, _ = word.known_start.partition("=")
        if sign:
            case.script(tail(word, len(name) + 1))
        elif not word.is_static:
            case.mark(Mark.OPAQUE)


def _setting(case: Case) -> None:
    for key, value in pairwise(case.rest):
        _take_value(case, key.text, value)


def _shell(case: Case) -> None:
    names = {name for name, _, _ in case.options.found}
    # A dash alone ends the options as two of them do.
    rest = case.rest[1:] if case.rest and case.rest[0].value == "-" else case.rest
    script = rest[0] if rest else None
    if "-c" in names:
        case.mark(Mark.WRAPPER)
        case.script(script if script is not None else unknown("script"))
    elif script is None or "-s" in names or is_stream(script):
        run_input(case)
    else:
        run_file(case, script)


def _file(case: Case) -> None:
    if Mark.RUNS_CODE in case.contents.marks:
        return
    rest = case.rest
    if not rest or is_stream(rest[0]):
        run_input(case)
    else:
        run_file(case, rest[0])


def _program(case: Case) -> None:
    has_code = any(kind in (CHECKED_CODE, CODE_FILE) for _, kind, _ in case.options.found)
    for text in () if has_code else case.rest[:1]:
        _check_code(case, text)
    if case.program.by_input and not has_code and not case.rest:
        run_input(case)


def _plain(case: Case) -> None:
    if case.program.language == "make":
        for word in case.rest:
            _check_code(case, word)
    has_code = any(kind in _BRINGS_CODE for _, kind, _ in case.options.found)
    if case.program.by_input and (case.command.feed is not None or not has_code):
        run_input(case)


def _actions(case: Case) -> None:
    words = deque(each for word in case.words for each in _parted(word, case.program))
    while words:
        word = words.popleft()
        if word.value not in case.program.keys:
            _doubt_action(case, word, words)
            continue
        inner: list[Word] = []
        while words and words[0].value != ";" and not (words[0].value == "+" and inner and inner[-1].value == "{}"):
            inner.append(words.popleft())
        case.contents.commands.append((tuple(_with_hole(each, "{}") for each in inner), ()))


def _parted(word: Word, program: Program) -> list[Word]:
    """A row of letters, or an option with its value attached, as the words that it stands for."""
    start = word.known_start
    name, sign, _ = start.partition("=")
    if sign and name in program.keys:
        return [static(name), tail(word, len(name) + 1)]
    for place, letter in enumerate(start[1:] if start[:1] == "-" != start[1:2] else "", start=1):
        kind = program.options.kind_of(f"-{letter}")
        if kind is None and f"-{letter}" in program.keys:
            attached = tail(word, place + 1)
            return [static(f"-{letter}"), *([attached] if attached.text else [])]
        if kind:
            break
    return [word]


def _doubt_action(case: Case, word: Word, following: deque[Word]) -> None:
    """A word that is not known may begin a command."""
    if word.is_static or not may_be_option(word):
        return
    if word.may_split or (following and not following[0].is_static) or len(case.contents.guesses) >= _MOST_GUESSES:
        case.mark(Mark.UNSURE)
    else:
        inner = list(takewhile(lambda each: each.value not in (";", "+"), following))
        case.contents.guesses += [tuple(inner)] if len(inner) < len(following) else []


def _template(case: Case) -> None:
    values = [word.value or "" for word in case.rest]
    place = next((place for place, value in enumerate(values) if value.startswith(":::")), len(values))
    template, inputs = case.rest[:place], case.rest[place + 1 :]
    if template or any(value.startswith("::::") for value in values):
        case.script(joined([*template, unknown("input", may_split=True)]))
    elif inputs:
        for each in inputs:
            case.script(each)
    else:
        run_input(case)
        case.mark(Mark.OPAQUE)


def _addresses(case: Case) -> None:
    for word in case.rest:
        kind, sign, _ = word.known_start.partition(":")
        if sign and kind.casefold() in case.program.keys:
            case.script(tail(word, len(kind) + 1))


def _subcommands(case: Case) -> None:
    rest = case.rest
    # Behind an option that is not known any word may be its value, and the next one the subcommand.
    for place in range(len(rest[:1] if case.options.doubt is None else rest[:_MOST_GUESSES])):
        inner = case.program.subcommands.get(rest[place].value or "")
        if inner is not None:
            _look(inner, rest[place + 1 :], case.command, case.contents)
        elif not rest[place].is_static:
            case.mark(Mark.UNSURE)


_FORMS: dict[Form, Callable[[Case], None]] = {
    Form.PLAIN: _plain,
    Form.COMMAND: _command,
    Form.TEXT: _text,
    Form.FIRST_TEXT: _first_text,
    Form.DEFINITIONS: _definitions,
    Form.SETTING: _setting,
    Form.SHELL: _shell,
    Form.FILE: _file,
    Form.PROGRAM: _program,
    Form.ACTIONS: _actions,
    Form.TEMPLATE: _template,
    Form.ADDRESSES: _addresses,
    Form.SUBCOMMANDS: _subcommands,
}

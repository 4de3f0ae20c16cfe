"""What rules ask about one command; each answer is yes, no, or maybe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from amplifier_modkit.shell.answers import Answer, fits, names_pattern, yes_if
from amplifier_modkit.shell.commands import Access, Mark, ParsedCommand, SimpleCommand, Target
from amplifier_modkit.shell.devices import ENDLESS, is_device, is_network
from amplifier_modkit.shell.environment import changes_libraries, changes_programs
from amplifier_modkit.shell.places import (
    few,
    is_above,
    is_here,
    is_protected,
    is_startup_file,
    is_system_file,
    normal,
    spelled,
    whereabouts,
)
from amplifier_modkit.shell.program_table import program_for
from amplifier_modkit.shell.words import ANYTHING, RESERVED, Kind, Word, listed

# Programs that run none of their words.
_HARMLESS_WITH_NAMES = listed(
    ": [ apropos apt apt-get basename brew cat cd cp curl cut declare diff dirname dnf "
    "dpkg echo egrep "
    "export false fgrep file git grep head help hash history id info jq less ln "
    "local locate ls man "
    "mkdir mv pacman pgrep pip printf ps read readlink realpath return rg rm sort "
    "stat tail tee test "
    "touch true type typeset unset wc wget whatis whereis which yum zypper gh tldr "
    "cheat ag ack"
)
_DANGER = re.compile(r"(?:^|[\s;&|(`/=])(?:(?:sudo|doas|pkexec|su)(?:\s|$)|rm\s+-\w*[rR]|mkfs|(?:bash|sh)\s+-\w*c\b)")

_MOST_PATHS = 300

Predicate = Callable[[SimpleCommand, ParsedCommand], Answer]


def named(*names: str) -> Predicate:
    """The program has one of these names; ``*`` stands for any part of a name."""
    plain = frozenset(name for name in names if "*" not in name)
    wild = tuple(name for name in names if "*" in name)

    def ask(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
        if not command.argv:
            return Answer.NO
        name = command.name
        if name:
            return yes_if(name in plain or any(fits(each, name) for each in wild))
        return yes_if(command.argv[0].is_pattern and _pattern_names(command, names))

    return ask


def _pattern_names(command: SimpleCommand, names: Iterable[str]) -> bool:
    pattern = names_pattern(command.argv[0].outline.rpartition("/")[2].casefold())
    # With less than that it could be anything.
    is_telling = "*" not in pattern or len(re.findall(r"\w", pattern)) > 1
    return is_telling and any(fits(pattern, name) for name in names)


def both(*predicates: Predicate) -> Predicate:
    """All of them hold; those that are quick to answer come first."""

    def ask(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
        answer = Answer.YES
        for predicate in predicates:
            answer = min(answer, predicate(command, parsed))
            if answer is Answer.NO:
                break
        return answer

    return ask


def either(*predicates: Predicate) -> Predicate:
    """One of them holds."""
    return lambda command, parsed: max(predicate(command, parsed) for predicate in predicates)


def marked(mark: Mark) -> Predicate:
    """The command has the mark."""
    return lambda command, parsed: yes_if(mark in command.marks)


def has_word(*words: str) -> Predicate:
    """One of these stands among the words; letters of an option may stand in a row with others."""
    letters = frozenset(word[1] for word in words if len(word) == len("-x") and word[0] == "-")

    def ask(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
        for value in command.values:
            if value in words:
                return Answer.YES
            if value and value[0] == "-" and value[1:2] != "-" and not letters.isdisjoint(value[1:]):
                return Answer.YES
        return Answer.NO

    return ask


def word_fits(pattern: str) -> Predicate:
    """One of the words is known and fits the regular expression."""
    compiled = re.compile(pattern, re.DOTALL)
    return lambda command, parsed: yes_if(any(value and compiled.fullmatch(value) for value in command.values))


def is_dynamic(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """It is not known which program runs."""
    return yes_if(command.is_dynamic)


def has_odd_name(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """The name has characters that people cannot tell from others, or cannot see, or it is none at all."""
    # A word of the language, or an assignment, behind a wrapper or in quotes is the name of a program nobody has.
    return yes_if(bool(command.name) and (command.name in RESERVED or not re.fullmatch(r"[!-<>-~]+", command.name)))


def sets_loaded_variable(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A variable is set that changes which programs run, or what they load."""
    return yes_if(any(changes_programs(each.name, each.value.value) for each in command.assignments))


def sets_library_variable(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A variable is set that says from where code is loaded."""
    return yes_if(any(changes_libraries(each.name) for each in command.assignments))


def _paths(command: SimpleCommand, parsed: ParsedCommand, *access: Access) -> list[str]:
    """The normal paths of some targets, as seen from each folder that the text goes to."""
    targets = [target for target in command.targets if target.access in access]
    if not targets:
        return []
    folders = few("~" if folder is None else spelled(folder) for folder in parsed.folders)
    paths = dict.fromkeys(
        path for target in targets[:_MOST_PATHS] for path in whereabouts(spelled(target.path), folders)
    )
    # Nobody names so many by hand; what is not looked at may be anything.
    return [*paths, *([ANYTHING] if len(targets) > _MOST_PATHS else [])]


def _removed_whole(command: SimpleCommand) -> SimpleCommand:
    """The command with those paths only of which it removes everything."""
    targets = tuple(
        target
        for target in command.targets
        if target.is_recursive or command.name != "rm" or target.path.outline.endswith("*")
    )
    return replace(command, targets=targets)


def removes_protected(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A place that nobody removes is removed, or all that is in it."""
    return max(map(is_protected, _paths(_removed_whole(command), parsed, "remove")), default=Answer.NO)


def removes_above(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """The folder above is removed, or one still higher."""
    return yes_if(any(is_above(normal(spelled(target.path))) for target in _recursively_removed(command)))


def removes_here(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """All of the current folder is removed."""
    return yes_if(any(is_here(normal(spelled(target.path))) for target in _recursively_removed(command)))


def _recursively_removed(command: SimpleCommand) -> list[Target]:
    return [target for target in command.targets if target.access == "remove" and target.is_recursive]


def changes_protected(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """Rights or owner of a place to protect are changed."""
    answer = max(map(is_protected, _paths(command, parsed, "write")), default=Answer.NO)
    is_whole = any(target.is_recursive for target in command.targets)
    return answer if is_whole or answer is Answer.YES else Answer.NO


def searches_protected(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """It goes through a place to protect."""
    return max(map(is_protected, _paths(command, parsed, "read", "remove")), default=Answer.NO)


def writes_device(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A device is written that is more than a stream."""
    return max(map(is_device, _paths(command, parsed, "write", "remove")), default=Answer.NO)


def reads_endlessly(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A device is read that never ends."""
    return yes_if(not ENDLESS.isdisjoint(_paths(command, parsed, "read")))


def opens_connection(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A redirection opens a network connection."""
    return max((is_network(each.target) for each in command.redirections), default=Answer.NO)


def writes_startup_file(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A file is written that runs by itself."""
    paths = _paths(command, parsed, "write")
    answer = max(map(is_startup_file, paths), default=Answer.NO)
    if answer is Answer.NO and paths:
        # What is copied into a folder keeps its name there.
        names = {spelled(target.path).rpartition("/")[2] for target in command.targets if target.access != "write"}
        hidden = [name for name in names if name.startswith(".")]
        answer = yes_if(any(is_startup_file(f"{path}/{name}") for path in paths for name in hidden))
    return answer


def writes_system_file(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A file that belongs to the system is written or removed."""
    return max(map(is_system_file, _paths(command, parsed, "write", "remove")), default=Answer.NO)


def signals_everybody(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A signal goes to every process that there is."""
    values = [value or "" for value in command.values]
    is_signal_first = "--" not in values and re.match(r"-\w", values[0] if values else "") is not None
    return yes_if(any(re.fullmatch(r"-0*1", value) for value in values[is_signal_first:]))


def removes_all_found(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """Everything that is found is removed, without any condition."""
    options = {value for value in command.values if value and value.startswith("-")}
    return yes_if("-delete" in options and options <= {"-delete", "-depth", "-mindepth", "-maxdepth", "-xdev"})


def has_open_words(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A word that is not known may be options, or several paths."""
    return yes_if(any(word.may_split and not word.is_pattern for word in command.argv[1:]))


def has_open_arguments(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """The words are those that a function or script was called with."""
    pieces = (piece for word in command.argv[1:] for piece in word.pieces)
    return yes_if(any(piece.kind is Kind.VARIABLE and piece.text in ("@", "*") for piece in pieces))


def writes_anywhere(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """Something is written to a place of which nothing is known."""
    return yes_if(any(_is_anywhere(target.path) for target in command.targets if target.access == "write"))


def redirects_anywhere(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A redirection writes to a place of which nothing is known."""
    return yes_if(any(each.access == "write" and _is_anywhere(each.target) for each in command.redirections))


def _is_anywhere(path: Word) -> bool:
    return not path.outline.replace(ANYTHING, "").strip("/") and not path.is_static


def mentions_danger(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """A program that is not known here may run its words or its input, which name one that is dangerous."""
    if not command.name or command.name in _HARMLESS_WITH_NAMES or program_for(command.name) is not None:
        return Answer.NO
    told = " ".join(value or "" for value in command.values)
    given = command.feed.guess if command.feed is not None else ""
    return yes_if(_DANGER.search(told) is not None or _DANGER.search(given) is not None)


def may_be_more(command: SimpleCommand, parsed: ParsedCommand) -> Answer:
    """The same as ``has_open_words`` for what is harmful only with some words."""
    return min(Answer.MAYBE, has_open_words(command, parsed))

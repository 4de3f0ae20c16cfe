"""Rules about commands as people write them, ``git push*`` or ``Bash(npm run:*)``, compared word by word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from amplifier_modkit.shell.answers import Answer, word_fits
from amplifier_modkit.shell.commands import Mark, ParsedCommand, SimpleCommand, program_name
from amplifier_modkit.shell.devices import is_harmless_device
from amplifier_modkit.shell.environment import changes_anything
from amplifier_modkit.shell.target_table import READERS
from amplifier_modkit.shell.words import Kind, Piece, Word, static

_RULE = re.compile(r"\s*Bash\s*(?:\((.*)\))?\s*", re.DOTALL | re.IGNORECASE)
_USUAL_FOLDERS = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]+|/opt/homebrew/s?bin/[^/]+")
_KNOWN_NAME = re.compile(r"[^*?\[\0]+")
_WRITING_OPTION = re.compile(r"-delete|-[fwoOi].*|--in-?place.*|--output.*|--remote-name")
_HIDDEN = frozenset({Mark.OPAQUE, Mark.UNSURE, Mark.BREAKS_OUT})


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """A rule about single commands. A word that is ``*`` stands for any number of words, within a word for any part."""

    words: tuple[str, ...]

    @property
    def names_writing(self) -> bool:
        """Whether it is about every command, or names an option with which programs write that otherwise only print."""
        return self.words[:1] == ("*",) or any(_WRITING_OPTION.fullmatch(word) for word in self.words)

    def answer(self, command: SimpleCommand, *, is_wide: bool) -> Answer:
        """Whether ``command`` fits. A wide comparison goes past options and folders, as a refusal has to."""
        if not command.argv:
            return Answer.NO
        certain = self._reaches_end(_spelled(command, is_wide=is_wide), Answer.YES, is_wide=is_wide)
        if certain:
            return Answer.YES
        return Answer(self._reaches_end(_spelled(command, is_wide=is_wide), Answer.MAYBE, is_wide=is_wide))

    def _reaches_end(self, spellings: Iterable[Sequence[Word]], least: Answer, *, is_wide: bool) -> bool:
        return any(len(self.words) in self._reached(words, least, is_wide=is_wide) for words in spellings)

    def _reached(self, words: Sequence[Word], least: Answer, *, is_wide: bool) -> set[int]:
        """The places of the pattern that all of ``words`` can bring us to."""
        reached = self._over_stars({0})
        is_behind_option = False
        for number, word in enumerate(words):
            stepped = {
                place if self.words[place] == "*" else place + 1
                for place in reached
                if place < len(self.words) and word_fits(self.words[place], word) >= least
            }
            is_option = word.known_start.startswith("-")
            if is_wide and number and (is_option or is_behind_option):
                stepped |= reached
            if least is Answer.MAYBE and word.may_split:
                stepped |= set(range(min(reached, default=len(self.words) + 1), len(self.words) + 1))
            is_behind_option = is_option
            reached = self._over_stars(stepped)
        return reached

    def _over_stars(self, reached: set[int]) -> set[int]:
        for place, word in enumerate(self.words):
            if word == "*" and place in reached:
                reached.add(place + 1)
        return reached


def _spelled(command: SimpleCommand, *, is_wide: bool) -> list[Sequence[Word]]:
    """The command's words, with the ways in which its program may be named."""
    first, *rest = command.argv
    names = [first]
    path = first.value
    if path is not None and (is_wide or _USUAL_FOLDERS.fullmatch(path)):
        names.append(static(path.rpartition("/")[2]))
    if path is not None and is_wide:
        names.append(static(program_name(path)))
    elif is_wide and "/" in first.outline:
        names.append(_last_name(first))
    return [(name, *rest) for name in names]


def _last_name(path: Word) -> Word:
    """The last name of a path that is not wholly known."""
    name = path.outline.rpartition("/")[2]
    return static(name) if _KNOWN_NAME.fullmatch(name) else Word((Piece(Kind.GLOB, name),), path.raw)


@lru_cache(maxsize=512)
def rule_pattern(rule: str) -> CommandPattern:
    """The pattern of an approval rule: ``Bash(git status)`` is exactly that, ``Bash(git log:*)`` and whatever follows.

    ``Bash`` alone is every command.
    """
    found = _RULE.fullmatch(rule)
    text = (found[1] if found[1] is not None else "*") if found else rule
    return _pattern(text, is_open=False)


@lru_cache(maxsize=512)
def entry_pattern(entry: str) -> CommandPattern:
    """The pattern of an entry in a list of commands: its words, and whatever follows them."""
    return _pattern(entry, is_open=True)


def _pattern(text: str, *, is_open: bool) -> CommandPattern:
    text = text.strip()
    if text.endswith(":*"):
        text, is_open = text[: -len(":*")], True
    words = text.split()
    if words and words[-1].endswith("*"):
        is_open = True
    return CommandPattern((*words, "*") if is_open else tuple(words))


def matches(rule: str, parsed: ParsedCommand) -> bool:
    """Whether a simple command in ``parsed`` fits ``rule``; for rules that ask or deny.

    Options before and between the words of the rule do not matter, nor does the folder of the program.
    """
    return pattern_matches(rule_pattern(rule), parsed)


def may_match(rule: str, parsed: ParsedCommand) -> bool:
    """Whether a command may turn out to fit ``rule``, depending on what is not known before it runs."""
    return pattern_may_match(rule_pattern(rule), parsed)


def covers(rules: Iterable[str], parsed: ParsedCommand, may_write: Callable[[Word], bool] = lambda path: False) -> bool:
    """Whether every simple command in ``parsed`` fits one of ``rules``; for rules that allow.

    Nothing is covered that is not understood, that runs what the text does not show, or that sets a variable which
    changes what programs do. ``may_write`` says whether a redirection may write to a path.
    """
    return patterns_cover([rule_pattern(rule) for rule in rules], parsed, may_write)


def pattern_matches(pattern: CommandPattern, parsed: ParsedCommand) -> bool:
    """Whether a simple command certainly fits; a guess is as good as certain here."""
    return any(pattern.answer(command, is_wide=True) is Answer.YES for command in parsed.commands)


def pattern_may_match(pattern: CommandPattern, parsed: ParsedCommand) -> bool:
    """Whether a simple command may turn out to fit."""
    return not parsed.is_understood or any(
        Mark.OPAQUE in command.marks or pattern.answer(command, is_wide=True) is not Answer.NO
        for command in parsed.commands
    )


def patterns_cover(
    patterns: Sequence[CommandPattern], parsed: ParsedCommand, may_write: Callable[[Word], bool] = lambda path: False
) -> bool:
    """Whether every command is allowed by one of ``patterns``."""
    if not parsed.is_understood or parsed.doubts or not parsed.commands:
        return False
    return all(_is_covered(patterns, command, may_write) for command in parsed.commands)


def _is_covered(patterns: Sequence[CommandPattern], command: SimpleCommand, may_write: Callable[[Word], bool]) -> bool:
    hides_something = not _HIDDEN.isdisjoint(command.marks)
    if hides_something or any(map(changes_anything, command.assignments)):
        return False
    written = [each.target for each in command.redirections if each.access == "write"]
    aside = [each.path for each in command.targets if each.access != "read"] if command.name in READERS else []
    if not all(is_harmless_device(path) or may_write(path) for path in written):
        return False
    if not command.argv or Mark.WRAPPER in command.marks:
        return bool(command.assignments or command.redirections or command.argv)
    if command.is_elsewhere:
        # Whoever may run the outer command may run this one.
        return True
    is_written_aside = not all(is_harmless_device(path) or may_write(path) for path in aside)
    return any(
        pattern.answer(command, is_wide=False) is Answer.YES
        for pattern in patterns
        if not is_written_aside or pattern.names_writing
    )

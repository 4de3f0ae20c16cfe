"""The paths that a command reads, writes or removes, as far as its words and redirections tell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from amplifier_modkit.shell.commands import Access, SimpleCommand, Target
from amplifier_modkit.shell.options import ParsedOptions, parse_options, tail, unbundled
from amplifier_modkit.shell.target_table import PATH_WORDS, PathWords
from amplifier_modkit.shell.words import Word, static

_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_FIND_STARTS_EXPRESSION = ("-", "(", "!")
_BY_OPTION: dict[str, Access] = {"%": "read", "!": "write"}


def targets_of(command: SimpleCommand) -> tuple[Target, ...]:
    """The paths of ``command``, those of its redirections first."""
    found = [Target(each.target, access) for each in command.redirections if (access := each.access) is not None]
    if command.name in ("find", "gfind"):
        found += _of_find(command)
    elif (words := PATH_WORDS.get(command.name)) is not None:
        found += _of_words(command, words)
    return tuple(found)


def _of_words(command: SimpleCommand, words: PathWords) -> Iterator[Target]:
    given = command.argv[1:]
    options = parse_options(unbundled(given, words.options) if words.is_bundled else given, words.options, stops=False)
    names = {name for name, _, _ in options.found}
    is_recursive = not names.isdisjoint(words.recursive)
    for path, access in _named_paths(options, words, names):
        is_read_only = bool(words.only_with) and names.isdisjoint(words.only_with)
        yield Target(path, "read" if is_read_only else access, is_recursive)


def _named_paths(options: ParsedOptions, words: PathWords, names: set[str]) -> Iterator[tuple[Word, Access]]:
    has_target = False
    for _, kind, value in options.found:
        if value is not None and kind in _BY_OPTION:
            has_target = has_target or kind == "!"
            yield value, _BY_OPTION[kind]
        elif value is not None and kind == "#" and "@" in value.known_start:
            yield tail(value, value.known_start.index("@") + 1), "read"
    rest = options.rest[0 if words.skip_unless & names else words.skip :]
    yield from _rest_paths(rest, words, has_target=has_target)
    by_address = words.names_by_address
    if by_address is not None and not has_target and (not by_address or by_address & names):
        for word in rest:
            yield static(_last_name(word)), "write"


def _rest_paths(rest: list[Word], words: PathWords, *, has_target: bool) -> Iterator[tuple[Word, Access]]:
    is_to_last = words.last is not None and len(rest) > 1 and not has_target
    for place, word in enumerate(rest):
        if is_to_last and words.last and place == len(rest) - 1:
            yield word, words.last
        elif words.rest is not None:
            yield word, words.rest
        else:
            key, sign, _ = word.known_start.partition("=")
            if sign and key in words.keys:
                yield tail(word, len(key) + 1), words.keys[key]


def _last_name(address: Word) -> str:
    return address.text.partition("?")[0].rstrip("/").rpartition("/")[2]


def _of_find(command: SimpleCommand) -> Iterator[Target]:
    words = list(command.argv[1:])
    removes = any(word.value == "-delete" for word in words)
    starts = 0
    while starts < len(words) and not words[starts].known_start.startswith(_FIND_STARTS_EXPRESSION):
        yield Target(words[starts], "remove" if removes else "read", is_recursive=True)
        starts += 1
    for option, path in pairwise(words):
        if option.value in _FIND_WRITES:
            yield Target(path, "write")

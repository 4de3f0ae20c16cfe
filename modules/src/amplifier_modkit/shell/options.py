"""Parts the words behind a program's name into options, their values and the rest, as far as its options are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from amplifier_modkit.shell.words import Kind, Piece, Word

# What the value of an option is, by the character behind its name in a table.
SHELL_TEXT = "!"
CODE = "%"
CODE_FILE = "@"
CHECKED_CODE = "#"
KEYED = "="
WORDS = "~"
ONLY_ASKS = "?"
MODULE = "+"
CODE_FLAG = "^"
KINDS = ":!%@#=~?+^"
"""All of them; a colon is for a value that means nothing here."""


_WITHOUT_VALUE = frozenset({"", ONLY_ASKS, CODE_FLAG})


@dataclass(frozen=True, slots=True)
class OptionTable:
    """The options of a program: each with what its value is, and an empty text for those that have none."""

    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    has_single_dash_words: bool = False
    """Whether some words with one dash are one option, and not a row of letters."""

    def full_name(self, name: str) -> str:
        """The option that is meant: long ones may be shortened as long as no other begins in the same way."""
        if name in self.kinds or not name.startswith("--") or name == "--":
            return name
        longer = [known for known in self.kinds if known.startswith(name)]
        return longer[0] if len({self.kinds[known] for known in longer}) == 1 else name

    def attached_name(self, word: str) -> str:
        """The option of several letters behind one dash that has its value attached in ``word``; empty if none has."""
        names = [name for name, kind in self.kinds.items() if kind not in _WITHOUT_VALUE and len(name) > len("-x")]
        return next((name for name in names if name[1] != "-" and word.startswith(name)), "")

    def kind_of(self, name: str) -> str | None:
        """What the value of an option is; ``None`` for an unknown one."""
        return self.kinds.get(self.full_name(name))


def option_table(text: str) -> OptionTable:
    """Reads options as ``-v -k: --signal:``; the last character says what the value is, if it is no letter."""
    kinds: dict[str, str] = {}
    for option in text.split():
        bare = option.rstrip(KINDS)
        kinds[bare] = option[len(bare) :]
    return OptionTable(kinds, any(not name.startswith("--") and len(name) > len("-x") for name in kinds))


@dataclass(slots=True)
class ParsedOptions:
    """What was found behind a program's name."""

    found: list[tuple[str, str, Word | None]] = field(default_factory=list[tuple[str, str, Word | None]])
    """Each option with what its value is, and the value."""
    rest: list[Word] = field(default_factory=list[Word])
    """The words that are neither options nor their values."""
    doubt: int | None = None
    """Where the first word is of which it is not known whether it is an option, or whether it has a value."""

    def resume(self, count: int, table: OptionTable) -> None:
        """Goes on to look for options behind the first ``count`` words of the rest."""
        more = parse_options(self.rest[count:], table, stops=True)
        self.found += more.found
        self.rest = [*self.rest[:count], *more.rest]
        self.doubt = more.doubt if self.doubt is None else self.doubt

    def values(self, kind: str) -> Iterator[Word]:
        """The values of the options of one kind."""
        return (value for _, found, value in self.found if found == kind and value is not None)


def parse_options(words: Sequence[Word], table: OptionTable, *, stops: bool) -> ParsedOptions:
    """Parts ``words``; if it ``stops``, everything from the first word that is no option on is the rest."""
    parsed = ParsedOptions()
    position = 0
    while position < len(words):
        word = words[position]
        value = word.value
        if value == "--":
            parsed.rest += words[position + 1 :]
            break
        if value is None and may_be_option(word) and parsed.doubt is None:
            parsed.doubt = position
        if not word.known_start.startswith("-") or value == "-":
            parsed.rest += words[position:] if stops else [word]
            position += 1
            if stops:
                break
            continue
        position += _read_option(words, position, table, parsed)
        if parsed.found and parsed.found[-1][1] == WORDS:
            # Its value is more words, which come before the rest and may be options themselves.
            parsed.rest += words[position:]
            break
    return parsed


def may_be_option(word: Word) -> bool:
    """Whether a word that is not known can turn out to be an option, or more words than one."""
    return word.may_split or word.known_start[:1] in ("", "-")


def _read_option(words: Sequence[Word], position: int, table: OptionTable, parsed: ParsedOptions) -> int:
    """Reads the option at ``position``; gives how many words it takes."""
    word = words[position]
    name, sign, _ = word.known_start.partition("=")
    if name.startswith("--") or (table.has_single_dash_words and table.kind_of(name) is not None):
        return _read_long(words, position, table, parsed, name if sign else word.known_start)
    attached = table.attached_name(word.known_start)
    if attached:
        parsed.found.append((attached, table.kinds[attached], tail(word, len(attached))))
        return 1
    return _read_letters(words, position, table, parsed)


def _read_long(words: Sequence[Word], position: int, table: OptionTable, parsed: ParsedOptions, name: str) -> int:
    word = words[position]
    kind, full = table.kind_of(name), table.full_name(name)
    if kind is None and parsed.doubt is None:
        parsed.doubt = position
    if len(name) < len(word.known_start) or not word.is_static:
        parsed.found.append((full, kind or "", tail(word, len(name) + 1)))
        return 1
    if kind is None or kind in _WITHOUT_VALUE:
        parsed.found.append((full, kind or "", None))
        return 1
    following = words[position + 1] if position + 1 < len(words) else None
    parsed.found.append((full, kind, following))
    return 2


def _read_letters(words: Sequence[Word], position: int, table: OptionTable, parsed: ParsedOptions) -> int:
    word = words[position]
    letters = word.known_start
    for place, letter in enumerate(letters[1:], start=1):
        kind = table.kind_of("-" + letter)
        if kind is None and parsed.doubt is None:
            parsed.doubt = position
        if kind is None or kind in _WITHOUT_VALUE:
            parsed.found.append(("-" + letter, kind or "", None))
            continue
        if place + 1 < len(letters) or not word.is_static:
            parsed.found.append(("-" + letter, kind, tail(word, place + 1)))
            return 1
        following = words[position + 1] if position + 1 < len(words) else None
        parsed.found.append(("-" + letter, kind, following))
        return 2
    return 1


def unbundled(words: Sequence[Word], table: OptionTable) -> list[Word]:
    """``words`` with a first word such as ``xzf`` as options of their own, each followed by its value."""
    letters = words[0].value if words else None
    if not letters or not letters.isalnum():
        return list(words)
    values = list(words[1:])
    options: list[Word] = []
    for letter in letters:
        options.append(Word((Piece(Kind.TEXT, "-" + letter),), letter))
        if table.kind_of("-" + letter) and values:
            options.append(values.pop(0))
    return [*options, *values]


def tail(word: Word, start: int) -> Word:
    """``word`` without its first ``start`` characters, all of which are known."""
    pieces = list(word.pieces)
    while start and pieces:
        first = pieces.pop(0)
        if len(first.text) > start:
            pieces.insert(0, Piece(first.kind, first.text[start:], first.is_quoted))
            break
        start -= len(first.text)
    return Word(tuple(pieces) or (Piece(Kind.TEXT, ""),), word.raw)


def joined(words: Iterable[Word]) -> Word:
    """The words as one, with blanks between them."""
    pieces: list[Piece] = []
    for word in words:
        pieces += [Piece(Kind.TEXT, " "), *word.pieces]
    return Word(tuple(pieces[1:]) or (Piece(Kind.TEXT, ""),))

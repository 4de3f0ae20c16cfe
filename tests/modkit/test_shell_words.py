"""Words of commands: what is known of each once quotes, escapes and braces are gone, and what commands print."""

from __future__ import annotations

import pytest

from amplifier_modkit.shell import parse
from amplifier_modkit.shell.answers import Answer, fits, may_fit, one_of, word_fits
from amplifier_modkit.shell.languages import is_harmless
from amplifier_modkit.shell.words import ANYTHING, Kind, Word, static, unknown


def word(text: str) -> Word:
    """The word that is written as ``text``."""
    return parse(f"a {text}").commands[0].argv[1]


def values(text: str) -> list[str | None]:
    """What is known of the words in ``text``."""
    return [each.value for each in parse(f"a {text}").commands[0].argv[1:]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("abc", "abc"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ("a\\ b", "a b"),
        ("''", ""),
        ("a'b'\"c\"", "abc"),
        ('"\\$ \\` \\" \\\\ \\a \\\nb"', '$ ` " \\ \\a b'),
        ("'\\n'", "\\n"),
        ("$'\\a\\b\\e\\E\\f\\n\\r\\t\\v'", "\a\b\x1b\x1b\f\n\r\t\v"),
        ("$'\\\\ \\' \\\" \\? \\z'", "\\ ' \" ? \\z"),
        ("$'\\101\\x42\\u0043\\U00000044\\cA'", "ABCD\x01"),
        ("$'\\xc3\\xa9 \\xff'", "é \ufffd"),
        ("$'\\U00110000'", "?"),
        ("$'a\\0b'c", "ac"),
        ("$'\\x{41}'", None),
        ("$", "$"),
        ("a$", "a$"),
        ("$x", None),
        ('"a$x"', None),
        ("$(b)", None),
        ("$((1))", None),
        ("*", None),
        ("~", None),
        ('$"b"', None),
        ("<(b)", None),
        ("'*'", "*"),
        ("'~'", "~"),
        ("a~", "a~"),
        ("[", "["),
        ("[a", "[a"),
        ("[a]", None),
        ("{a..b..c}", None),
    ],
)
def test_a_word_is_known_unless_something_is_replaced_in_it(text: str, value: str | None) -> None:
    """Quotes and escapes are removed as bash does it; what only a run can tell has no value."""
    assert word(text).value == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a,b}", ["a", "b"]),
        ("x{a,b}y", ["xay", "xby"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"]),
        ("{a{b,c}}", ["{ab}", "{ac}"]),
        ("{a},b}", ["a}", "b"]),
        ("{a,b", ["{a,b"]),
        ("{a}", ["{a}"]),
        ("{}", ["{}"]),
        ("'{a,b}'", ["{a,b}"]),
        ("{'a,b',c}", ["a,b", "c"]),
        ("{,a}", ["a"]),
        ("{~,'~'}", [None, "~"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{1..7..3}", ["1", "4", "7"]),
        ("{01..03}", ["01", "02", "03"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{a..c}", ["a", "b", "c"]),
        ("{c..a..2}", ["c", "a"]),
        ("{1..0..0}", ["1", "0"]),
        ("{$x..3}", [None]),
        ("{a..3}", [None]),
        ("{Z..a}", [None]),
        ("{1..999}", [None]),
        ("{" + "a," * 300 + "b}", [None]),
        ("{a,b}" * 10, [None]),
        ("{a," * 25 + "b" + "}" * 25, [None]),
        ("{a,b}" + "c" * 2_000, [None]),
        ("{$x,b}", [None, "b"]),
    ],
)
def test_braces_are_expanded_as_bash_does_it(text: str, expected: list[str | None]) -> None:
    """Too many words, or what shells do not agree about, is one word that is not known."""
    assert values(text) == expected


def test_holes_say_what_they_are_about() -> None:
    """The text shows them as a person would write them; the outline has gaps; the start is what is certain."""
    path = word('"$HOME"/a*')
    assert [piece.kind for piece in path.pieces] == [Kind.TEXT, Kind.VARIABLE, Kind.TEXT, Kind.GLOB]
    assert (path.text, path.outline, path.known_start) == ("$HOME/a*", f"{ANYTHING}/a*", "")
    assert (word("a/$x").known_start, word("~/x").text, word("${#x}$?").text) == ("a/", "~/x", "$((#x))$((?))")
    assert (word("*.c").is_pattern, word("$x*").is_pattern, word("x").is_pattern) == (True, False, False)


@pytest.mark.parametrize(
    ("text", "may_split"),
    [
        ("$x", True),
        ('"$x"', False),
        ("${x:-a}", True),
        ('"${x:-a}"', False),
        ('"$@"', True),
        ('"${x[@]}"', True),
        ('"$*"', False),
        ("$(b)", True),
        ('"$(b)"', False),
        ("$((1))", False),
        ("${#x}", False),
        ("$?", False),
        ("<(b)", False),
        ("*", False),
        ("{1..999}", True),
    ],
)
def test_what_may_become_several_words_is_marked(text: str, may_split: bool) -> None:
    """Only what is not quoted can, and lists of words."""
    assert word(text).may_split is may_split


@pytest.mark.parametrize(
    ("text", "kind", "guesses"),
    [
        ("$(echo a b)", Kind.COMMAND, ("a b",)),
        ("$(echo -n a)", Kind.COMMAND, ("a",)),
        ("$(echo -e 'a\\tb')", Kind.COMMAND, ("a\tb",)),
        ("$(echo 'a\\tb')", Kind.COMMAND, ()),
        ("$(echo -eE 'a\\tb')", Kind.COMMAND, ()),
        ("$(echo -e '\\x41')", Kind.COMMAND, ()),
        ("$(printf a)", Kind.COMMAND, ("a",)),
        ("$(printf '%s-' a b)", Kind.COMMAND, ("a-b-",)),
        ("$(printf '%s%%\\n' a)", Kind.COMMAND, ("a%",)),
        ("$(printf '%b' 'a\\tb')", Kind.COMMAND, ("a\tb",)),
        ("$(printf '%d%s' 12)", Kind.COMMAND, ("12",)),
        ("$(printf '%d' x)", Kind.COMMAND, ()),
        ("$(printf '%q' x)", Kind.COMMAND, ()),
        ("$(printf '\\x41')", Kind.COMMAND, ()),
        ("$(printf)", Kind.COMMAND, ()),
        ("$(printf -v x y)", Kind.COMMAND, ()),
        ("$(printf '%%')", Kind.COMMAND, ("%",)),
        ("$(cat <<E\na\nE\n)", Kind.COMMAND, ("a",)),
        ("$(cat - <<< a)", Kind.COMMAND, ("a",)),
        ("$(cat < f)", Kind.COMMAND, ()),
        ("$(cat f)", Kind.COMMAND, ()),
        ("$(echo a > f)", Kind.COMMAND, ()),
        ("$(echo $x)", Kind.COMMAND, ()),
        ("$(x=1 echo a)", Kind.COMMAND, ()),
        ("$(> f)", Kind.COMMAND, ()),
        ("$(echo a; echo b)", Kind.COMMAND, ()),
        ("$(b)", Kind.COMMAND, ()),
        ("$(wc -l)", Kind.NUMBER, ()),
        ("$(wc -l < f)", Kind.NUMBER, ()),
        ("$(b | wc -l)", Kind.NUMBER, ()),
        ("$(b | c | wc -l)", Kind.NUMBER, ()),
        ("$(nproc)", Kind.NUMBER, ()),
        ("$(date +%s)", Kind.NUMBER, ()),
        ("$(seq 3)", Kind.NUMBER, ()),
        ("$(wc -l f)", Kind.COMMAND, ()),
        ("$(wc)", Kind.COMMAND, ()),
        ("$(wc -l $x)", Kind.COMMAND, ()),
        ("$(b; wc -l)", Kind.COMMAND, ()),
        ("$(wc -l 2>&1)", Kind.COMMAND, ()),
        ("$(x=1 nproc)", Kind.COMMAND, ()),
        ("$(b | echo $(nproc))", Kind.COMMAND, ()),
        ("$()", Kind.COMMAND, ()),
        ("`nproc`", Kind.NUMBER, ()),
        ("${x:-a}", Kind.VARIABLE, ("a",)),
        ("${x-'a b'}", Kind.VARIABLE, ("a b",)),
        ("${x:=a}", Kind.VARIABLE, ("a",)),
        ("${x:+a}", Kind.VARIABLE, ("a",)),
        ("${x:?a}", Kind.VARIABLE, ()),
        ("${x#a}", Kind.VARIABLE, ()),
        ("${x//a/>b}", Kind.VARIABLE, ()),
        ("${x:-$y}", Kind.VARIABLE, ()),
        ("${x:1:2}", Kind.VARIABLE, ()),
        ("${x@Q}", Kind.VARIABLE, ()),
        ('${x:-"a$\'b"}', Kind.VARIABLE, ("a$'b",)),
        ("${x:-`b`\\}}", Kind.VARIABLE, ()),
        ('$"a"', Kind.UNKNOWN, ("a",)),
    ],
)
def test_what_a_hole_may_turn_out_to_be_is_kept_as_a_guess(text: str, kind: Kind, guesses: tuple[str, ...]) -> None:
    """Output is known where the words of a command tell it in every shell; numbers are recognised."""
    (piece,) = word(text).pieces
    assert (piece.kind, piece.guesses) == (kind, guesses)


def test_words_can_be_made_without_a_text() -> None:
    """For what wrappers add: one that is known, and one that is not."""
    assert (static("a b").value, static("a b").raw) == ("a b", "a b")
    assert (unknown("x").value, unknown("x").may_split, unknown("x", may_split=True).may_split) == (None, False, True)
    assert Word(()).value == ""


@pytest.mark.parametrize(
    ("pattern", "text", "fitting"),
    [
        ("", "", True),
        ("a", "a", True),
        ("a", "ab", False),
        ("ab", "a", False),
        ("*", "", True),
        ("a*", "abc", True),
        ("*c", "abc", True),
        ("a*b*c", "axbxbxc", True),
        ("a*b*c", "axbxb", False),
        ("?", "", False),
        ("a?c", "abc", True),
        ("a**", "a", True),
        ("[a]", "a", False),
        ("[a]", "[a]", True),
    ],
)
def test_patterns_fit_whole_texts(pattern: str, text: str, fitting: bool) -> None:
    """A star is any number of characters, a question mark is one, and nothing else is special."""
    assert (fits(pattern, text), one_of([pattern])(text), may_fit(pattern, text)) == (fitting, fitting, fitting)


@pytest.mark.parametrize(
    ("pattern", "outline", "possible"),
    [
        ("/", "\0", True),
        ("/", "\0/", True),
        ("/etc", "/\0", True),
        ("/etc", "\0c", True),
        ("/etc", "\0x", False),
        ("/etc", "x\0", False),
        ("a*c", "\0b\0", True),
        ("a", "\0\0", True),
        ("a", "b\0\0", False),
    ],
)
def test_a_text_with_gaps_may_fit(pattern: str, outline: str, possible: bool) -> None:
    """What is not known can be anything, what is known must be there."""
    assert may_fit(pattern, outline) is possible


def test_a_word_fits_certainly_possibly_or_not_at_all() -> None:
    """A lone star fits anything; a wildcard for file names is a gap up to a slash; very long texts may fit."""
    cases = [
        ("*", "$x"),
        ("a*", "ab"),
        ("a*", "b"),
        ("a*", "$x"),
        ("a*", "b$x"),
        ("/a/b", "/a/?"),
        ("/a/b", "/x/?"),
        ("x", f"{'a' * 3_000}$x"),
    ]
    assert [word_fits(pattern, word(text)) for pattern, text in cases] == [
        Answer.YES,
        Answer.YES,
        Answer.NO,
        Answer.MAYBE,
        Answer.NO,
        Answer.MAYBE,
        Answer.NO,
        Answer.MAYBE,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text", "harmless"),
    [
        ("awk", "{print $1}", True),
        ("awk", "$3 > 5 || /x/ {n++} END {print n}", True),
        ("awk", 'BEGIN{system("x")}', False),
        ("awk", '{print | "sh"}', False),
        ("awk", '"x" | getline', False),
        ("awk", "{print > $1}", False),
        ("awk", "{print; if ($1 >= 2) n++}", True),
        ("awk", "{print $1}" + " " * 20_000, False),
        ("sed", "s/a/b/", True),
        ("sed", "s|a|b|g;s#x#y#p", True),
        ("sed", "1,5p", True),
        ("sed", "/a/,/b/d", True),
        ("sed", "/a\\/b/Id", True),
        ("sed", "$!N;P;D", True),
        ("sed", "2,+3{s/a/b/;p}", True),
        ("sed", "y/abc/xyz/\n5q", True),
        ("sed", "1i hello\n$a bye", True),
        ("sed", "1~2d", True),
        ("sed", "", True),
        ("sed", "s/a/b/e", False),
        ("sed", "s/a/b/w f", False),
        ("sed", "e id", False),
        ("sed", "1e id", False),
        ("sed", "w f", False),
        ("sed", "s/a/b", False),
        ("sed", "a\\\ne id", False),
        ("sed", "p;;", True),
        ("sed", "}", True),
        ("sql", "select 1", True),
        ("sql", ".shell id", False),
        ("sql", "select 1;\n  \\! id", False),
        ("sql", "copy x to program 'id'", False),
        ("make", "all", True),
        ("make", "X=1", True),
        ("make", "X=$(shell id)", False),
        ("make", "SHELL=x", False),
    ],
)
def test_programs_in_small_languages_are_harmless_only_if_they_are_plain(
    language: str, text: str, harmless: bool
) -> None:
    """What runs a command or writes a file is not, and neither is what is not understood."""
    assert is_harmless(language, text) is harmless

"""What ``parse`` finds in a shell text: every simple command, and all that belongs to it."""

from __future__ import annotations

import pytest

from amplifier_modkit.shell import Mark, ParsedCommand, SimpleCommand, parse


def argvs(parsed: ParsedCommand) -> list[list[str]]:
    """The words of the commands, guesses left out; what is not known as a person would write it."""
    return [[word.text for word in command.argv] for command in parsed.certain]


def only(text: str) -> SimpleCommand:
    """The one command of a text that is understood."""
    parsed = parse(text)
    assert parsed.problems == ()
    (command,) = parsed.certain
    return command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  # nothing", []),
        ("a b c", [["a", "b", "c"]]),
        ("a; b\nc", [["a"], ["b"], ["c"]]),
        ("a && b || c", [["a"], ["b"], ["c"]]),
        ("a | b |& c", [["a"], ["b"], ["c"]]),
        ("a & b &", [["a"], ["b"]]),
        ("(a; b)", [["a"], ["b"]]),
        ("{ a; b; }", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("time -p -- a", [["a"]]),
        ("time", []),
        ("a | time b", [["a"], ["time", "b"], ["b"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("until a; do b; done", [["a"], ["b"]]),
        ("for x in 1 2 # c\ndo a; done", [["a"]]),
        ("for ((i=0; i<3; i++)); do a; done", [["a"]]),
        ("for ((;;)) { a; }", [["a"]]),
        ("select x in 1; do a; done", [["a"]]),
        ("case x in a|b) c;; *) d;; esac", [["c"], ["d"]]),
        ("case x in a) b\nesac", [["b"]]),
        ("echo a#b #c", [["echo", "a#b"]]),
        ("[[ x =~ (a|b)$ || y ]] && c", [["c"]]),
        ("case x in esac", []),
        ("f() { a; }; f", [["a"], ["f"]]),
        ("f () ( a ); f", [["a"], ["f"]]),
        ("function f { a; }", [["a"]]),
        ("function f() { a; }", [["a"]]),
        ("function f\n( a )", [["a"]]),
        ("coproc a b", [["a", "b"]]),
        ("[[ -f x && ( y < z ) ]]", []),
        ("[[ $(a) == b ]]", [["a"]]),
        ("[[ x =~ ^(a|b c)+$ ]] && d", [["d"]]),
        ("[[ x < <(a) ]]", [["a"]]),
        ("((x + 1)) && a", [["a"]]),
        ("a $(b $(c))", [["a", "$(b $(c))"], ["b", "$(c)"], ["c"]]),
        ("a `b \\`c\\``", [["a", "$(b `c`)"], ["b", "$(c)"], ["c"]]),
        ('a "x`b \\"c d\\"`"', [["a", 'x$(b "c d")'], ["b", "c d"]]),
        ("a <(b) >(c)", [["a", "<(b)", "<(c)"], ["b"], ["c"]]),
        ("a x<(b)y", [["a", "x<(b)y"], ["b"]]),
        ("a $((1 + $(b)))", [["a", "$((1 + $(b)))"], ["b"]]),
        ("a $[1+`b`]", [["a", "$((1+`b`))"], ["b"]]),
        ("a ${x:-$(b)} ${y[$(c)]}", [["a", "$x:-$(b)", "$y[$(c)]"], ["b"], ["c"]]),
        ("a <<E\n$(b) `c` ${x:-$(d)}\nE\ne", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a <<'E'\n$(b)\nE\nc", [["a"], ["c"]]),
        ("a <<E | b && c\nx\nE\nd", [["a"], ["b"], ["c"], ["d"]]),
        ("a <<< $(b)", [["a"], ["b"]]),
        ("x=$(a) b", [["b"], ["a"]]),
        ("x=(1 $(a) # c\n [2]=$(b))", [[], ["a"], ["b"]]),
        ("a > $(b)", [["a"], ["b"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a b\\\n c", [["a", "b", "c"]]),
        ("a b>c", [["a", "b"]]),
        ("a ${m['b c']}", [["a", "$m['b c']"]]),
        ("{ f() { a; }; }", [["a"]]),
        ("a'b'\"c\"\\d$'e\\x66'", [["abcdef"]]),
        ("a '' \"\"", [["a", "", ""]]),
        ("a {b,c}{1..2} {x} {,}", [["a", "b1", "b2", "c1", "c2", "{x}"]]),
        ("a ~ ~b/c '~' ~$x", [["a", "~", "~b/c", "~", "~$x"]]),
        ("a *.c [x]y [z", [["a", "*.c", "[x]y", "[z"]]),
        ("a $x ${x} $1 $@ $$ $", [["a", "$x", "$x", "$1", "$@", "$(($))", "$"]]),
        ("export x=1 y", [["export", "x=1", "y"]]),
        ("declare -a x=(1 2) y[0]=3 z+=4", [["declare", "-a", "x=(1 2)", "y[0]=3", "z+=4"]]),
    ],
)
def test_every_simple_command_is_found(text: str, expected: list[list[str]]) -> None:
    """The commands come in the order of the text, those inside of a word behind the command that has the word."""
    parsed = parse(text)
    assert (parsed.problems, argvs(parsed)) == ((), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[1] b", [["a[1]", "b"]]),
        ("if (a) then b; fi", [["a"], ["b"]]),
        ("for x do a; done", [["a"]]),
        ("for x\nin 1; { a; }", [["a"]]),
        ("case x in a|b) c;; (d) e;& f) ;; *) g;;& esac", [["c"], ["e"], ["g"]]),
        ("coproc N { a; }", [["a"]]),
        ("coproc N (a)", [["a"]]),
        ("coproc { a; }", [["a"]]),
        ("coproc while a; do b; done", [["a"], ["b"]]),
        ("((a); (b))", [["a"], ["b"]]),
        ("a#b #c", [["a#b"]]),
        ("a\\", [["a\\"]]),
    ],
)
def test_commands_that_only_one_of_two_parsers_reads_are_found_and_doubted(
    text: str, expected: list[list[str]]
) -> None:
    """Where tree-sitter does not follow bash, the commands are there, and the text counts as not understood."""
    parsed = parse(text)
    assert argvs(parsed) == expected
    assert [problem.partition(" ")[0] for problem in parsed.problems] == ["tree-sitter"]


def test_assignments_are_told_apart_from_words() -> None:
    """A command knows what is set for it; arrays and subscripts too, and assignments alone are a command."""
    command = only("x=1 y+=2 z=$HOME a b=c")
    assert [(each.name, each.value.text, each.is_append) for each in command.assignments] == [
        ("x", "1", False),
        ("y", "2", True),
        ("z", "$HOME", False),
    ]
    assert [word.value for word in command.argv] == ["a", "b=c"]
    (array,) = only("x=(1 b)").assignments
    assert [word.value for word in array.elements or ()] == ["1", "b"]
    (element,) = only("x[1+2]=3").assignments
    assert (element.name, element.subscript, element.value.value, element.elements) == ("x", "[1+2]", "3", None)


def test_redirections_are_kept_with_number_operator_and_target() -> None:
    """All operators of bash are read; each says whether its target is a file, and what happens to it."""
    (command,) = parse("a <i >o 2>>e >|c &>b &>>d <>r 3>&1 4<&- >&f {fd}>v <<<'t x' 5<&6-").certain
    found = [(each.fd, each.op, each.target.text, each.access) for each in command.redirections]
    assert found == [
        ("", "<", "i", "read"),
        ("", ">", "o", "write"),
        ("2", ">>", "e", "write"),
        ("", ">|", "c", "write"),
        ("", "&>", "b", "write"),
        ("", "&>>", "d", "write"),
        ("", "<>", "r", "write"),
        ("3", ">&", "1", None),
        ("4", "<&", "-", None),
        ("", ">&", "f", "write"),
        ("{fd}", ">", "v", "write"),
        ("", "<<<", "t x", None),
        ("5", "<&", "6-", None),
    ]
    assert [each.fd for each in command.redirections if each.is_input] == ["", "", ""]


def test_the_target_of_a_compound_command_is_seen() -> None:
    """A redirection behind a group, loop or function is a command without words."""
    parsed = parse("{ a; } > x 2>&1; while b; do c; done < y; f() { d; } >> z")
    assert [(target.access, target.path.value) for target in parsed.targets] == [
        ("write", "x"),
        ("read", "y"),
        ("write", "z"),
    ]


def test_the_texts_of_here_documents_are_known_if_nothing_is_replaced_in_them() -> None:
    """Quotes around the delimiter make a text literal, a dash drops leading tabs, an escaped newline joins lines."""

    def body(text: str) -> str | None:
        (redirection,) = parse(text).commands[0].redirections
        assert redirection.body is not None
        return redirection.body.value

    assert body("a <<'E F'\n$x `y` \\\nE F\n") == "$x `y` \\\n"
    assert body("a <<E\nplain\nE") == "plain\n"
    assert body("a <<-E\n\tx\n\t\tE\n") == "x\n"
    assert body("a <<E\nx \\\ny \\\\\n\\$z\nE\n") == "x y \\\n$z\n"
    assert body("a <<E\n$x\nE\n") is None
    assert body("a <<\\E\nE\n") == ""


def test_background_pipes_and_functions_are_marked() -> None:
    """A command knows whether it runs in the background, in a pipeline, and in which function it stands."""
    parsed = parse("a & b | c; f() { d; (e &); }; coproc g")
    found = {each.name: (each.is_background, each.is_piped, each.function) for each in parsed.commands}
    assert found == {
        "a": (True, False, None),
        "b": (False, True, None),
        "c": (False, True, None),
        "d": (False, False, "f"),
        "e": (True, False, "f"),
        "g": (True, True, None),
    }
    assert parsed.functions == {"f"}


def test_standard_input_is_followed() -> None:
    """A command knows the text that it reads if it is written there, and else the programs that write it."""
    feeds = {each.name: each.feed for each in parse("a; b <<< x; c < f; echo y | d; e f | g | h; i <<E\nz\nE").commands}
    assert {name: feed and (feed.text, feed.programs) for name, feed in feeds.items()} == {
        "a": None,
        "b": ("x", ()),
        "c": (None, ()),
        "echo": None,
        "d": ("y", ("echo",)),
        "e": None,
        "g": (None, ("e",)),
        "h": (None, ("g", "e")),
        "i": ("z\n", ()),
    }


def test_input_that_several_commands_read_is_a_guess() -> None:
    """What one of them takes is missing for the other, so nothing is certain; nor is it behind an output pipe."""
    feeds = {each.name: each.feed for each in parse("{ a; b; } <<< x; echo y | c > >(d); $x | e").commands}
    assert [(feeds[name].text, feeds[name].guess) for name in ("a", "b", "c", "d") if feeds[name]] == [  # pyright: ignore[reportOptionalMemberAccess]
        (None, "x"),
        (None, "x"),
        (None, "y"),
        (None, ""),
    ]
    assert feeds["e"] is not None
    assert feeds["e"].programs == ("",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a 'b", "a quote is not closed"),
        ('a "b', "a quote is not closed"),
        ("a $'b", "a quote is not closed"),
        ("a `b", "a backtick is not closed"),
        ("a $(b", "it ends where ')' was expected"),
        ("a ${b", "what is done to the variable 'b' is not known"),
        ("a ${b:-c", "a quote is not closed"),
        ("a ${%b}", "'${%b}' is no variable"),
        ("a ${#b[0]c}", "'#b[0]c' is no length of a variable"),
        ("a ${b c}", "what is done to the variable 'b' is not known"),
        ("a \"${b:-'c'}\"", "single quotes stand in braces in double quotes"),
        ("a ${ b; }", "braces behind a dollar sign hold commands"),
        ("a $((1 + 2", "an expression is not closed"),
        ("a $(('$x'))", "an expression has quotes"),
        ("a $((1 \\ 2))", "an expression has escapes"),
        ("a $\\\n(b)", "a dollar sign is parted from what follows by an escaped newline"),
        ("a $(\\\n(b))", "parentheses are parted by an escaped newline"),
        ("(\\\n(b))", "parentheses are parted by an escaped newline"),
        ("a &\\\n& b", "an operator is parted by an escaped newline"),
        ("a >\\\n> b", "an operator is parted by an escaped newline"),
        ("a\\\nb", "a word goes on behind an escaped newline"),
        ("a )", "a command was expected, not ')'"),
        ("a; ;", "a command was expected, not ';'"),
        ("a |", "a command was expected"),
        ("a (b)", "'(' was not expected"),
        ("a (", "'(' was not expected"),
        ("a ( b", "'(' was not expected"),
        ("$a() { b; }", "the name of a function is not known"),
        ("function $a { b; }", "the name of a function is not known"),
        ("a() b", "the function 'a' has no body"),
        ("if a; then b", "it ends where 'elif' or 'else' or 'fi' was expected"),
        ("then a", "'then' stands where no such word can be"),
        ("for 1x in a; do b; done", "a loop has no variable"),
        ("for x in a; b", "a loop has no body"),
        ("for ((a) b); do c; done", "the loop 'for ((' is not followed"),
        ("case x a) b;; esac", "'case' has no 'in'"),
        ("case x in a b) c;; esac", "a pattern of 'case' is not followed"),
        ("case x in @(a|b)) c;; esac", "a pattern of 'case' is not followed"),
        ("case x in #a) b;; esac", "a pattern of 'case' is not followed"),
        ("[[ a", "the brackets '[[' are not closed"),
        ("[[ a ; b ]]", "';' stands in '[['"),
        ("[[ a =~ (b ]]", "a pattern in '[[' is not followed"),
        ("[[ a == b||c ]]", "a pattern in '[[' is not followed"),
        ("a > > b", "the redirection '>' has no target"),
        ("a >", "the redirection '>' has no target"),
        ("a > )", "the redirection '>' has no target"),
        ("a > #b", "a comment stands where a word was expected"),
        ("a <<$x\n$x", "the end of a here-document is not known"),
        ("a << #x", "a comment stands where a word was expected"),
        ("a <<E", "a here-document has no text"),
        ("a <<E\nb", "the here-document does not end with 'E'"),
        ("a $(b <<E)", "a here-document and a substitution are mixed up"),
        ("a <<E $(b\nc)\nd\nE", "a here-document and a substitution are mixed up"),
        ("a {x[0]}>b", "a redirection has a name that is not followed"),
        ("x=(a", "an array is not closed"),
        ("x=(a;)", "';' stands in an array"),
        ("x[0]=(a)", "an element of an array cannot be an array"),
        ("x[0 1] a", "a word with the subscript '[0 1]' is not followed"),
        ("a \x07b", "it has the control character '\\x07' outside of quotes"),
        ("a \x85b", "it has '\\x85' outside of quotes, which some systems take for a blank"),
        ("a\0", "it has a NUL character"),
        ("wc() { a; }", "it defines a function 'wc' in place of the program"),
        ("a " + "\x01" * 30, "it has the control character '\\x01' outside of quotes"),
        ("( " * 31 + "a" + " )" * 31, "it is nested more than 30 deep"),
        ("((a) );" * 60, "too much of it can be read in two ways"),
        ("a;" * 2_100, "it has more than 2,000 commands"),
        ("a " * 2_100, "a command has more than 2,000 words"),
        ("x=(" + "a " * 2_100 + ")", "an array has more than 2,000 values"),
        ("a " + '"$x"' * 2_100, "a word has more than 2,000 parts"),
        ('a "' + "$x" * 2_100 + '"', "a word has more than 2,000 parts"),
        ("a <<E\n" + "$x" * 2_100 + "\nE\n", "a word has more than 2,000 parts"),
        ("a" * 200_001, "it is longer than 200,000 characters"),
        ("timeout 1 " * 14 + "a", "commands are wrapped in too many others"),
        ("eval eval 'eval " + "x" * 150_000 + "'", "the texts inside of it are too long"),
    ],
)  # fmt: skip
def test_what_is_not_understood_says_why(text: str, reason: str) -> None:
    """Nothing is raised; the first reason is told."""
    parsed = parse(text)
    assert (parsed.is_understood, parsed.reason) == (False, reason)


def test_commands_before_the_trouble_are_found_all_the_same() -> None:
    """A refusal is possible even where a question would be the least."""
    assert ["sudo", "ls"] in argvs(parse("a `sudo ls; 'x`; never"))
    parsed = parse("sudo id; if a; then sudo b 'x")
    assert argvs(parsed) == [["sudo", "id"], ["id"], ["a"], ["sudo", "b"], ["b"]]


def test_deep_expansions_end_in_a_reason_and_not_in_an_error() -> None:
    """Nested braces and quotes are followed to a limit."""
    for text in ("${x:-" * 500 + "}" * 500, 'a "${x:-' * 300, "$((" * 400, "a[" * 3_000, '"$(' * 300):
        assert parse(text).is_understood is False


def test_a_recursion_limit_that_is_reached_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the stack above holds, the answer is that the text is nested too deep."""

    def read_all(self: object) -> None:
        raise RecursionError

    monkeypatch.setattr("amplifier_modkit.shell.grammar.Reader.read_all", read_all)
    assert parse("a").reason == "it is nested too deep"


def test_a_command_is_told_in_one_line_and_by_its_name() -> None:
    """Assignments, words and redirections are shown; the name is the program's, in lower case and without folder."""
    command = only("X=1 '/usr/bin/LS.exe' -l \"$x\" > out 2>&1")
    assert (command.text, command.name) == ("X=1 /usr/bin/LS.exe -l $x > out 2>& 1", "ls")
    assert (command.values, command.is_dynamic) == (("-l", None), False)
    assert [only(text).name for text in ("$x", "x=1", "./")] == ["", "", "."]
    assert [only(text).is_dynamic for text in ("$x", "x=1")] == [True, False]


def test_all_paths_of_a_text_are_listed_by_what_happens_to_them() -> None:
    """Reads and writes are those of all certain commands."""
    parsed = parse("cp a b; rm c; x=d; cat $x; cat ${y:-e}")
    assert [word.text for word in parsed.reads] == ["a", "d", "$y:-e"]
    assert [word.text for word in parsed.writes] == ["b", "c"]
    assert any(Mark.GUESS in command.marks for command in parsed.commands)

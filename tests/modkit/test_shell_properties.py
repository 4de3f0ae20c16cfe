"""Laws of the shell part: whatever the text is, there is an answer in time, and no spelling opens a closed door."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modkit.shell import PROFILES, CommandLists, Mark, covers, judge, matches, may_match, parse

BASH = shutil.which("bash")
LIMIT_S = 20.0
"""Far more than any text takes on a busy machine, and far less than a search that explodes."""

DANGEROUS = [
    ["sudo", "id"],
    ["rm", "-rf", "/"],
    ["rm", "-r", "-f", "/etc"],
    ["mkfs.ext4", "/dev/sda1"],
    ["chmod", "-R", "777", "/"],
    ["dd", "if=x", "of=/dev/sda"],
    ["shutdown", "now"],
    ["kill", "-9", "-1"],
    ["passwd", "root"],
]
FRAGMENTS = [
    "a", "b c", "sudo id", "x=1", "$x", "'", '"', "\\", "\n", "$(", ")", "`", "${x:-", "}", "<<E\n", "\nE\n", "#",
    ";", "&&", "|", "&", "((", "))", "[[ ", " ]]", "{ ", "; }", "if ", "; then ", "; fi", "case x in ", "x) ",
    ";;", " esac", "a[", "]=", "<(", ">(", "$'", "\\\n", "! ", "time ", "coproc ", "f() ", "{a,b}", " ", "*", "~",
    "2>&1", ">/dev/null", "for i in ", "; do ", "; done", "=~ ", "a=(", "$((", "é", "\0", "\ud800",
]  # fmt: skip


def _escaped(char: str) -> str:
    return f"\\{char}"


def _single(char: str) -> str:
    return f"'{char}'"


def _double(char: str) -> str:
    return f'"{char}"'


def _hexadecimal(char: str) -> str:
    return f"$'\\x{ord(char):02x}'"


def _octal(char: str) -> str:
    return f"$'\\{ord(char):03o}'"


def _with_empty_quotes(char: str) -> str:
    return f"''{char}\"\""


SPELLINGS = [str, _escaped, _single, _double, _hexadecimal, _octal, _with_empty_quotes]


@st.composite
def spelled(draw: st.DrawFn, words: list[str]) -> str:
    """The same words, every character quoted in one of the ways that mean the same."""
    written = ["".join(draw(st.sampled_from(SPELLINGS))(char) for char in word) for word in words]
    blanks = st.sampled_from([" ", "\t", "  ", " \\\n"])
    return "".join(word + draw(blanks) for word in written)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


PLACES = [
    "{0}",
    "ls; {0}",
    "ls && {0}",
    "ls | {0}",
    "ls & {0}",
    "ls\n{0}",
    "({0})",
    "{{ {0}; }}",
    "! {0}",
    "time {0}",
    "if {0}; then :; fi",
    "while {0}; do break; done",
    "for i in 1; do {0}; done",
    "case x in x) {0};; esac",
    "f() {{ {0}; }}; f",
    "echo $({0})",
    'echo "$({0})"',
    "x=$({0})",
    "cat <({0})",
    "echo ${{x:-$({0})}}",
    "echo $(( 1 + $({0}) ))",
    "cat <<E\n$({0})\nE",
    "env {0}",
    "timeout 5 {0}",
    "nohup nice -n 5 {0}",
    "command {0}",
    "exec {0}",
    "A=1 {0}",
    "2>&1 {0}",
    "echo x | xargs {0}",
    "coproc {0}",
    "[[ -n $({0}) ]]",
    "a[$({0})]=1",
]
TEXT_PLACES = [
    "bash -c {0}",
    "sh -c {0}",
    "eval {0}",
    "trap {0} EXIT",
    "echo {0} | bash",
    "bash <<< {0}",
    "ssh h {0}",
    "env bash -ec {0}",
    "find . -exec bash -c {0} \\;",
]


@st.composite
def dangerous(draw: st.DrawFn) -> str:
    """A forbidden command, spelled somehow, inside of some others."""
    text = draw(spelled(draw(st.sampled_from(DANGEROUS))))
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            text = draw(st.sampled_from(PLACES)).format(text)
        else:
            text = draw(st.sampled_from(TEXT_PLACES)).format(_quoted(text))
    return text


@pytest.mark.slow
@settings(max_examples=300)
@given(text=dangerous())
def test_no_spelling_and_no_wrapping_of_a_forbidden_command_is_allowed(text: str) -> None:
    """However its characters are quoted and whatever it is put into, the strict profile does not let it pass."""
    assert judge(parse(text), "strict").decision != "allow"


@pytest.mark.slow
@settings(max_examples=200)
@given(st.sampled_from(DANGEROUS).flatmap(spelled))
def test_quotes_change_nothing_about_a_verdict(text: str) -> None:
    """A command in quotes of any kind is denied like the plain one."""
    verdict = judge(parse(text), "strict")
    assert (verdict.decision, verdict.rule_id != "not-understood") == ("deny", True)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)))
def test_every_text_has_an_answer(text: str) -> None:
    """Nothing is raised for whatever text, and all questions can be asked about the result."""
    parsed = parse(text)
    assert parsed.is_understood is (parsed.reason == "")
    lists = CommandLists(denied=("x *",), allowed=("a",))
    assert {judge(parsed, profile, lists).decision for profile in PROFILES} <= {"allow", "ask", "deny"}
    assert not matches("Bash(x *y*)", parsed) or may_match("Bash(x *y*)", parsed)
    assert all(
        command.text.startswith(command.argv[0].text)
        for command in parsed.commands
        if command.argv and not command.assignments
    )


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(["ls", "ls -l", "git status", "rm x", "echo $x", "env ls", "$x"]), min_size=1, max_size=4)
)
def test_an_allowance_covers_a_list_just_if_it_covers_each_part(parts: list[str]) -> None:
    """Separators of any kind change nothing about what is covered."""
    rules = ["Bash(ls:*)", "Bash(git status)", "Bash(echo:*)"]
    each = all(covers(rules, parse(part)) for part in parts)
    assert [covers(rules, parse(separator.join(parts))) for separator in ("; ", " && ", " | ", "\n")] == [each] * 4


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_words_are_what_bash_makes_of_them(data: st.DataObject) -> None:
    """Words with any quotes around any of their characters reach a program as we say they do."""
    char = st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\'\"")
    words = data.draw(st.lists(st.text(char, min_size=1, max_size=6), min_size=1, max_size=4))
    written = [
        "".join(
            data.draw(st.sampled_from([_single, _hexadecimal, _octal] if not each.isalnum() else SPELLINGS))(each)
            for each in word
        )
        for word in words
    ]
    text = "printf '%s\\0' " + " ".join(written)
    (command,) = parse(text).certain
    done = subprocess.run([str(BASH), "-c", text], capture_output=True, check=True)
    assert [word.value for word in command.argv[2:]] == done.stdout.decode().split("\0")[:-1] == words


# Nothing in it calls itself, loops or goes on in the background.
RUNNABLE = [
    "M1", "M2 a", "M3 'b c'", "x=M4", "$x", "${x}", "'", '"', "\\", "\n", "$(", ")", "`", "${x:-M5", "}", "<<E\n",
    "\nE\n", "#", " # ", ";", "&&", "||", "|", "((", "))", "[[ ", " ]]", "{ ", "; }", "if ", "; then ", "; fi",
    "case x in ", "x) ", ";;", " esac", "a[", "]=", "<(", "$'", "\\\n", "! ", "time ", "{M6,b}", " ", " ", " ",
    "2>&1", ">/dev/null", "for i in ", "; do ", "; done", "=~ ", "a=(", "$((", "eval ", "'M7 q'", '"M8 $x"',
    "command ", "echo ", "set -- M9", '"$@"', "$1", "<<<", "<<'E'\n", "<<-E\n", "\t", "${!x}", "${x/M/N}", "declare ",
    "-a ", "'a=($(M1))'", "\r", "é",
]  # fmt: skip
HANDLER = '() { printf \'%s\\0\' "$1" >> "$LOG"; }'


def _run_by_bash(text: str) -> set[str]:
    """The names of all programs that bash looks for when it runs ``text`` where there are none."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        log.touch()
        environment = {"PATH": folder, "LOG": str(log), "BASH_FUNC_command_not_found_handle%%": HANDLER}
        given = [str(BASH), "--norc", "-c", text]
        subprocess.run(
            given, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
        return set(log.read_bytes().decode("utf-8", "replace").split("\0")[:-1])


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(st.sampled_from(RUNNABLE), min_size=2, max_size=16).map("".join))
def test_bash_runs_nothing_that_was_not_seen(text: str) -> None:
    """In a text that is understood, every program that bash looks for is among the commands, or one of them is open."""
    parsed = parse(text)
    is_open = any(command.is_dynamic or Mark.OPAQUE in command.marks for command in parsed.commands)
    if not parsed.is_understood or parsed.doubts or is_open:
        return
    assert _run_by_bash(text) <= {command.argv[0].value for command in parsed.commands if command.argv}


HUGE = 100_000
LONG_TEXTS = {
    "words": "ls " + "a " * HUGE,
    "one word": "ls " + "a" * HUGE,
    "variables": "ls " + "$a " * HUGE,
    "commands": "ls;" * HUGE,
    "pipes": "ls|" * HUGE + "ls",
    "parentheses": "(" * HUGE,
    "arithmetic": "$((" * HUGE,
    "either way": "((a) " * HUGE,
    "substitutions": "$(" * HUGE,
    "backticks": "`" * HUGE,
    "braces": "echo " + "{a," * (HUGE // 2),
    "parameters": "${x:-" * (HUGE // 5),
    "subscripts": "a[" * HUGE,
    "nested subscripts": "a[$(" * 25 + "x" + ")]" * 25,
    "here-documents": "cat <<E\nx\nE\n" * (HUGE // 12),
    "joined lines": "cat <<E\n" + "\\\n" * HUGE + "E\n",
    "folders": "".join(f"cd a{number};" for number in range(1_500)) + "rm -rf " + "x " * 1_900,
    "functions": "".join(f"f{number}() {{ f{number + 1} & }};" for number in range(1_900)),
    "references": "".join(f"x{number}=x{number + 1};" for number in range(1_900)) + "echo $((x0))",
    "wildcards": "rm -rf /" + "*a" * (HUGE // 2),
    "brackets": "rm -rf " + "[" * HUGE,
    "detours": "echo > " + "/a/.." * (HUGE // 5),
    "options": "nice --x " + "a " * HUGE,
    "actions": "find " + '"$a" ' * (HUGE // 5) + "\\;",
    "wrappers": "env " * HUGE,
    "blanks for sed": "sed '" + " " * 9_000 + "!x' f",
    "prints for awk": "awk '" + "print" * 1_900 + "' f",
    "lines for sql": "psql -c '" + "\n" * HUGE + "'",
    "stars": "git " + "a" * HUGE + "b c",
    "surrogates": "ls " + "\ud800" * HUGE,
    "controls": "\x01" * HUGE,
}


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_long_and_deep_texts_are_answered_in_time(name: str) -> None:
    """No text makes parser or rules search without end, whatever the answer is."""
    begun = time.perf_counter()
    parsed = parse(LONG_TEXTS[name])
    judge(parsed, "strict", CommandLists(denied=("git *a*a*a*b",), allowed=("ls *a*a*b",)))
    assert time.perf_counter() - begun < LIMIT_S

"""Variables that certainly have the value that the text gives them, and those that may have been changed."""

from __future__ import annotations

import pytest

from amplifier_modkit.shell import parse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x=a; b $x", "b a"),
        ("x=a\nb \"$x\" ${x}", "b a a"),
        ("x='a  b'; c $x \"$x\"", "c a b a  b"),
        ("x=; a $x \"$x\" b", "a  b"),
        ("x='*'; a $x", "a *"),
        ("export x=a; b $x", "b a"),
        ("readonly x=a; b $x", "b a"),
        ("x=a; y=b; c $x$y", "c ab"),
        ("x=a; f() { b $x; }", "b a"),
        ("x=a; (b $x)", "b a"),
        ("x=a; read y; b $x", "b a"),
        ("x=a; printf '%s' b; c $x", "c a"),
        ("x=a; b > $x", "b > a"),
        ("x=a; b $x$y", "b a$y"),
    ],
)  # fmt: skip
def test_a_value_is_certain_if_the_variable_gets_it_once_and_for_all(text: str, words: str) -> None:
    """It stands in place of the variable; without quotes it is split at blanks, and wildcards are wildcards."""
    assert parse(text).certain[-1].text == words


@pytest.mark.parametrize(
    "text",
    [
        "b $x; x=a",
        "x=a; x=c; b $x",
        "x=a c; b $x",
        "true && x=a; b $x",
        "if true; then x=a; fi; b $x",
        "(x=a); b $x",
        "x=a & b $x",
        "x=a | true; b $x",
        "x=$y; b $x",
        "x+=a; b $x",
        "x=(a); b $x",
        "x[0]=a; b $x",
        "x=a; for x in c; do d; done; b $x",
        "x=a; read x; b $x",
        "x=a; read -r x; b $x",
        "x=a; command read x; b $x",
        "x=a; printf -v x c; b $x",
        "x=a; printf -vx c; b $x",
        "x=a; unset x; b $x",
        "x=a; declare x=c; b $x",
        "x=a; declare \"x=c\"; b $x",
        "x=a; declare \"$y\"; b $x",
        "x=a; declare -n y=x; b $x",
        "x=a; export -n x; b $x",
        "x=a; eval c; b $x",
        "x=a; . c; b $x",
        "x=a; $c; b $x",
        "x=a; ((x++)); b $x",
        "x=a; c ${x:=d}; b $x",
        "IFS=c; x=acd; b $x",
        "x=acd; declare \"IFS=c\"; b $x",
        "x=a; coproc x { c; }; b $x",
        "export x=a y=c; b $x",
        "RANDOM=a; b $RANDOM",
        "PWD=a; b $PWD",
    ],
)  # fmt: skip
def test_a_value_that_may_have_changed_is_not_certain(text: str) -> None:
    """Whatever may set the variable again, or may not have set it yet, leaves it open."""
    last = [command for command in parse(text).certain if command.name == "b"][-1]
    assert last.argv[1].value is None


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        ("echo $((1 + 2))", []),
        ("x=1; echo $((x))", []),
        ("x=1; y=x; echo $((y))", []),
        ("x=$((1)); echo $((x))", []),
        ("x=; echo $((x))", []),
        ("x=$(ls | wc -l); echo $((x))", []),
        ("echo $((x + 16#ff))", []),
        ("for x in 1 2; do echo $((x)); done", []),
        ("echo ${x[1]} ${x[@]} ${#x} ${x:1:2}", []),
        ("declare -A m; m[$k]=1; k=$(ls); echo ${m[$k]}", []),
        ("unset x; echo $((x))", []),
        ("[[ 1 -eq 2 ]]", []),
        ("[[ -v x ]]", []),
        ("read x y", []),
        ("x=$(ls); echo ${!x[@]} ${!x*} ${!x@} ${!x[*]}", []),
        ("read -a x", []),
        ("test -f x", []),
        ("x=a.b; echo $((x))", ["evaluated-variable"]),
        ("x=$(ls); echo $((x))", ["evaluated-variable"]),
        ("x=y; y=$(ls); echo $((x))", ["evaluated-variable"]),
        ("read x; echo $((x))", ["evaluated-variable"]),
        ("x=$(ls); echo ${a[x]} ${y:x}", ["evaluated-variable"]),
        ("x=$(ls); echo ${!x}", ["evaluated-variable"]),
        ("x=$(ls); [[ $x -eq 1 ]]", ["evaluated-variable"]),
        ("x=$(ls); [[ -v $x ]]", ["evaluated-variable"]),
        ("x=$(ls); let x+1", ["evaluated-variable"]),
        ("x=$(ls); test -v \"$x\"", ["evaluated-variable"]),
        ("x=$(ls); wait -p \"$x\"", ["evaluated-variable"]),
        ("x=$(ls); getopts ab \"$x\"", ["evaluated-variable"]),
        ("x=$(ls); mapfile \"$x\"", ["evaluated-variable"]),
        ("x=$(ls); export \"$x\"", ["evaluated-variable"]),
        ("declare -i x; x=$(ls)", ["evaluated-variable"]),
        ("echo $(($1))", ["evaluated-variable"]),
        ("echo ${x@P}", ["evaluated-variable"]),
        ("echo $(( $(ls) ))", ["evaluated-output"]),
        ("echo $(( \"$(ls)\" + \"$x\" ))", ["evaluated-output"]),
        ("[[ $(ls) -gt 1 ]]", ["evaluated-output"]),
        ("read \"a[\\$(b$x)]\"", ["evaluated-text"]),
        ("PATH=x", ["loaded-variable"]),
        ("read PATH", ["loaded-variable"]),
        ("read -aPATH", ["loaded-variable"]),
        ("declare -n r=PATH", ["evaluated-variable", "loaded-variable"]),
        ("unset LD_PRELOAD", ["loaded-variable"]),
        ("env PATH=x a", ["loaded-variable"]),
        ("x=1 y=2 a", []),
    ],
)  # fmt: skip
def test_what_the_shell_evaluates_or_loads_is_doubted(text: str, doubts: list[str]) -> None:
    """A value that is evaluated as an expression may run commands unless it is a number, as far as the text tells."""
    assert [doubt.id for doubt in parse(text).doubts] == doubts

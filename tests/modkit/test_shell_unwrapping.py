"""Commands inside of commands: what wrappers, shells, languages and tools run, and what is to be known about them."""

from __future__ import annotations

import pytest

from amplifier_modkit.shell import Mark, parse


def runs(text: str) -> list[str]:
    """The certain commands of ``text`` as people read them."""
    return [command.text for command in parse(text).certain]


def marks(text: str) -> set[str]:
    """What is noted about the first command of ``text``."""
    return {mark.value for mark in parse(text).commands[0].marks}


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("env a b", ["a b"]),
        ("env", []),
        ("env -i -u X A=1 B-2=3 a", ["A=1 B-2=3 a"]),
        ("env A=1", ["A=1"]),
        ("env -S 'a b' c", ["a b c"]),
        ("env -S'A=1 a'", ["A=1 a"]),
        ("env - a", ["- a", "a"]),
        ("command a", ["a"]),
        ("command -v a", []),
        ("exec -a x a", ["a"]),
        ("nice -n 5 a", ["a"]),
        ("nice --adjustment=5 a", ["a"]),
        ("nice --adj 5 a", ["a"]),
        ("timeout -s KILL 5 a -b", ["a -b"]),
        ("timeout 5 -- a", ["a"]),
        ("sudo -u x A=1 a", ["A=1 a"]),
        ("sudo -l a", []),
        ("busybox a b", ["a b"]),
        ("/lib64/ld-linux-x86-64.so.2 --argv0 x a", ["a"]),
        ("eval a 'b; c'", ["a b", "c"]),
        ("trap 'a; b' EXIT", ["a", "b"]),
        ("trap - EXIT", []),
        ("trap", []),
        ("alias x='a b' y z=c", ["a b", "c"]),
        ("bash -c 'a; b' x y", ["a", "b"]),
        ("bash -ec 'a'", ["a"]),
        ("bash +e -o pipefail -c a", ["a"]),
        ("bash -norc -c a", ["a"]),
        ("sh -c a", ["a"]),
        ("bash3.2 -c a", ["a"]),
        ("bash <<< a", ["a"]),
        ("echo a | bash -s x", ["a"]),
        ("echo a | sh /dev/stdin", ["a"]),
        (". /dev/stdin <<< a", ["a"]),
        ("at now <<< a", ["a"]),
        ("xargs a b", ["a b input"]),
        ("xargs", []),
        ("xargs -I{} a x{}y", ["a x{}y"]),
        ("xargs -i a {}", ["a {}"]),
        ("xargs --replace=R a R", ["a R"]),
        ("find . -exec a {} \\; -exec b {} + -print", ["a {}", "b {}"]),
        ("find . -exec a + \\;", ["a +"]),
        ("find . -name x", []),
        ("fd x -x a", ["a"]),
        ("parallel a ::: x y", []),
        ("parallel ::: 'a b' c", ["a b", "c"]),
        ("watch -n 1 a '|' b", ["a", "b"]),
        ("flock x a", ["a"]),
        ("flock x -c 'a; b'", ["a", "b"]),
        ("su x -c 'a b'", ["a b"]),
        ("script -qc a", ["a"]),
        ("ssh -p 1 h a b", ["a b"]),
        ("ssh h -p 1 'a; b'", ["a", "b"]),
        ("ssh -o ProxyCommand='a b' h c", ["a b", "c"]),
        ("ssh -o 'LocalCommand a' -o X=y -o z h c", ["a", "c"]),
        ("ssh h <<< a", ["a"]),
        ("docker run --rm -e A=1 i a b", ["a b"]),
        ("docker run --entrypoint a i", ["a"]),
        ("docker container exec c a", ["a"]),
        ("docker ps", []),
        ("docker", []),
        ("kubectl exec p -it -- a b", ["a b"]),
        ("git -c core.pager=a log", ["a"]),
        ("git -c alias.x='!a b' x", ["a b"]),
        ("git -c alias.x=log x", []),
        ("git -c user.name=x log", []),
        ("git config core.editor 'a b'", ["a b"]),
        ("git config set alias.x '!a'", ["a"]),
        ("git config core.editor", []),
        ("git rebase -x a -x b main", ["a", "b"]),
        ("git bisect run a b", ["a b"]),
        ("git submodule foreach 'a; b'", ["a", "b"]),
        ("git clone 'ext::a b' x", ["a b"]),
        ("git clone host:x", []),
        ("socat - EXEC:a", ["a"]),
        ("tar -cf x --checkpoint-action=exec=a .", ["a"]),
        ("tar cIf a x .", ["a"]),
        ("tar", []),
        ("rsync -avze 'a b' c d", ["a b"]),
        ("sort --compress-program=a x", ["a"]),
        ("nix-shell --run 'a b'", ["a b"]),
        ("uv run -q a", ["a"]),
        ("uv tool run a", ["a"]),
        ("npm exec -- a b", ["a b"]),
        ("npm test", []),
        ("mapfile -C a x", ["a"]),
    ],
)
def test_what_a_command_runs_is_in_the_list(text: str, inner: list[str]) -> None:
    """The commands inside follow their wrapper, with the variables that are set for them."""
    parsed = parse(text)
    within = [command.text for command in parsed.certain if command.origin]
    assert (parsed.problems, within) == ((), inner)


def test_wrappers_are_unwrapped_however_deep_they_are() -> None:
    """A command knows through which others it runs; what holds for a wrapper holds for what it runs."""
    command = parse("timeout 5 sudo ssh h 'docker exec c env bash -c \"a b\"' &").commands[-1]
    assert (command.text, command.origin, command.is_background) == (
        "a b",
        ("timeout", "sudo", "ssh", "docker", "env", "bash"),
        True,
    )
    assert (command.marks, command.is_elsewhere) == ({Mark.PRIVILEGED, Mark.REMOTE, Mark.CONTAINER}, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env a", {"wrapper"}),
        ("env", set()),
        ("bash -c a", {"wrapper"}),
        ("bash -c", {"wrapper", "opaque"}),
        ("bash -c \"$x\"", {"wrapper", "opaque"}),
        ("bash -c a --rcfile x", {"wrapper"}),
        ("bash --rcfile x -c a", {"wrapper", "runs_file"}),
        ("bash x", {"runs_file"}),
        ("bash \"$x\"", {"opaque"}),
        ("bash <(a)", {"opaque"}),
        ("bash /proc/self/fd/3", {"opaque"}),
        ("bash", {"opaque"}),
        ("bash --version", set()),
        ("bash < f", {"opaque"}),
        ("bash <<< 'a'", {"wrapper"}),
        ("bash <<E\nls\ncd x\n# c\nE", {"wrapper"}),
        ("bash <<E\nread x\nls\nE", {"opaque"}),
        ("bash $x -c a", {"opaque"}),
        ("source f", {"runs_file"}),
        ("source $f", {"opaque", "unsure"}),
        ("source", {"opaque"}),
        (". <(a)", {"opaque", "unsure"}),
        ("eval $x", {"wrapper", "opaque"}),
        ("eval", set()),
        ("alias \"$x\"", {"opaque", "unsure"}),
        ("alias x", set()),
        ("trap \"$x\" EXIT", {"opaque", "unsure"}),
        ("sudo a", {"privileged"}),
        ("ssh h a", {"remote"}),
        ("ssh h", {"remote", "opaque"}),
        ("ssh h <<< a", {"remote"}),
        ("ssh h \"$x\"", {"remote", "opaque"}),
        ("docker run i", {"container"}),
        ("docker $x", {"unsure"}),
        ("nice --strange a", {"wrapper", "opaque"}),
        ("nice \"$x\" a", {"wrapper", "opaque"}),
        ("nice x\"$y\" a", {"wrapper"}),
        ("env -S \"$x\"", {"wrapper", "opaque"}),
        ("env -S 'a\\_b'", {"wrapper", "opaque"}),
        ("xargs a", {"wrapper"}),
        ("find . $x", {"unsure"}),
        ("find . \"$x\"", set()),
        ("find . \"$x\" \"$y\" \\;", {"unsure"}),
        ("find . x\"$y\"", set()),
        ("parallel a", {"opaque"}),
        ("parallel", {"opaque"}),
        ("git $x", {"unsure"}),
        ("git -c \"$x\" log", {"unsure"}),
        ("git -c x log", set()),
        ("git commit -m \"$x\"", set()),
        ("git commit $x", {"unsure"}),
        ("git --exec-path=x log", {"breaks_out", "runs_code"}),
        ("rsync -z --strange a b", set()),
        ("tar \"$x\"", {"unsure"}),
        ("python3 -c x", {"runs_code"}),
        ("python3.12 -Ic x", {"runs_code"}),
        ("python3 x.py", {"runs_file"}),
        ("python3 -m x", {"runs_file"}),
        ("python3", set()),
        ("python3 -", set()),
        ("python3 - <<< x", {"runs_code"}),
        ("python3 <<< x", {"runs_code"}),
        ("python3 -V", set()),
        ("perl -ne x f", {"runs_code"}),
        ("python3 -m timeit x", {"runs_code"}),
        ("python3 \"$x\"", {"unsure"}),
        ("python3 <(a)", {"opaque", "unsure"}),
        ("perl -MJSON x", {"runs_file"}),
        ("perl '-Mx;y' z", {"runs_code"}),
        ("node --import data:x y", {"runs_code"}),
        ("make -f - x", {"runs_file", "opaque"}),
        ("node --eval=x", {"runs_code"}),
        ("deno eval x", {"breaks_out", "runs_code"}),
        ("deno run x", set()),
        ("awk '{print}' f", set()),
        ("awk 'BEGIN{system(\"a\")}'", {"breaks_out", "runs_code"}),
        ("awk \"$x\"", {"breaks_out", "runs_code", "unsure"}),
        ("awk -f x f", {"breaks_out", "runs_file"}),
        ("awk", set()),
        ("sed -n 1p f", set()),
        ("sed -e 1p -e '1e a' f", {"breaks_out", "runs_code"}),
        ("sed -f x f", {"breaks_out", "runs_file"}),
        ("sqlite3 x 'select 1'", set()),
        ("sqlite3 x '.shell a'", {"breaks_out", "runs_code"}),
        ("psql -c '\\! a'", {"breaks_out", "runs_code"}),
        ("psql < f", {"breaks_out", "runs_code"}),
        ("vim +5 f", set()),
        ("vim '+!a' f", {"breaks_out", "runs_code"}),
        ("vim -c x f", {"breaks_out", "runs_code"}),
        ("less +F f", set()),
        ("make all", {"runs_file"}),
        ("make 'X=$(shell a)'", {"breaks_out", "runs_file", "runs_code"}),
        ("ed < f", {"breaks_out", "runs_code"}),
        ("ed f", set()),
        ("at now", {"opaque"}),
        ("at -f x now", {"breaks_out", "runs_file"}),
        ("coreutils x", {"opaque"}),
        ("vim -es x", {"breaks_out", "runs_code"}),
        ("python3 --strange x -c y", {"runs_code", "runs_file"}),
        ("python3 --strange x y", {"runs_file"}),
        ("zip -TTa x", set()),
        ("make CC=x", {"breaks_out", "runs_code", "runs_file"}),
        ("make X=y", {"runs_file"}),
        ("sqlite3 < f", {"breaks_out", "runs_code"}),
        ("sqlite3 x", set()),
        ("script x", {"opaque"}),
        ("script -c a", set()),
        ("ssh -F x h a", {"breaks_out", "remote", "runs_file"}),
        ("", None),
        ("ls", set()),
        ("x=1", set()),
    ],
)  # fmt: skip
def test_what_a_command_does_beside_its_words_is_marked(text: str, expected: set[str] | None) -> None:
    """Code in other languages, files of code, other users and machines, and whatever the text does not show."""
    if expected is None:
        assert parse(text).commands == ()
    else:
        assert marks(text) == expected


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("bash -c \"a $x\"", "a $hole"),
        ("bash -c \"$x; a\"", "a"),
        ("nice --strange b a", "a"),
        ("env \"$x\" a b", "a b"),
        ("find . \"$x\" a b \\;", "a b"),
        ("echo a | xargs b", "b a"),
        ("{ read x; bash; } <<< 'a b'", "a b"),
        ("bash <<E\nread x\na b\nE", "a b"),
        ("x=a; x=b; $x c", "a c"),
        ("x=a; x=b; $x c", "b c"),
        ("$(echo a b) c", "a b c"),
        ("a ${x:-b}", "a b"),
        ("a$IFS-b", "a -b"),
        ("x=~/y; a $x", "a ~/y"),
        ("parallel a ::: b", "a $hole"),
    ],
)  # fmt: skip
def test_what_a_command_may_turn_out_to_be_is_there_as_a_guess(text: str, guess: str) -> None:
    """Values that are written in the text are tried, and the known part of a text is read."""
    assert guess in [command.text for command in parse(text).commands if Mark.GUESS in command.marks]


def test_no_more_than_some_guesses_are_made() -> None:
    """Their number does not grow with the text."""
    many = parse("x=1; " * 50 + "$x $x $x")
    assert sum(Mark.GUESS in command.marks for command in many.commands) < 20
    strange = parse("nice --strange " + "a " * 500)
    assert sum(Mark.GUESS in command.marks for command in strange.commands) == 20
    found = parse("find . " + '"$x" a \\; ' * 50)
    assert sum(Mark.GUESS in command.marks for command in found.commands) == 20
    assert Mark.UNSURE in found.commands[0].marks


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sh -c 'a &>b c'", "other shells than bash read '&>' in another way"),
        ("sh -c '[[ a && b ]]'", "other shells than bash read '[[' in another way"),
        ("dash -c 'cat <(a)'", "other shells than bash read '<(' in another way"),
        ("zsh -c a", "it runs in a shell that is not bash"),
        ("bash -c 'a ('", "'(' was not expected"),
    ],
)
def test_texts_for_other_shells_are_doubted(text: str, reason: str) -> None:
    """What they read in another way than bash is not understood, nor is a text inside with an error."""
    assert parse(text).reason == reason


def test_trouble_in_a_guess_is_no_trouble() -> None:
    """A guess that cannot be parsed says nothing about the text."""
    assert parse("x='('; echo a | xargs -I{} bash -c \"{} $x\"").problems == ()


def test_runs_of_a_function_are_found_where_it_is_defined() -> None:
    """The body is part of the text, whoever calls it."""
    assert runs("ls() { a; }; ls") == ["a", "ls"]

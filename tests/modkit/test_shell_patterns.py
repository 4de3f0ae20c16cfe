"""Rules such as ``Bash(git status)`` compared with commands word by word, never with the text."""

from __future__ import annotations

import pytest

from amplifier_modkit.shell import covers, matches, may_match, parse


@pytest.mark.parametrize(
    ("rule", "text", "covered"),
    [
        ("Bash(git status)", "git status", True),
        ("Bash(git status)", "git 'status'", True),
        ("Bash(git status)", "git  status", True),
        ("Bash(git status)", "/usr/bin/git status", True),
        ("Bash(git status)", "./git status", False),
        ("Bash(git status)", "git status -s", False),
        ("Bash(git status)", "git -C x status", False),
        ("Bash(git status)", "GIT status", False),
        ("Bash(/usr/bin/git status)", "/usr/bin/git status", True),
        ("Bash(npm run:*)", "npm run build", True),
        ("Bash(npm run:*)", "npm run", True),
        ("Bash(npm run:*)", "npm runx", False),
        ("Bash(npm run:*)", "npm run $x", True),
        ("Bash(npm run *)", "npm run build -- --watch", True),
        ("Bash(git push*)", "git push origin main", True),
        ("Bash(git push*)", "git pushy", True),
        ("Bash(git * --dry-run)", "git push origin --dry-run", True),
        ("Bash(git * --dry-run)", "git --dry-run", True),
        ("Bash(git * --dry-run)", "git push", False),
        ("Bash(git * --dry-run)", "git push --dry-run; rm x", False),
        ("Bash(cat *.md)", "cat README.md", True),
        ("Bash(cat *.md)", "cat x.py", False),
        ("Bash(cat *.md)", 'cat "$x"', False),
        ("Bash(ls:*)", "ls; ls -l && (ls x) | ls", True),
        ("Bash(ls:*)", "ls; cat x", False),
        ("Bash(ls:*)", "ls $(cat x)", False),
        ("Bash(ls:*)", "ls; x=1; y=$(ls)", True),
        ("Bash(ls:*)", "PATH=. ls", False),
        ("Bash(ls:*)", "export PATH=.; ls", False),
        ("Bash(ls:*)", "ls > /dev/null 2>&1", True),
        ("Bash(ls:*)", "ls > x", False),
        ("Bash(ls:*)", "> x", False),
        ("Bash(ls:*)", "> /dev/null", True),
        ("Bash(ls:*)", "timeout 5 env A=1 nice ls", True),
        ("Bash(ls:*)", "timeout 5 cat x", False),
        ("Bash(ls:*)", "env", False),
        ("Bash(ls:*)", "bash -c 'ls; ls'", True),
        ("Bash(ls:*)", "bash -c 'ls; cat x'", False),
        ("Bash(ls:*)", "bash x", False),
        ("Bash(ls:*)", "eval ls", True),
        ("Bash(ls:*)", "ls | xargs ls", True),
        ("Bash(ls:*)", "sudo ls", False),
        ("Bash(sudo:*)", "sudo ls", True),
        ("Bash(ls:*)", "ssh h ls", False),
        ("Bash(ssh h:*)", "ssh h ls", True),
        ("Bash(ls:*)", "ssh h <<< ls", False),
        ("Bash(ls:*)", "docker run i ls", False),
        ("Bash(find:*)", "find . -name x", True),
        ("Bash(find:*)", "find . -exec rm {} +", False),
        ("Bash(find:*)", "find . $x", False),
        ("Bash(git:*)", "git -c alias.x='!rm y' x", False),
        ("Bash(ls:*)", "ls 'x", False),
        ("Bash(ls:*)", "$x", False),
        ("Bash(ls:*)", "l$x", False),
        ("Bash(ls:*)", "echo $((x)); ls", False),
        ("Bash(ls:*)", "x=$(ls); ls $((x))", False),
        ("Bash(ls:*)", "", False),
        ("Bash", "anything; of it", True),
        ("Bash(*)", "anything", True),
        ("bash(ls)", "ls", True),
        ("ls -l", "ls -l", True),
        ("Bash()", "ls", False),
        ("Bash(echo:*)", "echo sudo id | ssh h", False),
        ("Bash(echo:*)", "echo sudo id | sh", False),
        ("Bash(echo:*)", "echo sudo id | python3", False),
        ("Bash(echo:*)", "echo sudo id | xargs env", False),
        ("Bash(echo:*)", "echo id | xargs sudo", False),
        ("Bash(sed:*)", "sed s/a/b/ f", True),
        ("Bash(sed:*)", "sed '1e id' f", False),
        ("Bash(sed:*)", "sed -f x f", False),
        ("Bash(sed:*)", "sed -i s/a/b/ f", False),
        ("Bash(sed -i:*)", "sed -i s/a/b/ f", True),
        ("Bash(awk:*)", "awk '{print}' f", True),
        ("Bash(awk:*)", "awk 'BEGIN{system(\"id\")}'", False),
        ("Bash(awk:*)", "awk -f x f", False),
        ("Bash(awk:*)", "awk -ox 1 f", False),
        ("Bash(find:*)", "find . -delete", False),
        ("Bash(find:*)", "find . -fprint x", False),
        ("Bash(find:*)", "find . -fprint /dev/null", True),
        ("Bash(find * -delete)", "find . -delete", True),
        ("Bash(sort:*)", "sort -o x y", False),
        ("Bash(uniq:*)", "uniq x", True),
        ("Bash(uniq:*)", "uniq x y", False),
        ("Bash(curl:*)", "curl u", True),
        ("Bash(curl:*)", "curl -o x u", False),
        ("Bash(curl:*)", "curl -K x", False),
        ("Bash(git:*)", "git --config-env=core.pager=X log", False),
        ("Bash(git:*)", "git diff --output=x", False),
        ("Bash(less:*)", "less '+!id' f", False),
        ("Bash(make:*)", "make all", True),
        ("Bash(make:*)", "make 'X=$(shell id)'", False),
        ("Bash(python3:*)", "python3 -c x", True),
        ("Bash(ssh:*)", "ssh -F x h", False),
        ("Bash", "find . -delete", True),
    ],
)
def test_an_allowance_covers_only_what_fits_in_every_command(rule: str, text: str, covered: bool) -> None:
    """All simple commands must fit, wrappers only hand on, and nothing is covered that is not wholly known."""
    assert covers([rule], parse(text)) is covered


def test_several_allowances_cover_a_text_together() -> None:
    """Each command needs one of them; a redirection may write where the caller says so."""
    parsed = parse("ls | grep x > out")
    assert covers(["Bash(ls)", "Bash(grep:*)"], parsed) is False
    assert covers(["Bash(ls)", "Bash(grep:*)"], parsed, lambda path: path.value == "out") is True
    assert covers(["Bash(ls)"], parsed, lambda path: True) is False
    assert covers(["Bash(sort:*)"], parse("sort -o out x"), lambda path: path.value == "out") is True
    assert covers([], parse("ls")) is False


@pytest.mark.parametrize(
    ("rule", "text", "matching", "possible"),
    [
        ("Bash(git push:*)", "git push", True, True),
        ("Bash(git push:*)", "git -C x push", True, True),
        ("Bash(git push:*)", "git --no-pager push origin", True, True),
        ("Bash(git push:*)", "git pull", False, False),
        ("Bash(git push)", "git push origin", False, False),
        ("Bash(npm run build)", "npm run --silent build", True, True),
        ("Bash(rm:*)", "ls; (x | rm y)", True, True),
        ("Bash(rm:*)", "ls $(rm y)", True, True),
        ("Bash(rm:*)", "bash -c 'rm y'", True, True),
        ("Bash(rm:*)", "sudo rm y", True, True),
        ("Bash(rm:*)", "ssh h rm y", True, True),
        ("Bash(rm:*)", "/opt/x/rm y", True, True),
        ("Bash(rm:*)", "/opt/*/rm y", True, True),
        ("Bash(rm:*)", "/bin/r? y", False, True),
        ("Bash(sudo:*)", "/*/*/sudo id", True, True),
        ("Bash(sudo:*)", "/*/*/s* id", False, True),
        ("Bash(sudo:*)", "/usr/bin/[s]udo id", False, True),
        ("Bash(sudo:*)", "* id", False, True),
        ("Bash(sudo:*)", "./l* id", False, False),
        ("Bash(rm:*)", "RM y", True, True),
        ("Bash(rm:*)", "find . -exec rm {} +", True, True),
        ("Bash(rm:*)", "x=rm; $x y", True, True),
        ("Bash(rm:*)", "$x y", False, True),
        ("Bash(rm:*)", "bash -c \"$x\"", False, True),
        ("Bash(rm:*)", "ls 'x", False, True),
        ("Bash(rm:*)", "ls", False, False),
        ("Bash(rm:*)", "x=1", False, False),
        ("Bash(rm:*)", "echo rm", False, False),
        ("Bash(rm -rf:*)", "rm $x", False, True),
        ("Bash(rm -rf:*)", 'rm "$x" y', False, True),
        ("Bash(rm -rf *)", "rm -r -f y", False, False),
        ("Bash(git push --force)", "git push $x", False, True),
        ("Bash(git push --force)", "git push x$y", False, True),
        ("Bash(git push --force)", 'git push "x$y"', False, False),
        ("Bash(a b c)", "a $x c", False, True),
    ],
)  # fmt: skip
def test_a_denial_sees_past_options_folders_and_wrappers(rule: str, text: str, matching: bool, possible: bool) -> None:
    """One simple command is enough, wherever it stands; what is not known may fit."""
    parsed = parse(text)
    assert (matches(rule, parsed), may_match(rule, parsed)) == (matching, possible)

"""Paths that commands read, write or remove, as far as their words tell."""

from __future__ import annotations

import pytest

from amplifier_modkit.shell import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > x < y", ["write x", "read y"]),
        ("a 2>&1 >&-", []),
        ("cat x y", ["read x", "read y"]),
        ("cat -n x", ["read x"]),
        ("head -n 5 x", ["read x"]),
        ("tee x y", ["write x", "write y"]),
        ("rm x", ["remove x"]),
        ("rm -rf x y", ["remove x all", "remove y all"]),
        ("rm --recurs x", ["remove x all"]),
        ("rm x -r", ["remove x all"]),
        ("rm -- -r", ["remove -r"]),
        ("cp a b c", ["read a", "read b", "write c"]),
        ("cp -r a b", ["read a all", "write b all"]),
        ("cp -t d a b", ["write d", "read a", "read b"]),
        ("cp --target-directory=d a", ["write d", "read a"]),
        ("cp a", ["read a"]),
        ("mv a b", ["remove a", "write b"]),
        ("ln -s a b", ["read a", "write b"]),
        ("dd if=a of=b bs=1", ["read a", "write b"]),
        ("chmod -R 755 a b", ["write a all", "write b all"]),
        ("chown x a", ["write a"]),
        ("touch -r a b", ["read a", "write b"]),
        ("sed -n 1p a", ["read a"]),
        ("sed -i s/a/b/ c", ["write c"]),
        ("sed -i -e s/a/b/ c", ["write c"]),
        ("grep -r a b", ["read b all"]),
        ("grep -e a b", ["read b"]),
        ("grep -f p b", ["read p", "read b"]),
        ("sort -o a b", ["write a", "read b"]),
        ("tar xzf a -C b", ["write a", "write b"]),
        ("tar tf a", ["read a"]),
        ("tar -cf a b", ["write a", "read b"]),
        ("curl -o a u", ["write a"]),
        ("curl -O http://h/d/a?q=1", ["write a"]),
        ("curl u", []),
        ("curl -d @a -F b=@c -T d u", ["read a", "read c", "read d"]),
        ("curl -d x u", []),
        ("wget http://h/a", ["write a"]),
        ("wget -O b http://h/a", ["write b"]),
        ("find a b -name c", ["read a all", "read b all"]),
        ("find a -delete", ["remove a all"]),
        ("find -fprint a", ["write a"]),
        ("mkdir -p -m 755 a", ["write a"]),
        ("split -l 5 a b", ["read a", "write b"]),
        ("split a", ["read a"]),
        ("rsync -av a b", ["read a", "write b"]),
        ("bash x y", ["read x", "read y"]),
        ("shred a", ["remove a"]),
        ("unknown x", []),
        ("x=1", []),
    ],
)
def test_paths_are_known_by_the_table_of_programs(text: str, expected: list[str]) -> None:
    """Each with what happens to it, and whether all below is meant."""
    (command,) = parse(text).certain
    found = [f"{each.access} {each.path.text}{' all' * each.is_recursive}" for each in command.targets]
    assert found == expected

"""The second opinion of tree-sitter: what both see is understood, and everything else is not."""

from __future__ import annotations

import builtins
import threading
from typing import Any

import pytest

from amplifier_modkit.shell import parse
from amplifier_modkit.shell.agreement import disagreement


def test_a_command_that_we_have_not_seen_is_a_disagreement() -> None:
    """The two readings are compared by where commands begin, counted in characters."""
    assert disagreement("a; b", [0, 3], []) is None
    assert disagreement("a; b c\nd", [0, 7], []) == "tree-sitter sees a command at 'b c'"
    assert disagreement("é 'ü'; b", [0, 7, -1], []) is None
    assert disagreement("é 'ü'; b", [0, 8], []) == "tree-sitter sees a command at 'b'"
    assert disagreement("a (", [0], []) == "tree-sitter cannot parse it"
    assert disagreement("", [], []) is None
    assert disagreement("x=1 y=2", [], []) == "tree-sitter sees a command at 'x=1 y=2'"
    assert disagreement("export x=1", [], []) == "tree-sitter sees a command at 'export x=1'"


def test_what_is_compared_on_its_own_is_out_of_sight() -> None:
    """Here-documents and backticks are left out of the comparison, and their ends are kept."""
    text = "a <<E `b`\n$(c) `d`\nE\ne"
    assert disagreement(text, [0, 21], [(6, 9), (10, 21)]) is None
    nested = "a <<E\n`b`\nE\n"
    assert disagreement(nested, [0], [(6, 12), (6, 9)]) is None


def test_texts_inside_are_compared_as_well() -> None:
    """A text in backticks that tree-sitter cannot parse is not understood."""
    assert parse("a `b`").problems == ()
    assert parse("a `if (b) then c; fi`").problems == ("tree-sitter cannot parse it",)


def test_without_tree_sitter_nothing_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands are there, the text is not understood, and the reason names what is missing."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("tree_sitter"):
            raise ImportError(f"No module named '{name}'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    parsed = parse("ls")
    assert parsed.reason == "tree-sitter is not there to check it (No module named 'tree_sitter')"
    assert [command.text for command in parsed.commands] == ["ls"]


def test_threads_parse_side_by_side() -> None:
    """Each thread has a parser of its own, so that none disturbs another."""
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(50):
            text = f"a{number} $(b{turn}) | c"
            parsed = parse(text)
            if [command.name for command in parsed.commands] != [f"a{number}", f"b{turn}", "c"] or parsed.problems:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

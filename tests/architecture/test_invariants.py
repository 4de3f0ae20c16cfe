"""ARCHITECTURE.md is true: its invariants name tests that exist, its rooms and its layers are those of the code."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

INVARIANT = re.compile(
    r"^(?P<number>\d+)\. \*\*(?P<claim>[^*]+)\*\*(?P<text>.*?)(?=^\d+\. \*\*|\Z)", re.DOTALL | re.MULTILINE
)
TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>\w+)`")


def section(title: str) -> str:
    """The text below one heading of the page, up to the next."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def invariants() -> dict[int, str]:
    """Claim and text of each invariant, by number."""
    found = INVARIANT.finditer(section("Invariants"))
    return {int(match["number"]): match["claim"] + match["text"] for match in found}


def names_of_tests_in(file: str) -> set[str]:
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


def test_there_are_twelve_invariants_in_order() -> None:
    """None is lost, none is added without its number."""
    assert list(invariants()) == list(range(1, 13))


@pytest.mark.parametrize("number", range(1, 13))
def test_an_invariant_names_tests_that_exist(number: int) -> None:
    """Each invariant points to at least one test, and every test it points to is there."""
    named = [(match["file"], match["name"]) for match in TEST.finditer(invariants()[number])]
    assert named != []
    assert [f"{file}::{name}" for file, name in named if name not in names_of_tests_in(file)] == []


def test_the_page_names_no_test_in_another_form() -> None:
    """A reference that this check cannot read would never be checked."""
    assert PAGE.count("::test_") == len(TEST.findall(PAGE))


def layers() -> list[list[str]]:
    """The kernel's rooms, layer by layer, as import-linter enforces them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    listed = next(contract["layers"] for contract in contracts if contract.get("containers") == ["amplifier_core"])
    return [sorted(re.split(r" [|:] ", layer)) for layer in listed]


def test_the_table_of_rooms_lists_every_room_of_the_kernel() -> None:
    """Every room that has a layer has a line in the table, and nothing else has."""
    first_cells = re.findall(r"^\| (`[^|]+) \|", section("Rooms of the kernel"), flags=re.MULTILINE)
    described = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    rooms = {"__init__", *(room for layer in layers() for room in layer)}
    assert {"without a line": rooms - described, "gone": described - rooms} == {"without a line": set(), "gone": set()}


def test_the_drawn_layers_are_those_that_are_enforced() -> None:
    """Line by line the drawing shows the layers of import-linter; the leaves at the bottom are only summed up."""
    drawing = re.search(r"```text\n(.*?)\nleaves:", section("Which way imports may point"), flags=re.DOTALL)
    assert drawing is not None
    drawn = [sorted(line.split(" · ")) for line in drawing[1].splitlines()]
    assert drawn == layers()[: len(drawn)]
    assert drawn[-1] == ["message_models"]

"""Functions stay short and files stay small; whoever needs more says here why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SHIPPED = ("core/src", "modules/src", "app/src", "kit/src")
OURS = (*SHIPPED, "bench", "docs", "tools")

FILE_LINES = 400
FUNCTION_LINES = 50
NINE_OF_TEN_LINES = 30
MEDIAN_BODY_LINES = 8

# What may be longer, and why. A file is named by its path, a function by path and name: "core/src/…/x.py:Class.method".
EXCEPTIONS: dict[str, str] = {}

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


class Function(NamedTuple):
    """A function of ours: where it stands, all its lines, and those of its body without the docstring."""

    place: str
    lines: int
    body_lines: int


def python_files(*folders: str) -> list[Path]:
    """Our Python files below ``folders``."""
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@cache
def functions_of(file: Path) -> tuple[Function, ...]:
    """Every function of ``file``, nested ones as well."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return tuple(_functions_in(tree, f"{file.relative_to(ROOT).as_posix()}:"))


def _functions_in(node: ast.AST, prefix: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, AnyFunction):
            yield _measured(child, prefix)
        inner = f"{prefix}{child.name}." if isinstance(child, AnyFunction | ast.ClassDef) else prefix
        yield from _functions_in(child, inner)


def _measured(function: AnyFunction, prefix: str) -> Function:
    has_docstring = ast.get_docstring(function) is not None
    end = function.end_lineno or function.lineno
    statements = function.body[1:] if has_docstring else function.body
    body_lines = end - statements[0].lineno + 1 if statements else 0
    return Function(f"{prefix}{function.name}", end - function.lineno + 1, body_lines)


def overlong() -> dict[str, int]:
    """What is over the limits: path or path and name, with its lines."""
    lines_of_files = {
        f.relative_to(ROOT).as_posix(): len(f.read_text("utf-8").splitlines()) for f in python_files(*OURS)
    }
    files = {path: lines for path, lines in lines_of_files.items() if lines > FILE_LINES}
    functions = (function for file in python_files(*OURS) for function in functions_of(file))
    return files | {function.place: function.lines for function in functions if function.lines > FUNCTION_LINES}


def test_no_file_over_400_lines_and_no_function_over_50() -> None:
    """Only what is named with a reason may be longer."""
    unexcused = {place: lines for place, lines in overlong().items() if place not in EXCEPTIONS}
    assert unexcused == {}


def test_no_exception_outlives_its_cause() -> None:
    """An entry for something that is short enough by now, or gone, has to go; each has a reason."""
    assert set(EXCEPTIONS) - set(overlong()) == set()
    assert [place for place, reason in EXCEPTIONS.items() if not reason.strip()] == []


def test_nine_of_ten_functions_have_at_most_30_lines() -> None:
    """Long functions stay the exception in what is shipped."""
    lines = [function.lines for file in python_files(*SHIPPED) for function in functions_of(file)]
    assert quantiles(lines, n=10)[-1] <= NINE_OF_TEN_LINES


def test_the_median_function_body_has_at_most_8_lines() -> None:
    """A typical function is read at a glance."""
    bodies = [function.body_lines for file in python_files(*SHIPPED) for function in functions_of(file)]
    assert median(bodies) <= MEDIAN_BODY_LINES


def test_nested_functions_and_docstrings_are_measured_right() -> None:
    """The measure itself: all lines of a function, its body without the docstring, and names with their owners."""
    source = '''
class A:
    def f(self):
        """Doc."""
        def g():
            return 1
        return g
def only_doc():
    """Doc."""
'''
    assert list(_functions_in(ast.parse(source), "x.py:")) == [
        ("x.py:A.f", 5, 3),
        ("x.py:A.f.g", 2, 1),
        ("x.py:only_doc", 2, 0),
    ]

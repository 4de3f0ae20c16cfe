"""The source of a package, parsed and never executed: its files, what they define, and where a name leads."""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

from amplifier_core._error_text import describe_error

_LARGEST_FILE_BYTES = 10_000_000

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class SourceError(ValueError):
    """A file cannot be read as Python; the text names file and line."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name stands for: a function, a class or a whole file, and the module it is written in."""

    node: FunctionNode | ast.ClassDef | ast.Module
    module: str


class Unknown:
    """A name that leads out of the package, or is made at run time: only an import could tell what it is."""


class Missing:
    """A name that nothing defines."""


UNKNOWN, MISSING = Unknown(), Missing()
Found = Definition | Unknown | Missing
_Binding = FunctionNode | ast.ClassDef | ast.expr | tuple[ast.ImportFrom, str] | ast.Import


class SourceFile:
    """One parsed file; ``is_package`` tells what its relative imports are relative to."""

    def __init__(self, tree: ast.Module, is_package: bool) -> None:
        self.tree = tree
        self.is_package = is_package

    @cached_property
    def bindings(self) -> dict[str, _Binding]:
        """What the names of the file are bound to, the last binding of each."""
        return {name: bound for statement in statements(self.tree.body) for name, bound in _bound_by(statement)}

    @property
    def is_open(self) -> bool:
        """Whether the file may define more names than can be seen."""
        return "*" in self.bindings or "__getattr__" in self.bindings

    def constant(self, name: str) -> object:
        """The literal that ``name`` is bound to, or ``None``."""
        bound = self.bindings.get(name)
        return bound.value if isinstance(bound, ast.Constant) else None


class Source:
    """The files of one package, or a single file, by dotted module name; ``problems`` tells those that do not parse."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.files: dict[str, SourceFile] = {}
        self.problems: list[str] = []
        for module, file in _files_of(name, root):
            try:
                self.files[module] = SourceFile(parse_file(file), file.name == "__init__.py")
            except SourceError as error:
                self.problems.append(str(error))

    def lookup(self, module: str, name: str) -> Found:
        """What ``name`` stands for in ``module``; imports within the package are followed."""
        return self._lookup(module, name, frozenset())

    def _lookup(self, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Found:
        file = self.files.get(module)
        if file is None or (module, name) in seen:
            return UNKNOWN
        bound = file.bindings.get(name)
        seen |= {(module, name)}
        if bound is None:
            return self._submodule(f"{module}.{name}", UNKNOWN if file.is_open else MISSING)
        if isinstance(bound, FunctionNode | ast.ClassDef):
            return Definition(bound, module)
        if isinstance(bound, ast.Name):
            return self._lookup(module, bound.id, seen)
        if isinstance(bound, tuple):
            return self._lookup_import(_origin(module, file, bound[0]), bound[1], seen)
        return UNKNOWN

    def _lookup_import(self, origin: str, name: str, seen: frozenset[tuple[str, str]]) -> Found:
        found = self._lookup(origin, name, seen)
        return self._submodule(f"{origin}.{name}", UNKNOWN) if isinstance(found, Unknown) else found

    def _submodule(self, module: str, otherwise: Found) -> Found:
        file = self.files.get(module)
        return otherwise if file is None else Definition(file.tree, module)


def parse_file(file: Path) -> ast.Module:
    """The syntax tree of a file. Raises ``SourceError``."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceError(f"Cannot read {file}: {describe_error(error)}") from error
    if len(data) > _LARGEST_FILE_BYTES:
        raise SourceError(f"{file} has {len(data)} bytes; at most {_LARGEST_FILE_BYTES} are read")
    _reject_undecodable(file, data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data, str(file))
    except SyntaxError as error:
        raise SourceError(f"{file}, line {error.lineno or 1}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"Cannot parse {file}: {describe_error(error)}") from error


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a scope in order, also inside ``if``, ``try``, ``with``, loops and ``match``."""
    waiting = [*body][::-1]
    while waiting:  # no recursion: a long chain of elif is nested as deeply
        statement = waiting.pop()
        yield statement
        if not isinstance(statement, FunctionNode | ast.ClassDef):
            waiting += [*_inner(statement)][::-1]


def _inner(statement: ast.stmt) -> Iterator[ast.stmt]:
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for each in getattr(statement, part, ()):
            if isinstance(each, ast.ExceptHandler | ast.match_case):
                yield from each.body
            else:
                yield each


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, _Binding]]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name, statement
        case ast.Assign():
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Import():
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0], statement
        case ast.ImportFrom():
            for alias in statement.names:
                yield alias.asname or alias.name, (statement, alias.name)
        case _:
            return


def _origin(module: str, file: SourceFile, statement: ast.ImportFrom) -> str:
    """The absolute name of the module that a ``from … import`` names."""
    if not statement.level:
        return statement.module or ""
    parts = module.split(".")
    above = statement.level - 1 if file.is_package else statement.level
    return ".".join([*parts[: len(parts) - above], *([statement.module] if statement.module else [])])


def _files_of(name: str, root: Path) -> Iterator[tuple[str, Path]]:
    if root.suffix == ".py":
        yield name, root
        return
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(each for each in subfolders if each.isidentifier() and each != "__pycache__")
        inner = [name, *Path(folder).relative_to(root).parts]
        for file in sorted(files):
            stem, suffix = os.path.splitext(file)  # noqa: PTH122
            if suffix == ".py":
                yield ".".join(inner if stem == "__init__" else [*inner, stem]), Path(folder, file)


def _reject_undecodable(file: Path, data: bytes) -> None:
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"  # if it is none, the parser complains about the declaration
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{file}, line {line}: is not {error.encoding}; save the file as UTF-8") from error

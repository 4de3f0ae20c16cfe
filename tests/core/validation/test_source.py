"""Reading a package without executing it: files, names, and where they lead."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.validation import _source
from amplifier_core.validation._source import Definition, Missing, Source, SourceError, Unknown, parse_file, statements


def source_of(author: Any, text: str, **files: str) -> Source:
    """A parsed package."""
    package = author.package(text, **files)
    return Source(package.name, package)


def shown(source: Source, name: str, module: str = "") -> str:
    """What a name leads to: module and kind of the definition, or that it is unknown or missing."""
    found = source.lookup(source.name + (f".{module}" if module else ""), name)
    if isinstance(found, Definition):
        return f"{found.module.removeprefix(source.name)}:{type(found.node).__name__}"
    return type(found).__name__


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("async def mount(): ...", ":AsyncFunctionDef"),
        ("def mount(): ...", ":FunctionDef"),
        ("class mount: ...", ":ClassDef"),
        ("def _mount(): ...\nmount = _mount", ":FunctionDef"),
        ("def _mount(): ...\nmount: object = _mount", ":FunctionDef"),
        ("mount = other = None", "Unknown"),
        ("mount: object", "Missing"),
        ("x, mount = 1, 2", "Missing"),
        ("mount.x = 1", "Missing"),
        ("mount = mount", "Unknown"),
        ("a = b\nb = a\nmount = a", "Unknown"),
        ("", "Missing"),
        ("import mount", "Unknown"),
        ("import x.y as mount", "Unknown"),
        ("import mount.deep", "Unknown"),
        ("from elsewhere import mount", "Unknown"),
        ("from elsewhere import *", "Unknown"),
        ("def __getattr__(name): ...", "Unknown"),
        ("if x:\n    def mount(): ...\nelse:\n    pass", ":FunctionDef"),
        ("try:\n    pass\nexcept OSError:\n    def mount(): ...", ":FunctionDef"),
        ("try:\n    pass\nfinally:\n    def mount(): ...", ":FunctionDef"),
        ("with x:\n    def mount(): ...", ":FunctionDef"),
        ("match x:\n    case 1:\n        def mount(): ...", ":FunctionDef"),
        ("def outer():\n    def mount(): ...", "Missing"),
        ("class Outer:\n    def mount(): ...", "Missing"),
        ("def mount(): ...\nclass mount: ...", ":ClassDef"),
    ],
)
def test_names_of_one_file(author: Any, text: str, expected: str) -> None:
    """The last binding counts, in every block but not in inner scopes."""
    assert shown(source_of(author, text), "mount") == expected


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        ("from .a import mount", {"a": "def mount(): ..."}, ".a:FunctionDef"),
        ("from .a import f as mount", {"a": "from .b import f", "b": "class f: ..."}, ".b:ClassDef"),
        ("from .a import mount", {"a": ""}, "Missing"),
        ("from .gone import mount", {}, "Unknown"),
        ("from . import mount", {"mount": ""}, ".mount:Module"),
        ("", {"mount": ""}, ".mount:Module"),
        ("from .a import mount", {"a": "from .b import mount", "b": "from .a import mount"}, "Unknown"),
        ("from .a import mount", {"a": "from . import mount"}, "Unknown"),
        ("from ... import mount", {}, "Unknown"),
    ],
)
def test_imports_within_the_package_are_followed(author: Any, text: str, files: dict[str, str], expected: str) -> None:
    """Also around corners; circles and what is not there stay unknown."""
    assert shown(source_of(author, text, **files), "mount") == expected


def test_absolute_imports_of_the_package_itself_are_followed(author: Any) -> None:
    """They mean the same file."""
    name = author.new_name()
    package = author.package(f"from {name}.a import mount", name, a="def mount(): ...")
    assert shown(Source(name, package), "mount") == ".a:FunctionDef"


def test_packages_inside_the_package_are_read(author: Any) -> None:
    """Imports there are relative to them; other folders are left out."""
    package = author.package("from .inner import mount")
    for folder, text in [("inner", "from .deep import mount"), ("__pycache__", "def ("), ("no-package", "def (")]:
        (package / folder).mkdir()
        (package / folder / "__init__.py").write_text(text)
    (package / "inner" / "deep.py").write_text("from ..top import mount")
    (package / "top.py").write_text("def mount(): ...")
    (package / "data.txt").write_text("def (")
    source = Source(package.name, package)
    names = sorted(name.removeprefix(package.name) for name in source.files)
    assert (names, source.problems) == (["", ".inner", ".inner.deep", ".top"], [])
    assert shown(source, "mount") == ".top:FunctionDef"


def test_a_single_file_is_a_source(tmp_path: Path) -> None:
    """It has one module."""
    (tmp_path / "single.py").write_text("def mount(): ...")
    source = Source("single", tmp_path / "single.py")
    assert (list(source.files), shown(source, "mount")) == (["single"], ":FunctionDef")


def test_a_module_that_is_not_there_is_unknown(author: Any) -> None:
    """As is everything in it."""
    assert isinstance(source_of(author, "").lookup("elsewhere", "x"), Unknown)
    assert isinstance(source_of(author, "").lookup(source_of(author, "").name, "x"), Unknown | Missing)


def test_files_that_do_not_parse_are_told_and_the_others_read(author: Any) -> None:
    """Each with its line."""
    package = author.package("def mount(): ...", broken="x = 1\n)")
    source = Source(package.name, package)
    assert source.problems == [f"{package / 'broken.py'}, line 2: unmatched ')'"]
    assert list(source.files) == [package.name]


def test_constants_are_read(author: Any) -> None:
    """Anything else is none."""
    package = author.package("kind = 'tool'\nmade = str('tool')\n")
    file = Source(package.name, package).files[package.name]
    assert [file.constant(name) for name in ("kind", "made", "gone")] == ["tool", None, None]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe", "line 1: is not utf-8; save the file as UTF-8"),
        (b"# coding: ascii\n\n# \xc3\xa9", "line 3: is not ascii; save the file as UTF-8"),
        (b"x = '\\d'\n\n)", "line 3: unmatched ')'"),
        (b"((" * 5000, "too many nested parentheses"),
        (b"-" * 500_000 + b"1", "Cannot parse "),
        (b"#" * 200, "has 200 bytes; at most 100 are read"),
    ],
)
def test_a_file_that_cannot_be_read_as_python(
    tmp_path: Path, content: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names file and reason."""
    if len(content) == 200:
        monkeypatch.setattr(_source, "_LARGEST_FILE_BYTES", 100)
    file = tmp_path / "x.py"
    file.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        parse_file(file)
    assert str(file) in str(caught.value)
    assert told in str(caught.value)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """The reason is the operating system's."""
    with pytest.raises(SourceError, match=r"^Cannot read .*: FileNotFoundError: "):
        parse_file(tmp_path / "gone.py")


def test_other_encodings_are_read_if_declared(tmp_path: Path) -> None:
    """As Python does; warnings about the source are not ours to give."""
    file = tmp_path / "x.py"
    file.write_bytes(b"# coding: latin-1\nx = '\xe9'\ny = '\\d'\n")
    assert isinstance(parse_file(file), ast.Module)


def test_statements_come_in_order_and_from_every_block() -> None:
    """A long chain of branches is no problem."""
    text = "a = 1\nif x:\n    b = 1\n" + "elif x:\n    b = 1\n" * 2000 + "else:\n    c = 1\nd = 1\n"
    names = [ast.unparse(each.targets[0]) for each in statements(ast.parse(text).body) if isinstance(each, ast.Assign)]
    assert names == ["a", *["b"] * 2001, "c", "d"]

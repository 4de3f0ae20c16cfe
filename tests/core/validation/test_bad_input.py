"""Whatever is wrong with a module is a failed check that says what to change: never an exception, never a traceback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.validation import ToolValidator, ValidationResult, detect_kind, validate_static

VALID = "async def mount(coordinator, config): ..."


async def both(path: Path | str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names and messages of the errors, when mounted and by the source alone."""
    return errors(await ToolValidator().validate(path)), errors(validate_static(path, "tool"))


def errors(result: ValidationResult) -> list[tuple[str, str]]:
    """Names and messages of the failed checks; there must be one, and no message may look like a traceback."""
    assert not result.passed
    assert all("Traceback" not in check.message for check in result.checks)
    return [(check.name, check.message) for check in result.errors]


async def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    """It is not taken for the name of a module."""
    text = f"{tmp_path / 'nowhere'} does not exist; give the folder of the module, or a .py file"
    assert await both(tmp_path / "nowhere") == ([("module_importable", text)], [("package_found", text)])


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0byte", "/dev/null", ""])
async def test_a_path_that_no_module_can_have(name: str, tmp_path: Path) -> None:
    """The file system refuses some names, and some are no files; an empty one is the current folder."""
    mounted, static = await both(tmp_path / name)
    assert [name for name, _ in mounted + static] == ["module_importable", "package_found"]


async def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    """Its suffix says so."""
    file = tmp_path / "module.txt"
    file.write_text(VALID)
    text = f"{file} is no Python file; give the folder of the module, or a .py file"
    assert await both(file) == ([("module_importable", text)], [("package_found", text)])


async def test_a_name_that_cannot_be_imported() -> None:
    """The way out is named."""
    result = await ToolValidator().validate("no_such_package_of_mine.inner")
    assert errors(result) == [
        (
            "module_importable",
            "Failed to import module: No module named 'no_such_package_of_mine'. "
            "Install what provides 'no_such_package_of_mine', or correct the name",
        )
    ]


async def test_a_folder_without_a_package(tmp_path: Path) -> None:
    """All places where it could be are named."""
    text = (
        f"No __init__.py found in {tmp_path}; expected it there, in a folder amplifier_module_…, or in the package "
        "that pyproject.toml registers in group 'amplifier.modules'"
    )
    assert await both(tmp_path) == ([("module_importable", text)], [("package_found", text)])


async def test_an_entry_point_whose_package_is_not_there(author: Any) -> None:
    """It names what it looked for."""
    project = author.project({"t": "gone_package:mount"})
    text = (
        f"No __init__.py found in {project}, nor the package that pyproject.toml registers: "
        'gone_package/ for t = "gone_package:mount". Add it, or correct the entry point.'
    )
    assert await both(project) == ([("module_importable", text)], [("package_found", text)])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{name}:nope", "module '{name}' has no attribute 'nope'"),
        ("{name}:mount.inner", "'function' object has no attribute 'inner'"),
        (
            "{name}.gone:mount",
            "Failed to import module: No module named '{name}.gone'. "
            "Install what provides '{name}.gone', or correct the name",
        ),
    ],
)
async def test_an_entry_point_that_points_nowhere(author: Any, value: str, reason: str) -> None:
    """The message shows it as it is written, and as it should be."""
    name = author.new_name()
    project = author.project({"t": value.format(name=name)}, (name, author.source("tool")))
    told = f'The entry point t = "{value.format(name=name)}" points to nothing'
    way_out = f"Let it name the mount function: {name}:mount"
    mounted = await ToolValidator().validate(project)
    assert errors(mounted) == [("entry_point", f"{told}: {reason.format(name=name)}. {way_out}")]
    assert mounted.checks[-1].name == "tool_execute"
    if "inner" not in value:  # what a function has is not in the source
        assert errors(validate_static(project)) == [("entry_point", f"{told}. {way_out}")]


async def test_an_entry_point_that_is_none(author: Any) -> None:
    """The package is found by its name, and the mistake is told."""
    name = "amplifier_module_tool_badly_registered"
    project = author.project({"t": "not an entry point"}, (name, author.source("tool")))
    text = (
        f'{project / "pyproject.toml"} registers t = "not an entry point", which is no entry point; '
        'expected "package:mount"'
    )
    assert await both(project) == ([("entry_point", text)], [("entry_point", text)])


async def test_a_project_file_that_cannot_be_read(author: Any) -> None:
    """With a package beside it and without."""
    name = "amplifier_module_tool_unreadable_project"
    project = author.project({}, (name, author.source("tool")))
    (project / "pyproject.toml").write_text("= nonsense", encoding="utf-8")
    mounted, static = await both(project)
    assert (mounted, [name for name, _ in mounted]) == (static, ["entry_point"])
    assert mounted[0][1].startswith(f"Cannot read {project / 'pyproject.toml'}: TOMLDecodeError: ")
    assert mounted[0][1].endswith(". Correct the file.")
    empty = author.project({})
    (empty / "pyproject.toml").write_text("= nonsense", encoding="utf-8")
    mounted, static = await both(empty)
    assert mounted[0][1] == static[0][1]
    assert mounted[0][1].startswith(f"No __init__.py found in {empty}. Cannot read ")


async def test_an_entry_point_that_is_not_registered(author: Any) -> None:
    """Those that are, are named."""
    name = author.new_name()
    project = author.project({"one": f"{name}:mount"}, (name, VALID))
    result = await ToolValidator().validate(project, entry_point="two")
    assert errors(result) == [
        (
            "module_importable",
            f"{project / 'pyproject.toml'} registers no 'two' in group 'amplifier.modules'; registered: one",
        )
    ]


@pytest.mark.parametrize(
    ("source", "mounted", "static"),
    [
        (
            "x = 1\ndef (:\n",
            "Error loading module: SyntaxError: invalid syntax ({file}, line 2)",
            "{file}, line 2: invalid syntax",
        ),
        (
            b"x = 1\ny = '\xe9'\nz = 2\n",
            "; save the file as UTF-8",
            "{file}, line 2: is not utf-8; save the file as UTF-8",
        ),
        (b"x = '\0'\n", "null bytes", "null bytes"),
        (b"# coding: klingon\n", "unknown encoding: klingon", "unknown encoding: klingon"),
    ],
)
async def test_a_source_that_is_no_python(author: Any, source: str | bytes, mounted: str, static: str) -> None:
    """File and line are named."""
    package = author.package(source)
    file = package / "__init__.py"
    by_mounting, by_source = await both(package)
    assert ([name for name, _ in by_mounting], [name for name, _ in by_source]) == (
        ["module_importable"],
        ["source_parses"],
    )
    assert by_mounting[0][1].endswith(mounted.format(file=file)) or mounted in by_mounting[0][1]
    assert static.format(file=file) in by_source[0][1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import no_such_package_of_mine",
            "Failed to import module: No module named 'no_such_package_of_mine'. "
            "Install what provides 'no_such_package_of_mine', or correct the name",
        ),
        ("from json import nope", "Failed to import module: cannot import name 'nope' from 'json' ("),
        ("x = 1\n1 / 0", "Error loading module: ZeroDivisionError: division by zero ({file}, line 2)"),
        (
            "import sys\nsys.exit(3)",
            "Error loading module: the import calls sys.exit(3), which ends the whole application; raise an error",
        ),
        ("raise BaseException('odd')", "Error loading module: BaseException: odd ({file}, line 1)"),
    ],
)
async def test_an_import_that_fails(author: Any, source: str, message: str) -> None:
    """Nothing is left on the import path, and nothing more is checked."""
    package = author.package(source)
    before = list(sys.path)
    result = await ToolValidator().validate(package)
    assert [name for name, _ in errors(result)] == ["module_importable"]
    assert result.checks[0].message.startswith(message.format(file=package / "__init__.py"))
    assert (sys.path, package.name in sys.modules) == (before, False)


@pytest.mark.parametrize("source", ["import time\ntime.sleep(60)", "while True: pass"])
async def test_an_import_that_hangs(author: Any, source: str) -> None:
    """It is interrupted when its time is up."""
    package = author.package(source)
    before = list(sys.path)
    assert errors(await ToolValidator(0.1).validate(package)) == [
        (
            "module_importable",
            "Error loading module: the import did not end within 0.1 s; "
            "move what takes long from the top of the file into mount()",
        )
    ]
    assert (sys.path, package.name in sys.modules) == (before, False)


async def test_a_keyboard_interrupt_during_the_import_stops_the_validation(author: Any) -> None:
    """It is the wish of whoever sits there."""
    with pytest.raises(KeyboardInterrupt):
        await author.try_out("tool", "raise KeyboardInterrupt")


async def test_a_package_that_is_loaded_from_elsewhere(author: Any) -> None:
    """The message says that a process can hold one only."""
    name = author.new_name()
    author.package(author.source("tool"), name, author.root / "one")
    author.package(author.source("tool"), name, author.root / "two")
    assert (await ToolValidator().validate(author.root / "one" / name)).passed
    [(name_of_check, message)] = errors(await ToolValidator().validate(author.root / "two" / name))
    assert name_of_check == "module_importable"
    assert message.startswith(f"Failed to import module: Refusing to import '{name}' from ")


@pytest.mark.parametrize("act", ["raise LookupError('odd')", "import sys; sys.exit(1)", "raise KeyboardInterrupt"])
async def test_a_module_that_misbehaves_when_it_is_read(author: Any, act: str) -> None:
    """Modules may run code when a name is looked up."""
    package = author.package(f"def __getattr__(name):\n    if name == 'mount': {act}\n    raise AttributeError(name)")
    if "Keyboard" in act:
        with pytest.raises(KeyboardInterrupt):
            await ToolValidator().validate(package)
    else:
        [(name, message)] = errors(await ToolValidator().validate(package))
        assert name == "mount_exists"
        assert message.startswith("Error while reading the module: ")


@pytest.mark.parametrize("name", ["nowhere", "x" * 5000, "tool-nowhere"])
def test_the_kind_of_nothing_is_told_by_its_name_at_most(tmp_path: Path, name: str) -> None:
    """Asking for it never fails."""
    assert detect_kind(tmp_path / name) == ("tool" if name.startswith("tool") else None)

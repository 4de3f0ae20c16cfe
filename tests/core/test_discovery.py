"""Ids, kinds, folders and packages of modules."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_core import _discovery
from amplifier_core._discovery import (
    MODULE_GROUP,
    TYPE_TO_MOUNT_POINT,
    as_folders,
    discover_modules,
    find_module_folder,
    find_package_dir,
    folders_to_search,
    guess_from_naming,
    package_name,
)
from amplifier_core._entry_points import EntryPointIndex
from amplifier_core.models import ModuleInfo

LOGGER = "amplifier_core.loader"


def empty_index() -> EntryPointIndex:
    """An index of a group that nothing is installed in."""
    return EntryPointIndex("amplifier.nothing.here")


def registering(**entries: str) -> str:
    """A ``pyproject.toml`` with these module entry points."""
    lines = "".join(f'{name.replace("_", "-")} = "{value}"\n' for name, value in entries.items())
    return f'[project]\nname = "x"\n[project.entry-points."{MODULE_GROUP}"]\n{lines}'


def test_the_package_name_follows_from_the_id() -> None:
    """Dashes become underscores behind the prefix."""
    assert package_name("tool-web-search") == "amplifier_module_tool_web_search"


@pytest.mark.parametrize(
    ("module_id", "kind"),
    [
        ("my-orchestrator", "orchestrator"),
        ("loop-basic", "orchestrator"),
        ("provider-x", "provider"),
        ("tool-provider", "provider"),
        ("tool-bash", "tool"),
        ("hooks-tool-x", "tool"),
        ("hooks-logging", "hook"),
        ("context-simple", "context"),
        ("anything", "tool"),
        ("", "tool"),
    ],
)
def test_the_kind_is_guessed_from_the_first_telling_word(module_id: str, kind: str) -> None:
    """Substrings count, in a fixed order; without any the module is a tool."""
    assert guess_from_naming(module_id) == (kind, TYPE_TO_MOUNT_POINT[kind])


def test_the_mount_points_of_the_kinds() -> None:
    """The table is part of the public surface."""
    assert TYPE_TO_MOUNT_POINT == {
        "orchestrator": "orchestrator",
        "provider": "providers",
        "tool": "tools",
        "hook": "hooks",
        "context": "context",
        "resolver": "module-source-resolver",
    }


def test_search_paths_come_in_many_forms() -> None:
    """A list of texts or paths, an iterator, or a single folder."""
    expected = [Path("a"), Path("b")]
    assert as_folders(["a", Path("b")]) == expected
    assert as_folders(iter(("a", "b"))) == expected
    assert as_folders("a") == as_folders(Path("a")) == [Path("a")]
    assert as_folders(None) == as_folders([]) == []


def test_the_environment_lists_folders_only_when_none_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given search paths replace those of the variable; empty parts of it are no folders."""
    monkeypatch.setenv("AMPLIFIER_MODULES", os.pathsep.join(["/x", "", "/y"]))
    assert folders_to_search([]) == [Path("/x"), Path("/y")]
    assert folders_to_search([Path("/z")]) == [Path("/z")]
    monkeypatch.delenv("AMPLIFIER_MODULES")
    assert folders_to_search([]) == []


def test_installed_modules_come_first_then_folders(workshop: Any, tmp_path: Path) -> None:
    """Every module is described from its id alone; an id found twice is listed once."""
    workshop.installed("group.a", {"provider-x": "pkg:mount", "tool-both": "pkg2:mount"})
    folder = tmp_path / "modules"
    for name in ("amplifier-module-tool-b", "amplifier-module-tool-both", "amplifier-module-loop-a", "other", ".git"):
        (folder / name).mkdir(parents=True)
    (folder / "amplifier-module-file").write_text("not a folder")
    found = discover_modules(EntryPointIndex("group.a"), [folder])
    assert list(found) == ["provider-x", "tool-both", "loop-a", "tool-b"]
    assert found["loop-a"].model_dump() == {
        "id": "loop-a",
        "name": "Loop A",
        "version": "1.0.0",
        "type": "orchestrator",
        "mount_point": "orchestrator",
        "description": "Module: loop-a",
        "config_schema": None,
    }


def test_every_occurrence_of_the_prefix_leaves_the_id(tmp_path: Path) -> None:
    """A doubled prefix gives the plain id; a folder that is nothing but prefix gives none."""
    (tmp_path / "amplifier-module-amplifier-module-x").mkdir()
    (tmp_path / "amplifier-module-").mkdir()
    assert list(discover_modules(empty_index(), [tmp_path])) == ["x"]


def test_folders_that_cannot_be_listed_are_told_and_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A missing folder and a file among the search paths do not hide the folder behind them."""
    (tmp_path / "file").write_text("")
    (tmp_path / "good" / "amplifier-module-tool-x").mkdir(parents=True)
    folders = [tmp_path / "missing", tmp_path / "file", tmp_path / "good"]
    assert list(discover_modules(empty_index(), folders)) == ["tool-x"]
    missing, unreadable = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert missing.getMessage() == f"Module path does not exist: {tmp_path / 'missing'}"
    assert unreadable.getMessage().startswith(f"Module path cannot be read: {tmp_path / 'file'} (NotADirectoryError")
    assert {missing.name, unreadable.name} == {LOGGER}


def test_a_module_that_cannot_be_described_is_told_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One bad entry does not hide the others."""
    for name in ("amplifier-module-bad", "amplifier-module-good"):
        (tmp_path / name).mkdir()
    describe = ModuleInfo

    def refusing(**fields: Any) -> Any:
        if fields["id"] == "bad":
            raise ValueError("unfit")
        return describe(**fields)

    monkeypatch.setattr(_discovery, "ModuleInfo", refusing)
    assert list(discover_modules(empty_index(), [tmp_path])) == ["good"]
    (error,) = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert error.getMessage() == "Cannot describe module 'bad': ValueError: unfit"


def test_a_thousand_modules_cost_one_reading_and_one_listing(
    workshop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work grows with the number of modules and not faster: nothing is read or listed per module."""
    workshop.installed("group.many", {f"tool-i{number}": "pkg:mount" for number in range(1000)})
    folder = tmp_path / "modules"
    for number in range(1000):
        (folder / f"amplifier-module-tool-f{number}").mkdir(parents=True)
    listed: list[Any] = []
    real_scandir = os.scandir

    def counted(path: Any) -> Any:
        listed.append(path)
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    index = EntryPointIndex("group.many")
    index.find("anything")
    listed.clear()
    assert len(discover_modules(index, [folder])) == 2000
    assert listed == [folder]


def test_a_module_folder_is_found_without_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search path that has the folder wins, and none is listed."""
    first, second = tmp_path / "1", tmp_path / "2"
    (first / "amplifier-module-tool-a").mkdir(parents=True)
    (second / "amplifier-module-tool-a").mkdir(parents=True)
    (second / "amplifier-module-tool-b").mkdir()
    (first / "amplifier-module-tool-b").write_text("a file")

    def no_listing(path: Any) -> Any:
        raise AssertionError(path)

    monkeypatch.setattr(os, "scandir", no_listing)
    folders = [tmp_path / "missing", first, second]
    assert find_module_folder("tool-a", folders) == first / "amplifier-module-tool-a"
    assert find_module_folder("tool-b", folders) == second / "amplifier-module-tool-b"
    assert find_module_folder("tool-c", folders) is None


@pytest.mark.parametrize("module_id", ["../tool-a", "x/../../tool-a", "a\0b", "/etc"])
def test_an_id_cannot_leave_the_search_path(tmp_path: Path, module_id: str) -> None:
    """Ids that are no file names find no folder."""
    (tmp_path / "amplifier-module-").mkdir()
    (tmp_path / "tool-a").mkdir()
    assert find_module_folder(module_id, [tmp_path]) is None


def test_no_package_where_there_is_no_folder(tmp_path: Path) -> None:
    """A missing path, a file and an empty folder hold no package."""
    (tmp_path / "file.py").write_text("")
    assert find_package_dir("tool-x", tmp_path / "missing") is None
    assert find_package_dir("tool-x", tmp_path / "file.py") is None
    assert find_package_dir("tool-x", tmp_path) is None


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (["", "amplifier_module_tool_x"], ""),
        (["amplifier_module_a", "amplifier_module_tool_x", "tool_x"], "amplifier_module_tool_x"),
        (["amplifier_module_a", "src/amplifier_module_tool_x"], "src/amplifier_module_tool_x"),
        (["tool_x", "amplifier_module_a"], "tool_x"),
        (["src/tool_x", "other"], "src/tool_x"),
        (["amplifier_module_b", "amplifier_module_a"], "amplifier_module_a"),
        (["src/amplifier_module_b"], "src/amplifier_module_b"),
        (["unrelated"], None),
    ],
)
def test_the_package_is_looked_for_in_order(
    workshop: Any, tmp_path: Path, present: list[str], expected: str | None
) -> None:
    """The folder itself, the conventional name, the id, the first conventional one; each also under ``src``."""
    root = tmp_path / "root"
    for name in present:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "__init__.py").write_text("")
    assert find_package_dir("tool-x", root) == (None if expected is None else root / expected)


def test_a_folder_without_init_is_no_package(tmp_path: Path) -> None:
    """Name alone is not enough."""
    (tmp_path / "amplifier_module_tool_x").mkdir()
    assert find_package_dir("tool-x", tmp_path) is None


@pytest.mark.parametrize("root", ["", "src"])
def test_the_package_registered_for_the_id_is_found(workshop: Any, tmp_path: Path, root: str) -> None:
    """The layout of the contracts: ``pyproject.toml`` with an entry point, and a package of any name beside it."""
    (tmp_path / "pyproject.toml").write_text(registering(other="odd:mount", tool_x="my_pkg.deep:mount"))
    workshop.package(tmp_path / root, "odd")
    package = workshop.package(tmp_path / root, "my_pkg")
    workshop.package(tmp_path, "amplifier_module_helper")
    assert find_package_dir("tool-x", tmp_path) == package


def test_a_package_registered_for_another_id_is_the_last_resort(workshop: Any, tmp_path: Path) -> None:
    """A folder may be given under an id of the caller's choosing."""
    (tmp_path / "pyproject.toml").write_text(registering(gone="missing_pkg:mount", other="odd_pkg:mount"))
    package = workshop.package(tmp_path, "odd_pkg")
    assert find_package_dir("tool-x", tmp_path) == package


def test_a_registered_name_that_is_no_package_name_is_not_followed(workshop: Any, tmp_path: Path) -> None:
    """A path in place of a package does not lead out of the folder."""
    outside = workshop.package(tmp_path / "outside", "pkg_outside")
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        registering(tool_x=f"{outside}:mount", other="../outside/pkg_outside:mount")
    )
    assert find_package_dir("tool-x", project) is None


@pytest.mark.parametrize("content", [b"", b"[project]\n", b'[project]\nname = "x"\n[project.entry-points]\n'])
def test_a_project_without_modules_registers_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    """Most projects register none; that is not worth a word."""
    (tmp_path / "pyproject.toml").write_bytes(content)
    assert find_package_dir("tool-x", tmp_path) is None
    assert caplog.records == []


@pytest.mark.parametrize(
    "content",
    [b"[project", b"\xff\xfe", b"project = 3\n", f'[project.entry-points]\n"{MODULE_GROUP}" = {{x = 3}}\n'.encode()],
)
def test_an_unreadable_project_file_is_told_and_does_not_hide_packages(
    workshop: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    """The search goes on to the conventional names."""
    (tmp_path / "pyproject.toml").write_bytes(content)
    package = workshop.package(tmp_path, "amplifier_module_other")
    assert find_package_dir("tool-x", tmp_path) == package
    (warning,) = caplog.records
    assert warning.getMessage().startswith(f"Cannot read {tmp_path / 'pyproject.toml'}: ")


def test_an_id_that_is_no_identifier_still_finds_other_packages(workshop: Any, tmp_path: Path) -> None:
    """Odd ids fit no folder name by convention and are never used as paths."""
    package = workshop.package(tmp_path, "amplifier_module_any")
    assert find_package_dir("../odd id", tmp_path) == package

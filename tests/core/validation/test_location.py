"""Where the code of a module is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_core.validation._location import LocationError, RegisteredEntry, locate, module_id_of

EMPTY = ""


def found(path: Path, entry_point: str | None = None) -> tuple[Path, str | None]:
    """The source, and the entry point as it is written."""
    location = locate(path, entry_point)
    return location.source, str(location.entry) if location.entry else None


def test_a_package_is_itself(author: Any) -> None:
    """With everything that follows from its folder."""
    package = author.package(EMPTY)
    location = locate(package)
    assert (location.given, location.source, location.file) == (package, package, package / "__init__.py")
    assert (location.name, location.entry, location.problem) == (package.name, None, None)
    assert location.import_folders == [str(package.parent)]
    assert not location.is_registrable


def test_a_file_is_a_module_of_its_stem(tmp_path: Path) -> None:
    """It has no entry point, even where there is a project."""
    file = tmp_path / "single.py"
    file.write_text(EMPTY)
    location = locate(file)
    assert (location.source, location.file, location.name) == (file, file, "single")
    assert location.import_folders == [str(tmp_path)]


@pytest.mark.parametrize("below", ["", "src"])
def test_a_registered_package_is_found_beside_the_project_file(author: Any, below: str) -> None:
    """There or in ``src``; the folder that was given is importable, too."""
    name = author.new_name()
    project = author.project({"my-tool": f"{name}.deep:mount"})
    package = author.package(EMPTY, name, project / below)
    location = locate(project)
    assert location.source == package
    assert location.entry == RegisteredEntry("my-tool", f"{name}.deep:mount", f"{name}.deep", "mount")
    assert location.is_registrable
    assert location.import_folders == list(dict.fromkeys([str(package.parent), str(project)]))
    assert found(package) == (package, f'my-tool = "{name}.deep:mount"')
    assert found(project, "my-tool") == found(package, "my-tool") == found(project)


def test_the_name_of_the_folder_decides_between_several(author: Any) -> None:
    """Then the first; and of several entry points of one package, the one of that name."""
    one, two = author.new_name(), author.new_name()
    entries = {"tool-one": f"{one}:mount", "tool-two": f"{two}:mount", "tool-three": f"{two}:mount3"}
    project = author.project(entries, (one, EMPTY), (two, EMPTY))
    assert found(project) == (project / one, f'tool-one = "{one}:mount"')
    other = project.rename(project.parent / "amplifier-module-tool-three")
    assert found(other) == (other / two, f'tool-three = "{two}:mount3"')
    assert found(other, "tool-two") == (other / two, f'tool-two = "{two}:mount"')


def test_a_package_that_is_not_registered_has_no_entry_point(author: Any) -> None:
    """Those of others do not count."""
    project = author.project({"t": "other:mount"}, ("amplifier_module_tool_x", EMPTY))
    assert found(project) == (project / "amplifier_module_tool_x", None)


def test_an_entry_point_that_is_asked_for_where_none_is_registered_does_not_matter(author: Any) -> None:
    """There is nothing to choose from."""
    package = author.package(EMPTY)
    assert found(package, "anything") == (package, None)


@pytest.mark.parametrize("value", ["not an entry", "pkg:"])
def test_an_entry_point_that_is_asked_for_and_malformed_is_refused(author: Any, value: str) -> None:
    """With the reason."""
    project = author.project({"t": value})
    with pytest.raises(LocationError, match=r"which is no entry point; expected \"package:mount\"$"):
        locate(project, "t")


def test_an_entry_point_that_is_asked_for_needs_its_package(author: Any) -> None:
    """It is named."""
    project = author.project({"t": "gone:mount"}, ("amplifier_module_tool_x", EMPTY))
    with pytest.raises(LocationError, match="nor the package that pyproject.toml registers: gone/ for t = "):
        locate(project, "t")


@pytest.mark.parametrize(
    ("value", "module", "attribute"),
    [
        ("pkg", "pkg", ""),
        ("pkg.sub : mount", "pkg.sub", "mount"),
        ("pkg:Class.mount [extra]", "pkg", "Class.mount"),
    ],
)
def test_entry_points_are_read_as_installers_read_them(author: Any, value: str, module: str, attribute: str) -> None:
    """With spaces, extras and dotted attributes."""
    project = author.project({"t": value}, ("pkg", EMPTY))
    entry = locate(project).entry
    assert entry is not None
    assert (entry.module, entry.attribute, entry.package) == (module, attribute, "pkg")


@pytest.mark.parametrize(
    ("folder", "module_id"),
    [("amplifier-module-tool-x", "tool-x"), ("amplifier_module_tool_x", "tool-x"), ("my-tool", "my-tool")],
)
def test_the_id_follows_from_the_folder(folder: str, module_id: str) -> None:
    """Without the prefixes, with dashes."""
    assert module_id_of(Path("/x") / folder) == module_id

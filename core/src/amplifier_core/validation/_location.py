"""Where the code of a module is: the package below a folder or a single file, and the entry point registered for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from amplifier_core._discovery import (
    FOLDER_PREFIX,
    MODULE_GROUP,
    PACKAGE_PREFIX,
    PROJECT_FILE,
    find_package_dir,
    is_folder,
    registered_entry_points,
)

_ENTRY_VALUE = re.compile(r"(?P<module>\w+(\.\w+)*)\s*(:\s*(?P<attribute>\w+(\.\w+)*))?\s*(\[.*\])?")


class LocationError(ValueError):
    """There is no module at the path; the text says what was expected there."""


@dataclass(frozen=True, slots=True)
class RegisteredEntry:
    """One module entry point as ``pyproject.toml`` writes it: ``name = "module:attribute"``."""

    name: str
    value: str
    module: str
    attribute: str
    """Dotted, and empty when the entry point names a module."""

    def __str__(self) -> str:
        return f'{self.name} = "{self.value}"'

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.module.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Location:
    """The code of one module, found and not yet read; ``source`` is a package folder or a ``.py`` file."""

    given: Path
    source: Path
    project: Path
    """The folder that holds ``pyproject.toml``, if there is one."""
    entry: RegisteredEntry | None = None
    problem: str | None = None
    """What is wrong with the registration in ``pyproject.toml``."""

    @property
    def file(self) -> Path:
        """The file that is executed first."""
        return self.source if self.source.suffix == ".py" else self.source / "__init__.py"

    @property
    def name(self) -> str:
        """The import name."""
        return self.source.stem if self.source.suffix == ".py" else self.source.name

    @property
    def is_registrable(self) -> bool:
        """Whether there is a ``pyproject.toml`` that could register the module."""
        return (self.project / PROJECT_FILE).is_file()

    @property
    def import_folders(self) -> list[str]:
        """What the module may need on ``sys.path`` while it is imported and mounted."""
        folders = [self.source.parent] if self.given == self.source else [self.source.parent, self.given]
        return list(dict.fromkeys(map(str, folders)))


def locate(path: Path, entry_point: str | None = None) -> Location:
    """The code of the module at ``path``: a ``.py`` file, a package, or a folder with a package in it.

    ``entry_point`` selects one of several modules that ``pyproject.toml`` registers. Raises ``LocationError``.
    """
    given = path.absolute()
    if is_folder(given):
        return _locate_package(given, entry_point)
    if given.suffix == ".py" and is_file(given):
        return Location(given, given, given.parent)
    raise LocationError(f"{_nothing_at(given)}; give the folder of the module, or a .py file")


def module_id_of(folder: Path) -> str:
    """The module id that the name of a folder stands for: ``amplifier-module-tool-x`` is ``tool-x``."""
    return folder.name.removeprefix(FOLDER_PREFIX).removeprefix(PACKAGE_PREFIX).replace("_", "-")


def _locate_package(given: Path, entry_point: str | None) -> Location:
    project = _project_of(given)
    entries, problems = _read_entries(project)
    problem = problems[0] if problems else None
    if entry_point is not None and (entries or problems):
        entry = _require_entry(entry_point, entries, problem, project)
        return Location(given, _require_package(entry, given, project), project, entry)
    package = find_package_dir(module_id_of(given), given)
    if package is None:
        raise LocationError(_no_package(given, entries, problem))
    return Location(given, package, project, _entry_of(package, entries, module_id_of(given)), problem)


def is_file(path: Path) -> bool:
    """Whether there is a readable file; a name that no file system can have is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _nothing_at(given: Path) -> str:
    return f"{given} is no Python file" if is_file(given) else f"{given} does not exist"


def _project_of(given: Path) -> Path:
    """The folder of the project: of a package that is given itself, one of the folders above."""
    above = (given.parent, given.parent.parent) if given.parent.name == "src" else (given.parent,)
    folders = (given, *above) if (given / "__init__.py").is_file() else (given,)
    return next((folder for folder in folders if (folder / PROJECT_FILE).is_file()), given)


def _read_entries(project: Path) -> tuple[list[RegisteredEntry], list[str]]:
    try:
        registered = registered_entry_points(project)
    except ValueError as error:
        return [], [f"{error}. Correct the file."]
    parsed = {name: _ENTRY_VALUE.fullmatch(value) for name, value in registered.items()}
    entries = [
        RegisteredEntry(name, registered[name], match["module"], match["attribute"] or "")
        for name, match in parsed.items()
        if match
    ]
    wrong = [
        f'{project / PROJECT_FILE} registers {name} = "{registered[name]}", which is no entry point; '
        f'expected "package:mount"'
        for name, match in parsed.items()
        if not match
    ]
    return entries, wrong


def _require_entry(name: str, entries: list[RegisteredEntry], problem: str | None, project: Path) -> RegisteredEntry:
    entry = next((entry for entry in entries if entry.name == name), None)
    if entry is None:
        names = ", ".join(entry.name for entry in entries) or "none"
        raise LocationError(
            problem or f"{project / PROJECT_FILE} registers no '{name}' in group '{MODULE_GROUP}'; registered: {names}"
        )
    return entry


def _require_package(entry: RegisteredEntry, given: Path, project: Path) -> Path:
    if given.name == entry.package and given != project:
        return given
    package = next((root / entry.package for root in (project, project / "src") if _holds(root, entry)), None)
    if package is None:
        raise LocationError(_no_package(project, [entry], None))
    return package


def _holds(root: Path, entry: RegisteredEntry) -> bool:
    return (root / entry.package / "__init__.py").is_file()


def _entry_of(package: Path, entries: list[RegisteredEntry], module_id: str) -> RegisteredEntry | None:
    own = [entry for entry in entries if entry.package == package.name]
    return next((entry for entry in own if entry.name == module_id), own[0] if own else None)


def _no_package(folder: Path, entries: list[RegisteredEntry], problem: str | None) -> str:
    text = f"No __init__.py found in {folder}"
    if entries:
        wanted = ", ".join(f"{entry.package}/ for {entry}" for entry in entries)
        return f"{text}, nor the package that {PROJECT_FILE} registers: {wanted}. Add it, or correct the entry point."
    if problem:
        return f"{text}. {problem}"
    return (
        f"{text}; expected it there, in a folder {PACKAGE_PREFIX}…, or in the package that {PROJECT_FILE} registers "
        f"in group '{MODULE_GROUP}'"
    )

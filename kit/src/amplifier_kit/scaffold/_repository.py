"""From templates to a repository: all of it is written, or nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from string import Template

import amplifier_core
from amplifier_kit.scaffold._names import ModuleNames, ScaffoldError

_SUFFIX = ".tmpl"
_SCRIPT = "#!"


def create(kind: str, name: str, into: Path) -> Path:
    """Writes the repository of a new module into the folder ``into``, and gives its path.

    Raises ``ScaffoldError`` for a kind or name that cannot be, a place that is taken or cannot be written to; then
    nothing is left behind.
    """
    names = ModuleNames.of(kind, name)
    target = Path(into).absolute() / names.folder
    if not target.parent.is_dir():
        raise ScaffoldError(f"Cannot write {names.folder}: there is no folder {target.parent}. Create it first.")
    if target.exists() or target.is_symlink():
        raise ScaffoldError(f"{target} exists already. Choose another name, or remove it first.")
    try:
        _write(names, target)
    except OSError as error:
        raise ScaffoldError(f"Cannot write {target}: {error.strerror or error}. Nothing was written.") from error
    return target


def _write(names: ModuleNames, target: Path) -> None:
    # Beside the target, so that the last step is a rename on one file system.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{names.folder}-") as scratch:
        draft = Path(scratch) / names.folder
        for path, text in _files(names):
            _write_file(draft / path, text)
        draft.rename(target)


def _write_file(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    if text.startswith(_SCRIPT):
        file.chmod(file.stat().st_mode | 0o111)


def _files(names: ModuleNames) -> Iterator[tuple[PurePosixPath, str]]:
    values = {
        "kind": names.kind,
        "module_id": names.module_id,
        "package": names.package,
        "class_name": names.class_name,
        "name": names.name.replace("-", "_"),
        "title": names.name.replace("-", " ").capitalize(),
        "core_version": amplifier_core.__version__,
        "year": str(datetime.now(UTC).year),
    }
    templates = files("amplifier_kit.scaffold") / "templates"
    for folder in ("common", names.kind):
        for path, template in _templates(templates / folder, PurePosixPath()):
            yield _target_of(path, names.package), Template(template).substitute(values)


def _templates(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, path / entry.name)
        else:
            yield path / entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")


def _target_of(path: PurePosixPath, package: str) -> PurePosixPath:
    """Where a template's text goes: folders have other names here, so that no tool takes them for the real thing."""
    renamed = {"package": package, "suite": "tests"}
    parts = [renamed.get(part, part) for part in path.parts]
    return PurePosixPath(*(f".{part.removeprefix('dot_')}" if part.startswith("dot_") else part for part in parts))

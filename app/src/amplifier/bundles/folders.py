"""Where the files of a bundle are: its root, the usual folders, and references from one file to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from amplifier.bundles.document import Document

USUAL_FOLDERS = frozenset({"bundles", "behaviors", "providers", "agents", "context", "modules"})
SUFFIXES = (".md", ".yaml", ".yml")
BUNDLE_FILES = tuple(f"bundle{suffix}" for suffix in SUFFIXES)

_MOST_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What references in one file of a bundle are about: the file's folder, its root, and the namespaces so far."""

    folder: Path
    root: Path
    namespaces: Mapping[str, Path]

    def find(self, ref: str, usual: str = "") -> tuple[Path, Path] | None:
        """The file that ``ref`` (``ns:path`` or a path) names, and the root it is below; ``None`` if there is none.

        ``usual`` is the folder that such files are usually in. Raises ``LookupError`` for a namespace that is not known
        and for a file that is not below its root.
        """
        namespace, _, rest = ref.removeprefix("@").rpartition(":")
        if not namespace:
            starts, root = (self.folder, self.root), self.root
        elif namespace in self.namespaces:
            starts, root = (self.namespaces[namespace],), self.namespaces[namespace]
        else:
            known = ", ".join(sorted(self.namespaces))
            raise LookupError(f"there is no namespace '{namespace}' (known: {known})")
        file = next((file for start in starts for file in _candidates(start, rest, usual) if file.is_file()), None)
        if file is None:
            return None
        if not file.resolve().is_relative_to(root.resolve()):
            raise LookupError(f"it is not below {root}, the root of its bundle (bundle.namespace_root can widen that)")
        return file, root


def _candidates(start: Path, rest: str, usual: str) -> Iterator[Path]:
    for base in (start / usual, start) if usual else (start,):
        yield base / rest
        yield from (base / f"{rest}{suffix}" for suffix in SUFFIXES)


def bundle_file_at(path: Path) -> Path | None:
    """The bundle at ``path``: the file, the file with an ending, or the folder's own; ``None`` if there is none."""
    if path.is_dir():
        candidates = [path / name for name in BUNDLE_FILES]
    else:
        candidates = [path, *(path.with_name(path.name + suffix) for suffix in SUFFIXES)]
    return next((file for file in candidates if file.is_file()), None)


def root_of(document: Document, named: str | None) -> Path:
    """The folder that a bundle's namespace stands for: as ``namespace_root`` says, the repository's, or the file's."""
    folder = document.file.parent
    if named is None:
        above = root_bundle_of(document.file)
        return folder if above is None else above.parent
    root = (folder / named).resolve()
    is_too_wide = named.count("..") > 2 or Path.home().is_relative_to(root) or Path(named).is_absolute()
    if is_too_wide or not root.is_dir():
        raise document.problem(
            ("bundle", "namespace_root"),
            f"bundle.namespace_root must be a folder near the file, got {named!r}",
            "Name a folder below the file's own, or at most '../..'.",
        )
    return root


def root_bundle_of(file: Path) -> Path | None:
    """The bundle at the top of the folders that ``file`` is in, where they have the usual names."""
    folders = [file.parent, *file.parent.parents][:_MOST_LEVELS]
    usual = next((folder for folder in folders if folder.name in USUAL_FOLDERS), None)
    if usual is None:
        return None
    found = bundle_file_at(usual.parent)
    return None if found == file else found

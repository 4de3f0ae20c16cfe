"""Loads a bundle with everything it includes: names, paths, namespaces and addresses to one composed bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from amplifier.bundles.bundle import Bundle, Include
from amplifier.bundles.bundle_file import read_bundle, read_header, read_includes
from amplifier.bundles.catalog import Known, known_bundles
from amplifier.bundles.compose import compose
from amplifier.bundles.document import read_document
from amplifier.bundles.folders import SUFFIXES, Surroundings, bundle_file_at, root_bundle_of
from amplifier.nearest import nearest
from amplifier.paths import Places
from amplifier.problems import BundleProblem

Fetch = Callable[[str], Path]
"""Brings what an address names to this machine, and gives its file or folder."""

_ADDRESS = re.compile(r"(git|zip|http|https)(\+\w+)?(\+|://)", re.IGNORECASE)
_NAMESPACED = re.compile(r"[A-Za-z][\w-]+:(?!//)")
_MOST_NESTED = 30


def load_bundle(
    ref: str,
    places: Places,
    *,
    search: Iterable[Path] = (),
    added: Mapping[str, Any] | None = None,
    fetch: Fetch | None = None,
) -> Bundle:
    """The bundle that ``ref`` names, composed with those it includes; each of them counts once, where it comes first.

    ``ref`` is a name, a path, a ``file://`` address, or an address for ``fetch``. ``added`` are names of the settings
    (``bundle.added``), ``search`` more folders with bundles. Raises ``BundleProblem``.
    """
    loader = _Loader(places, known_bundles(places, added or {}, search), fetch)
    loader.load(loader.locate(ref, places.working_dir, ""), ())
    return compose(loader.loaded)


class _Loader:
    """One loading: what was loaded so far, in the order of merging, and the namespaces that came with it."""

    def __init__(self, places: Places, known: Mapping[str, Known], fetch: Fetch | None) -> None:
        self._places = places
        self._known = known
        self._fetch = fetch
        self._namespaces: dict[str, Path] = {}
        self._done: set[Path] = set()
        self.loaded: list[Bundle] = []

    def load(self, file: Path, nested_in: tuple[Include, ...], chain: tuple[Path, ...] = ()) -> None:
        """Loads ``file`` and what it includes; ``chain`` are the files that lead to it by ``nested_in``."""
        real = file.resolve()
        self._require_no_circle(real, nested_in, chain)
        if real in self._done:
            return
        document = read_document(file)
        header = read_header(document)
        self._name_root_of(file)
        self._namespaces[header.name] = header.root
        for include in read_includes(document):
            found = self.locate(include.ref, file.parent, f"{include.place}: ")
            self.load(found, (*nested_in, include), (*chain, real))
        # Those that were included may have taken the name; what this bundle calls by it is its own.
        self._namespaces[header.name] = header.root
        surroundings = Surroundings(file.parent, header.root, dict(self._namespaces))
        self.loaded.append(read_bundle(document, header, surroundings))
        self._done.add(real)

    def locate(self, ref: str, folder: Path, place: str) -> Path:
        """The file of the bundle that ``ref`` names, where paths start in ``folder``; ``place`` begins messages."""
        if ref.startswith("file://") or _ADDRESS.match(ref):
            return self._known_file(ref, place)
        if _NAMESPACED.match(ref):
            return self._in_namespace(ref, folder, place)
        if ref in self._known:
            return self._known_file(self._known[ref].ref, place)
        if ref.startswith((".", "/", "~")) or "/" in ref or ref.endswith(SUFFIXES):
            return self._require_path(folder / Path(ref).expanduser(), ref, place)
        return self._unknown(ref, place)

    def _known_file(self, ref: str, place: str) -> Path:
        # A name stands for a place, never for another name: names cannot lead in a circle.
        if ref.startswith("file://"):
            return self._require_path(_path_of_url(ref), ref, place)
        if _ADDRESS.match(ref):
            return self._require_path(self._fetched(ref, place), ref, place)
        return self._require_path(self._places.project_dir / Path(ref).expanduser(), ref, place)

    def _require_no_circle(self, real: Path, nested_in: tuple[Include, ...], chain: tuple[Path, ...]) -> None:
        if real not in chain and len(chain) < _MOST_NESTED:
            return
        circle = " → ".join(path.name for path in (*chain[chain.index(real) if real in chain else 0 :], real))
        told = "the bundles include each other in a circle" if real in chain else "bundles are nested too deeply"
        raise BundleProblem(f"{nested_in[-1].place}: {told}: {circle}", "Take one of these includes out.")

    def _name_root_of(self, file: Path) -> None:
        """Makes the bundle at the root of the file's repository known by its name, for references to its files."""
        root = root_bundle_of(file)
        if root is not None:
            self._namespaces.setdefault(read_header(read_document(root)).name, root.parent)

    def _in_namespace(self, ref: str, folder: Path, place: str) -> Path:
        namespace, _, rest = ref.partition(":")
        if namespace not in self._namespaces and namespace in self._known:
            document = read_document(self.locate(namespace, folder, place))
            self._namespaces[namespace] = read_header(document).root
        root = self._namespaces.get(namespace)
        if root is None:
            names = ", ".join(sorted({*self._namespaces, *self._known}))
            raise BundleProblem(f"{place}There is no namespace '{namespace}' for {ref!r}.", f"Known are: {names}.")
        return self._require_path(root / rest, ref, place)

    def _fetched(self, ref: str, place: str) -> Path:
        if self._fetch is None:
            raise BundleProblem(
                f"{place}The bundle {ref!r} would have to be fetched, which needs source resolving.",
                "Fetch it yourself, and give the path of the folder.",
            )
        return self._fetch(ref)

    def _require_path(self, path: Path, ref: str, place: str) -> Path:
        found = bundle_file_at(path)
        if found is None:
            what = "has no bundle.md or bundle.yaml" if path.is_dir() else "does not exist"
            raise BundleProblem(f"{place}The bundle {ref!r} is not there: {path} {what}.", "Check the path.")
        return found

    def _unknown(self, ref: str, place: str) -> Path:
        near = nearest(ref, self._known)
        meant = f" Did you mean '{near}'?" if near else ""
        raise BundleProblem(
            f"{place}There is no bundle {ref!r}.{meant}",
            f"Known are: {', '.join(sorted(self._known))}. A file is given as a path: ./{ref}.md",
        )


def _path_of_url(url: str) -> Path:
    parts = urlsplit(url)
    path = Path(unquote(parts.path))
    subdirectory = parts.fragment.removeprefix("subdirectory=")
    return path / subdirectory if subdirectory else path

"""What modules need beside the installed packages: installed into folders of their own, never into this Python.

Which packages a module needs is in its ``pyproject.toml``. Those that are installed already are used as they are; the
others come as built packages alone, so that nothing of them runs while they are installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from amplifier.problems import SourceProblem
from amplifier.sources.cache import SourceCache
from amplifier.sources.packages import normalized
from amplifier.sources.processes import Ended, TooMuchError, run_limited

_NAME = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?P<rest>[^\n\r]*)")
_OURS = re.compile(r"amplifier(-.*)?")
_TIMEOUT_S = 600.0
_MOST_BYTES = 4_000_000_000


class Dependencies:
    """Folders with packages that modules need, by what is in them; made when they are first needed."""

    def __init__(
        self, cache: SourceCache, *, is_frozen: bool = False, is_offline: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._cache = cache
        self._is_frozen = is_frozen
        self._is_offline = is_offline
        self._present = Installed(cache.root)
        self._environ = dict(os.environ if environ is None else environ)

    def overlay(self, folder: Path, requires: Sequence[str], told: str) -> Path | None:
        """The folder with what the module in ``folder`` needs; ``None`` where everything is installed.

        ``requires`` are the locked versions. Raises ``SourceProblem`` where they cannot be had.
        """
        wanted = missing_requirements(folder, told, self._present)
        if not wanted:
            return None
        if not _covers(requires, wanted):
            requires = ()
        if self._is_frozen and not requires:
            raise SourceProblem(
                f"The source {told} needs {', '.join(wanted)}, and no versions of that are locked.",
                "Lock them with: amplifier lock --update",
            )
        place = self._cache.overlay(_key(requires or wanted))
        if place.is_dir():
            return place
        if self._is_offline:
            raise SourceProblem(
                f"The source {told} needs {', '.join(wanted)}, and nothing may be fetched.",
                "Fetch it where there is a network: amplifier source update",
            )
        with self._cache.exclusively(f"overlay {place.name}", _TIMEOUT_S):
            return place if place.is_dir() else self._installed(place, requires or wanted, bool(requires), told)

    def _installed(self, place: Path, wanted: Sequence[str], is_exact: bool, told: str) -> Path:
        with self._cache.draft() as draft:
            target = draft / "packages"
            target.mkdir()
            (draft / "wanted.txt").write_text("".join(f"{each}\n" for each in wanted), encoding="utf-8")
            present = "".join(f"{name}=={version}\n" for name, version in sorted(self._present.all().items()))
            (draft / "present.txt").write_text(present, encoding="utf-8")
            command = _installer(self._environ)
            options = ["--no-deps"] if is_exact else ["--constraint", "present.txt"]
            command += ["--target", "packages", "--only-binary", ":all:", "--quiet", *options, "-r", "wanted.txt"]
            ended = self._run(command, draft, told)
            if ended.code != 0:
                reason = " ".join(ended.err.split())[-600:]
                raise SourceProblem(
                    f"What the source {told} needs cannot be installed: {', '.join(wanted)}. {reason}",
                    "Check the network, or install it yourself where amplifier is installed.",
                )
            _prune(target, self._present)
            return self._cache.adopt(target, place)

    def _run(self, command: Sequence[str], draft: Path, told: str) -> Ended:
        try:
            return run_limited(command, self._environ, draft, timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES)
        except TooMuchError as error:
            raise SourceProblem(
                f"What the source {told} needs cannot be installed: it {error}.", "Try again with a better network."
            ) from None
        except FileNotFoundError:
            raise SourceProblem(
                f"What the source {told} needs cannot be installed: there is neither pip nor uv.",
                "Install one of them.",
            ) from None


def missing_requirements(folder: Path, told: str, present: Container[str]) -> list[str]:
    """What the ``pyproject.toml`` in ``folder`` asks for and is not among the packages ``present``, sorted."""
    project = folder / "pyproject.toml"
    if not project.is_file():
        return []
    import tomllib

    try:
        data: Any = tomllib.loads(project.read_text("utf-8"))
        listed: Any = data.get("project", {}).get("dependencies", [])
        given = [str(each).strip() for each in listed]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise SourceProblem(
            f"The pyproject.toml of {told} cannot be read: {error}.", "Ask those who made it."
        ) from None
    return sorted(each for each in given if _is_wanted(each, present, told))


class Installed:
    """The packages that this Python has, by their normalized names; those below ``without`` are not its own."""

    def __init__(self, without: Path) -> None:
        self._without = str(without)
        self._known: dict[object, bool] = {}

    def __contains__(self, name: object) -> bool:
        if name not in self._known:
            # One by name is found at once; reading what all of them say takes longer than sessions take to begin.
            from importlib.metadata import distributions

            self._known[name] = next(iter(distributions(name=str(name), path=self._places)), None) is not None
        return self._known[name]

    def all(self) -> dict[str, str]:
        """Every package with its version."""
        from importlib.metadata import distributions

        return _versions(distributions(path=self._places))

    @property
    def _places(self) -> list[str]:
        return [each for each in sys.path if not each.startswith(self._without)]


def packages_in(folder: Path) -> list[str]:
    """The packages of an overlay, each with its version, as the lock has them."""
    from importlib.metadata import distributions

    return [f"{name}=={version}" for name, version in sorted(_versions(distributions(path=[str(folder)])).items())]


def _versions(found: Any) -> dict[str, str]:
    named = ((each.metadata["Name"], each.version) for each in found)
    return {normalized(name): version for name, version in named if name and version}


def _is_wanted(requirement: str, present: Container[str], told: str) -> bool:
    named = _NAME.fullmatch(requirement)
    name = normalized(named["name"]) if named else ""
    # The kernel and what comes with it are here; a second one would be another kernel.
    if named and (_OURS.fullmatch(name) or name in present):
        return False
    if named is None or "@" in named["rest"].partition(";")[0]:
        raise SourceProblem(
            f"The source {told} needs {requirement[:200]!r}, which is not a package with a version.",
            "Install it yourself where amplifier is installed, if you trust it.",
        )
    return True


def _covers(requires: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether versions are locked for all that is missing here; another machine may have had more installed."""
    names = {normalized(each.partition("==")[0]) for each in requires}
    return all(normalized(_name_in(each)) in names for each in wanted)


def _name_in(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found["name"] if found else requirement


def _key(wanted: Sequence[str]) -> str:
    # What was built for one Python or machine is nothing for another.
    about = [sys.implementation.cache_tag or "", sys.platform, os.uname().machine if hasattr(os, "uname") else ""]
    return hashlib.sha256("\n".join([*about, *sorted(wanted)]).encode()).hexdigest()


def _installer(environ: Mapping[str, str]) -> list[str]:
    """The program that this Python gets its packages with: its own pip, or uv where it has none."""
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    beside = str(Path(sys.executable).parent)
    uv = shutil.which("uv", path=os.pathsep.join([beside, environ.get("PATH", os.defpath)]))
    return [uv or "uv", "pip", "install", "--python", sys.executable]


def _prune(folder: Path, present: Container[str]) -> None:
    """Removes packages that are installed anyway: of two copies the wrong one might be taken."""
    from importlib.metadata import distributions

    for each in list(distributions(path=[str(folder)])):
        if normalized(each.metadata["Name"] or "") in present:
            for file in each.files or ():
                path = Path(str(file.locate()))
                if path.resolve().is_relative_to(folder.resolve()):
                    path.unlink(missing_ok=True)

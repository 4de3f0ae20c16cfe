"""Builds wheels and sdists of the four distributions, looks into them, installs and tries them.

Run by ``make dist``. Nothing unpinned is fetched: what they need at run time comes from its lock file.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
# Folder of a distribution: how its files are called, and the package it must hold.
DISTRIBUTIONS = {
    "core": ("amplifier_core", "amplifier_core"),
    "modules": ("amplifier_modules", "amplifier_modkit"),
    "app": ("amplifier", "amplifier"),
    "kit": ("amplifier_kit", "amplifier_kit"),
}
# Folders of tests that are shipped, for authors to inherit.
SUITES = {"behavioral", "structural"}

SMOKE_KERNEL = """
import asyncio, sys
import amplifier_core
from amplifier_core import *
from amplifier_core import AmplifierSession, HookRegistry, HookResult

async def main():
    hooks = HookRegistry()
    hooks.register("smoke:test", lambda event, data: HookResult(action="deny", reason=event))
    assert (await hooks.emit("smoke:test", {})).reason == "smoke:test"

missing = [name for name in amplifier_core.__all__ if not hasattr(amplifier_core, name)]
assert not missing, missing
assert amplifier_core.__file__.startswith(sys.prefix), amplifier_core.__file__
asyncio.run(main())
"""
SMOKE_ALL = f"""{SMOKE_KERNEL}
import amplifier, amplifier_modkit
for package in (amplifier, amplifier_modkit):
    assert package.__file__.startswith(sys.prefix), package.__file__

from importlib.metadata import entry_points
mounts = [entry_point.load() for entry_point in entry_points(group="amplifier.modules")]
assert mounts and all(map(callable, mounts)), mounts
"""
HELLO = """---
bundle: {name: hello}
session: {orchestrator: {module: loop-streaming}, context: {module: context-simple}}
providers: [{module: provider-mock, config: {script: [Hello yourself.]}}]
---
You greet.
"""
SMOKE_KIT = """
import subprocess, sys
from pathlib import Path
import amplifier_kit
from amplifier_kit.scaffold import KINDS, create

assert amplifier_kit.__file__.startswith(sys.prefix), amplifier_kit.__file__
for kind in KINDS:
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=create(kind, "smoke", Path()), check=True)
"""


def main() -> None:
    """Does it all, and stops with an error that names what is wrong."""
    shutil.rmtree(OUT, ignore_errors=True)
    for folder, (_, package) in DISTRIBUTIONS.items():
        _build(folder)
        _require_sound_wheel(_built(folder, ".whl"), package)
        _require_sound_sdist(_built(folder, ".tar.gz"), package)
    with tempfile.TemporaryDirectory(prefix="amplifier-dist-") as scratch:
        _try_wheels(Path(scratch))
        _try_kit(Path(scratch))
        _try_kernel_sdist(Path(scratch))


def _build(folder: str) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "-d", OUT, cwd=ROOT / folder)


def _built(folder: str, suffix: str) -> Path:
    name, _ = DISTRIBUTIONS[folder]
    found = list(OUT.glob(f"{name}-*{suffix}"))
    if len(found) != 1:
        sys.exit(f"{folder}: expected one {name}-*{suffix} in {OUT}, found {[file.name for file in found]}")
    return found[0]


def _require_sound_wheel(wheel: Path, package: str) -> None:
    names = [PurePosixPath(name) for name in zipfile.ZipFile(wheel).namelist()]
    _require(f"{package}/py.typed" in map(str, names), wheel, f"has no {package}/py.typed")
    _require(any(name.match("*.dist-info/licenses/LICENSE") for name in names), wheel, "has no LICENSE")
    _require(wheel.name.endswith("-py3-none-any.whl"), wheel, "is not for every platform")
    tops = {name.parts[0] for name in names if not name.parts[0].endswith(".dist-info")}
    strangers = {top for top in tops if top != package and not (package == "amplifier_modkit" and _is_module(top))}
    _require(not strangers, wheel, f"holds more than {package}: {strangers}")
    _require_no_tests(wheel, names)


def _is_module(package: str) -> bool:
    return package.startswith("amplifier_module_")


def _require_sound_sdist(sdist: Path, package: str) -> None:
    with tarfile.open(sdist) as archive:
        names = [PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()]
    for needed in ("LICENSE", "README.md", "pyproject.toml", f"src/{package}/py.typed"):
        _require(needed in map(str, names), sdist, f"has no {needed}")
    _require_no_tests(sdist, names)


def _require_no_tests(archive: Path, names: list[PurePosixPath]) -> None:
    tests = [
        str(name)
        for name in names
        if ("tests" in name.parts or name.match("test_*.py") or name.match("conftest.py"))
        and not SUITES.intersection(name.parts)
    ]
    _require(not tests, archive, f"holds tests: {tests}")


def _require(holds: bool, archive: Path, complaint: str) -> None:
    if not holds:
        sys.exit(f"{archive.name} {complaint}")


def _try_wheels(scratch: Path) -> None:
    python = _environment(scratch / "wheels", [_built(folder, ".whl") for folder in ("core", "modules", "app")])
    _run(python, "-c", SMOKE_ALL, cwd=scratch)
    _run(python.parent / "amplifier", "--version", cwd=scratch)
    bundle = scratch / "hello.md"
    bundle.write_text(HELLO, encoding="utf-8")
    answer = _run(python.parent / "amplifier", "run", "-B", bundle, "--ephemeral", "Hello?", cwd=scratch)
    if answer != "Hello yourself.\n":
        sys.exit(f"The command 'amplifier' gives another answer than its script:\n{answer}")


def _try_kit(scratch: Path) -> None:
    """The kit needs the test runner, which nobody who runs an agent has."""
    python = _environment(scratch / "kit", [_built(folder, ".whl") for folder in ("core", "kit")], "kernel-test.txt")
    work = scratch / "work"
    work.mkdir()
    _run(python, "-c", SMOKE_KIT, cwd=work)


def _try_kernel_sdist(scratch: Path) -> None:
    offline = ("--no-deps", "--no-index", "--no-build-isolation")
    _run(sys.executable, "-m", "pip", "wheel", *offline, "-w", scratch, _built("core", ".tar.gz"))
    python = _environment(scratch / "sdist", list(scratch.glob("amplifier_core-*.whl")))
    _run(python, "-c", SMOKE_KERNEL, cwd=scratch)


def _environment(path: Path, wheels: list[Path], lock: str = "runtime.txt") -> Path:
    """A fresh environment with locked requirements and ``wheels``; gives its Python."""
    _run(ROOT / "tools/make-venv", path, sys.executable, ROOT / "requirements" / lock)
    _run(ROOT / "tools/install", path, "--quiet", "--no-deps", "--no-index", *wheels)
    python = path / "bin" / "python"
    _run(python, "-m", "pip", "check")
    return python


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    if done.returncode:
        told = " ".join(str(part) for part in command if part not in (SMOKE_KERNEL, SMOKE_ALL, SMOKE_KIT))
        sys.exit(f"{told}\nended with {done.returncode} in {cwd}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()

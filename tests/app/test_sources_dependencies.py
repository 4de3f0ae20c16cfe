"""What modules need: installed beside this Python, once, and exactly as it is locked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.app.source_world import zip_bytes

from amplifier.problems import SourceProblem
from amplifier.sources import dependencies
from amplifier.sources.cache import SourceCache
from amplifier.sources.dependencies import Dependencies, Installed, missing_requirements, packages_in


def _wheel(folder: Path, name: str, version: str, requires: tuple[str, ...] = ()) -> None:
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        f"{name}.py": f"version = '{version}'\n",
        f"{about}/METADATA": metadata,
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{each},,\n" for each in (*files, f"{about}/RECORD"))
    folder.mkdir(exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    wheel.write_bytes(zip_bytes({**files, f"{about}/RECORD": record}))


def _module(folder: Path, *requirements: str) -> Path:
    folder.mkdir(exist_ok=True)
    listed = ", ".join(f'"{each}"' for each in requirements)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "m"\nversion = "1"\ndependencies = [{listed}]\n')
    return folder


def _environ(folder: Path) -> dict[str, str]:
    places = {name: str(folder / "wheels") for name in ("UV_FIND_LINKS", "PIP_FIND_LINKS")}
    nothing_else = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull}
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **places, **nothing_else}


def test_what_is_installed_or_ours_is_not_wanted(tmp_path: Path) -> None:
    """Whatever the spelling; without a pyproject.toml nothing is wanted."""
    module = _module(
        tmp_path / "m",
        "PyYAML>=1",
        "click; python_version > '3'",
        "amplifier-core @ git+https://e.org/x",
        "b-x>=1",
        "a_y",
    )
    present = Installed(tmp_path)
    assert missing_requirements(module, "x", present) == ["a_y", "b-x>=1"]
    assert missing_requirements(tmp_path, "x", present) == []
    assert ("click" in present, "no-such-thing" in present) == (True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[project]\ndependencies = ["a @ git+https://e.org/x"]', "which is not a package with a version"),
        ('[project]\ndependencies = ["--index-url=https://e.org"]', "which is not a package with a version"),
        ('[project]\ndependencies = ["a\\n-r x"]', "which is not a package with a version"),
        ("[project", "cannot be read"),
        ("project = 3", "cannot be read"),
        ("[project]\ndependencies = 3", "cannot be read"),
    ],
)
def test_what_no_lock_could_hold_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """Addresses, options of the installer, and files that say nothing."""
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SourceProblem, match=message):
        missing_requirements(tmp_path, "x", ())


@pytest.mark.slow
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_packages_are_installed_beside_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    """With what they need themselves, without what is installed anyway; the second time nobody is asked."""
    if installer == "uv":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    _wheel(tmp_path / "wheels", "needed_one", "1.0", ("needed_two", "click"))
    _wheel(tmp_path / "wheels", "needed_two", "2.0")
    _wheel(tmp_path / "wheels", "click", Installed(tmp_path).all()["click"])
    module = _module(tmp_path / "m", "needed-one>=1")
    cache = SourceCache(tmp_path / "cache")
    before = Installed(tmp_path).all()
    overlay = Dependencies(cache, environ=_environ(tmp_path)).overlay(module, (), "x")
    assert overlay is not None
    assert packages_in(overlay) == ["needed-one==1.0", "needed-two==2.0"]
    assert (sorted(each.name for each in overlay.glob("*.py")), Installed(tmp_path).all() == before) == (
        ["needed_one.py", "needed_two.py"],
        True,
    )
    assert Dependencies(cache, is_offline=True, environ={}).overlay(module, (), "x") == overlay
    # What is locked is installed as it is locked, though there is a later one.
    _wheel(tmp_path / "wheels", "needed_one", "1.1")
    locked = Dependencies(cache, is_frozen=True, environ=_environ(tmp_path)).overlay(module, ("needed-one==1.0",), "x")
    assert locked is not None
    assert (locked == overlay, packages_in(locked)) == (False, ["needed-one==1.0"])


def test_what_cannot_be_had_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not locked, not there without a network, and refused by the installer."""
    module = _module(tmp_path / "m", "needed-x")
    cache = SourceCache(tmp_path / "cache")
    for requires in ((), ("other==1",)):
        with pytest.raises(SourceProblem, match="needs needed-x, and no versions of that are locked"):
            Dependencies(cache, is_frozen=True).overlay(module, requires, "x")
    with pytest.raises(SourceProblem, match="needs needed-x, and nothing may be fetched"):
        Dependencies(cache, is_offline=True).overlay(module, (), "x")
    assert Dependencies(cache).overlay(_module(tmp_path / "n"), (), "x") is None
    monkeypatch.setattr(
        dependencies, "_installer", lambda _: [sys.executable, "-c", "raise SystemExit('no such thing')"]
    )
    with pytest.raises(SourceProblem) as caught:
        Dependencies(cache).overlay(module, (), "x")
    assert caught.value.message == "What the source x needs cannot be installed: needed-x. no such thing"
    monkeypatch.setattr(dependencies, "_installer", lambda _: ["/no/such/program"])
    with pytest.raises(SourceProblem, match="there is neither pip nor uv"):
        Dependencies(cache).overlay(module, (), "x")
    monkeypatch.setattr(dependencies, "_TIMEOUT_S", 0.0)
    monkeypatch.setattr(dependencies, "_installer", lambda _: ["sh", "-c", "sleep 60", "sh"])
    with pytest.raises(SourceProblem, match="cannot be installed: it took longer than 0 s"):
        Dependencies(cache).overlay(module, (), "x")


def test_another_process_may_have_installed_it(tmp_path: Path) -> None:
    """While we waited for it."""
    module = _module(tmp_path / "m", "needed-x")

    class Cache(SourceCache):
        def exclusively(self, name: str, timeout_s: float):  # type: ignore[no-untyped-def]
            self.overlay(name.removeprefix("overlay ")).mkdir(parents=True)
            return super().exclusively(name, timeout_s)

    cache = Cache(tmp_path / "cache")
    overlay = Dependencies(cache, environ={}).overlay(module, (), "x")
    assert overlay is not None
    assert list(overlay.iterdir()) == []


def test_packages_that_are_here_anyway_are_taken_out(tmp_path: Path) -> None:
    """Their own files alone, whatever their list of files says."""
    outside = tmp_path / "outside"
    outside.write_text("")
    for name, listed in (("click", "click.py,,\n../outside,,\n"), ("other", "other.py,,\n")):
        about = tmp_path / "o" / f"{name}-1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (about / "RECORD").write_text(listed)
        (tmp_path / "o" / f"{name}.py").write_text("")
    dependencies._prune(tmp_path / "o", {"click"})
    assert (sorted(each.name for each in (tmp_path / "o").glob("*.py")), outside.exists()) == (["other.py"], True)

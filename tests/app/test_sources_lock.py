"""The lock: what is in it, what it holds, and folders and packages that are locked."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.app.source_world import places_in, sources_in_folder

from amplifier.problems import SourceProblem
from amplifier.settings import Settings
from amplifier.sources import Pin, Sources, lock_path, read_lock, write_lock

TREE = "sha256:" + "a" * 64
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:{}".format)
PINS = st.one_of(
    st.builds(Pin, st.just("git"), HASHES, st.text("0123456789abcdef", min_size=40, max_size=40)),
    st.builds(Pin, st.just("zip"), HASHES, HASHES, st.lists(st.text(max_size=5)).map(tuple)),
    st.builds(Pin, st.just("package"), HASHES, st.text(max_size=5)),
    st.builds(Pin, st.just("path"), HASHES),
)


@given(st.dictionaries(st.text(), PINS, max_size=4))
def test_a_lock_comes_back_as_it_was_written(pins: dict[str, Pin]) -> None:
    """And written again, nothing of the file changes, in whatever order."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x", "amplifier.lock")
        assert read_lock(path) == {}
        assert write_lock(path, pins)
        assert read_lock(path) == pins
        assert not write_lock(path, dict(reversed(pins.items())))


def test_a_lock_reads_well(tmp_path: Path) -> None:
    """One source after the other, for those who review a change of it."""
    pins = {"git+https://e.org/x@v1": Pin("git", TREE, "b" * 40, ("rich==1.0",)), "./a": Pin("path", TREE)}
    write_lock(lock_path(places_in(tmp_path)), pins)
    assert json.loads((tmp_path / "work/.amplifier/amplifier.lock").read_text()) == {
        "version": 1,
        "sources": {
            "./a": {"kind": "path", "tree": TREE},
            "git+https://e.org/x@v1": {"kind": "git", "commit": "b" * 40, "tree": TREE, "requires": ["rich==1.0"]},
        },
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Expecting property name"),
        ("[]", "it has version None; expected 1"),
        ({"version": 2}, "it has version 2; expected 1"),
        ({"version": 1}, "it has no 'sources'"),
        ({"version": 1, "sources": {"x": 3}}, "x: 'kind' and 'tree' are not those of a source"),
        ({"version": 1, "sources": {"x": {"kind": "path", "tree": "sha256:x"}}}, "x: 'kind' and 'tree'"),
        ({"version": 1, "sources": {"x": {"kind": "git", "tree": TREE, "commit": "--x"}}}, "x: 'commit' is not one"),
        ({"version": 1, "sources": {"x": {"kind": "zip", "tree": TREE, "archive": 3}}}, "x: 'archive' is not one"),
        ({"version": 1, "sources": {"x": {"kind": "path", "tree": TREE, "requires": [3]}}}, "x: 'requires' is no list"),
        ({"version": 1, "sources": {"x": {"kind": "path", "tree": TREE, "requires": "x"}}}, "x: 'requires' is no list"),
    ],
)  # fmt: skip
def test_a_damaged_lock_is_told(tmp_path: Path, content: Any, message: str) -> None:
    """Nothing of it counts."""
    path = tmp_path / "amplifier.lock"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(SourceProblem) as caught:
        read_lock(path)
    assert caught.value.message.startswith(f"{path} cannot be used: {message}")


def test_a_folder_is_taken_as_it_is_and_frozen_as_it_was(tmp_path: Path) -> None:
    """Not locked and changed by a byte are refused when nothing else may be used."""
    module = places_in(tmp_path).project_dir / "modules" / "mine"
    module.mkdir(parents=True)
    (module / "a.py").write_text("1")
    sources = sources_in_folder(tmp_path)
    found = sources.find("./modules/mine")
    assert (found.name, found.state, found.folder, found.pin) == ("./modules/mine", "local", module, None)
    assert sources.find({"path": "modules/../modules/mine"}).name == "./modules/mine"
    with pytest.raises(SourceProblem, match="is not locked, and nothing else may be used"):
        sources_in_folder(tmp_path, is_frozen=True).find("./modules/mine")
    write_lock(lock_path(places_in(tmp_path)), {found.name: sources.pin_of(found)})
    frozen = sources_in_folder(tmp_path, is_frozen=True).find(str(module))
    assert (frozen.state, frozen.folder) == ("locked", module)
    (module / "a.py").write_text("2")
    with pytest.raises(
        SourceProblem, match=r"The source ./modules/mine is not what was locked: its files have changed"
    ):
        sources_in_folder(tmp_path, is_frozen=True).find("./modules/mine")
    assert sources_in_folder(tmp_path).find("./modules/mine").state == "local"


def test_a_folder_that_is_not_there_or_not_readable_is_told(tmp_path: Path) -> None:
    """Elsewhere on the machine, paths are told whole."""
    sources = sources_in_folder(tmp_path)
    with pytest.raises(SourceProblem) as caught:
        sources.find("../gone#subdirectory=x")
    gone = tmp_path / "gone"
    assert caught.value.message == (
        f"The source {gone}#subdirectory=x is not there: {tmp_path / 'work' / '..' / 'gone'} does not exist."
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceProblem, match="cannot be read: Not a directory"):
        sources.pin_of(sources.find(str(tmp_path / "file")))


def test_a_package_is_locked_with_its_version(tmp_path: Path) -> None:
    """By the package that has its modules, or by its own name."""
    sources = sources_in_folder(tmp_path)
    found = sources.find("package:click")
    pin = sources.pin_of(found)
    assert (found.folder.name, found.state, pin.revision) == ("click", "local", version("click"))
    assert sources.find("amplifier-modules").folder.name.startswith("amplifier_module_")
    write_lock(lock_path(places_in(tmp_path)), {"package:click": pin})
    assert sources_in_folder(tmp_path, is_frozen=True).find("click").state == "locked"
    write_lock(lock_path(places_in(tmp_path)), {"package:click": Pin("package", pin.tree, "0.0")})
    with pytest.raises(SourceProblem, match="is not what was locked"):
        sources_in_folder(tmp_path, is_frozen=True).find("click")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-package-at-all", "The package 'no-such-package-at-all' is not installed in this Python."),
        ("types-pyyaml", "The package 'types-pyyaml' is not installed in this Python."),
    ],
)
def test_a_package_that_is_not_there_is_told(tmp_path: Path, name: str, message: str) -> None:
    """With how to get it."""
    with pytest.raises(SourceProblem) as caught:
        sources_in_folder(tmp_path).find(f"package:{name}")
    assert (caught.value.message, caught.value.hint.endswith(f"pip install {name}")) == (message, True)


def test_a_package_without_a_module_is_told(tmp_path: Path) -> None:
    """A distribution whose import packages have other names."""
    with pytest.raises(SourceProblem, match="The package 'pyyaml' has no module"):
        sources_in_folder(tmp_path).find("package:pyyaml")


def test_settings_say_how_sources_are_taken(tmp_path: Path) -> None:
    """Frozen, offline, and how long a fetch may take."""
    places = places_in(tmp_path)
    plain = Sources.of(Settings.load(places, environ={}), places)
    assert (plain.is_frozen, plain.is_offline) == (False, False)
    flags = {"sources.frozen": True, "sources.offline": True, "sources.timeout": 3}
    strict = Sources.of(Settings.load(places, flags, environ={}), places)
    assert (strict.is_frozen, strict.is_offline) == (True, True)

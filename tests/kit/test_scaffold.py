"""Scaffolds: a new repository is complete, its names are in step, and its own tests pass at once."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from amplifier_kit.scaffold import KINDS, ScaffoldError, create
from amplifier_kit.scaffold._names import ModuleNames

FOLDERS = {
    "tool": "amplifier-module-tool-word-count",
    "provider": "amplifier-module-provider-word-count",
    "hook": "amplifier-module-hooks-word-count",
    "orchestrator": "amplifier-module-loop-word-count",
    "context": "amplifier-module-context-word-count",
}
NOUNS = {
    "tool": {"tool"},
    "provider": {"provider", "wire"},
    "hook": {"guard"},
    "orchestrator": {"loop", "turn"},
    "context": {"context", "compaction"},
}


def files_below(folder: Path) -> set[str]:
    """Every file below ``folder``, as text."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_there_is_a_scaffold_for_every_kind() -> None:
    """The five kinds can be begun."""
    assert set(KINDS) == set(FOLDERS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_repository_is_complete(tmp_path: Path, kind: str) -> None:
    """Package, entry point, tests, README, licence and CI are there, and nothing else is in the folder."""
    created = create(kind, "word-count", tmp_path)
    package = FOLDERS[kind].replace("-", "_")
    assert (created, [path.name for path in tmp_path.iterdir()]) == (tmp_path / FOLDERS[kind], [FOLDERS[kind]])
    modules = {f"{package}/{name}.py" for name in {"__init__", "config", *NOUNS[kind]}}
    tests = {name for name in files_below(created) if name.startswith("tests/test_") and name.endswith(".py")}
    others = {"LICENSE", "README.md", "pyproject.toml", ".gitignore", ".ci/run"}
    assert files_below(created) == modules | tests | others
    assert len(tests) == 2
    assert os.access(created / ".ci/run", os.X_OK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_declares_what_it_is(tmp_path: Path, kind: str) -> None:
    """Kind, config and mount are in the package's first file; the entry point leads there; no placeholder is left."""
    created = create(kind, "word-count", tmp_path)
    package = FOLDERS[kind].replace("-", "_")
    top_level = ast.parse((created / package / "__init__.py").read_text("utf-8")).body
    assert [ast.unparse(node) for node in top_level if isinstance(node, ast.Assign)] == [
        f"__amplifier_module_type__ = {kind!r}",
        "__amplifier_config__ = Config",
    ]
    assert [node.name for node in top_level if isinstance(node, ast.AsyncFunctionDef)] == ["mount"]
    project = tomllib.loads((created / "pyproject.toml").read_text("utf-8"))["project"]
    module_id = FOLDERS[kind].removeprefix("amplifier-module-")
    assert (project["name"], project["entry-points"]["amplifier.modules"]) == (
        FOLDERS[kind],
        {module_id: f"{package}:mount"},
    )
    texts = {name: (created / name).read_text("utf-8") for name in files_below(created) if not name.startswith(".ci")}
    assert [name for name, text in texts.items() if "$" in text.replace("\n$ ", "\n")] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_its_own_tests_pass_at_once(tmp_path: Path, kind: str) -> None:
    """A real pytest, run in the new repository as its author would, is green, and so are its warnings."""
    created = create(kind, "word-count", tmp_path)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=created, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    assert "warning" not in done.stdout


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("word-count", ("tool-word-count", "amplifier_module_tool_word_count", "WordCountTool")),
        ("Word Count", ("tool-word-count", "amplifier_module_tool_word_count", "WordCountTool")),
        ("wordCount", ("tool-word-count", "amplifier_module_tool_word_count", "WordCountTool")),
        (" word__count ", ("tool-word-count", "amplifier_module_tool_word_count", "WordCountTool")),
        ("tool-bash", ("tool-bash", "amplifier_module_tool_bash", "BashTool")),
        ("amplifier-module-tool-bash", ("tool-bash", "amplifier_module_tool_bash", "BashTool")),
        ("x2", ("tool-x2", "amplifier_module_tool_x2", "X2Tool")),
        ("class", ("tool-class", "amplifier_module_tool_class", "ClassTool")),
    ],
)
def test_names_are_brought_into_step(given: str, expected: tuple[str, str, str]) -> None:
    """However a name is typed: id, package and class follow from it."""
    names = ModuleNames.of("tool", given)
    assert (names.module_id, names.package, names.class_name) == expected


@pytest.mark.parametrize("name", ["", " ", "-", "1st", "a/b", "../up", "naïve", "a.b", "a$b", "x" * 51])
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    """The error shows the name and what is expected; nothing is written."""
    with pytest.raises(ScaffoldError, match=r"A module cannot be called '.*expected at most 50 letters"):
        create("tool", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "hint"),
    [("tol", r"\. Did you mean 'tool'\?$"), ("hooks", r"Did you mean 'hook'\?$"), ("zzz", r"context\.$")],
)
def test_an_unknown_kind_is_refused_with_the_nearest(tmp_path: Path, kind: str, hint: str) -> None:
    """A mistyped kind is told, with the kind that was probably meant."""
    with pytest.raises(ScaffoldError, match=f"Unknown kind of module '{kind}'; expected one of: tool, .*{hint}"):
        create(kind, "word-count", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_never_touched(tmp_path: Path) -> None:
    """A folder, a file or a dangling link in the place is an error, and stays as it is."""
    target = tmp_path / FOLDERS["tool"]
    target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ScaffoldError, match="exists already. Choose another name"):
        create("tool", "word-count", tmp_path)
    target.unlink()
    target.write_text("mine")
    with pytest.raises(ScaffoldError, match="exists already"):
        create("tool", "word-count", tmp_path)
    assert (target.read_text(), list(tmp_path.iterdir())) == ("mine", [target])


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A mistyped place is not created behind one's back."""
    with pytest.raises(ScaffoldError, match="there is no folder .*nowhere. Create it first"):
        create("tool", "word-count", tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is written, or nothing; the error says why."""
    written: list[Path] = []
    write_text = Path.write_text

    def full_disk(self: Path, *arguments: object, **options: object) -> int:
        written.append(self)
        if len(written) > 3:
            raise OSError(28, "No space left on device")
        return write_text(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(ScaffoldError, match="No space left on device. Nothing was written"):
        create("tool", "word-count", tmp_path)
    assert (len(written), list(tmp_path.iterdir())) == (4, [])

"""Modules seen from outside and from inside: found, described, mounted, validated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier.inspector import installed_modules as finding
from amplifier.inspector import validity
from amplifier.inspector.inside import look_inside
from amplifier.inspector.installed_modules import InstalledModule, installed_modules, require_module
from amplifier.problems import Problem, UsageProblem

SOURCE = '''
"""Says hello.

And more."""
__amplifier_module_type__ = "tool"
__amplifier_config__ = ["greeting"]


async def mount(coordinator, config):
    {body}
'''


def write_module(folder: Path, module_id: str, body: str = "pass") -> Path:
    """A folder of a module as AMPLIFIER_MODULES has them; gives the package."""
    package = folder / f"amplifier-module-{module_id}" / f"amplifier_module_{module_id.replace('-', '_')}"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE.format(body=body), encoding="utf-8")
    return package


def test_modules_are_found_by_entry_points_packages_and_folders(tmp_path: Path) -> None:
    """Those that are installed, with their distribution, and those in the folders of the variable, one of them gone."""
    package = write_module(tmp_path, "tool-hello")
    (tmp_path / "amplifier-module-strange").mkdir()
    found = {each.id: each for each in installed_modules({"AMPLIFIER_MODULES": f"{tmp_path}:{tmp_path / 'gone'}:"})}
    loop = found["loop-basic"]
    assert (loop.kind, loop.distribution, loop.description) == (
        "orchestrator",
        "amplifier-modules",
        "the plain agent loop.",
    )
    assert found["tool-hello"] == ("tool-hello", "tool", "Says hello.", None, None, package)
    strange = found["strange"]
    assert (strange.kind, strange.description.startswith("cannot be read")) == ("unknown", True)
    assert list(found) == [each.id for each in sorted(found.values(), key=lambda each: (each.kind, each.id))]


def test_a_package_by_name_needs_no_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel imports it by its name, so it is listed; declared in another way, its kind is the one of its name."""
    package = tmp_path / "amplifier_module_tool_unlisted"
    package.mkdir()
    (package / "__init__.py").write_text("name: str = 'x'\n__amplifier_module_type__ = chosen()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = require_module("tool-unlisted", {})
    assert found == ("tool-unlisted", "tool", "", None, None, package)


def test_an_entry_point_to_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution may name a package that is not there, or be unknown itself."""
    entries = [
        SimpleNamespace(name="tool-a", module="no_such_package.x", dist=None),
        SimpleNamespace(name="tool-b", module="not-a-name", dist=SimpleNamespace(name="dist", version="1")),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    monkeypatch.setattr("pkgutil.iter_modules", lambda: [SimpleNamespace(ispkg=False, name="amplifier_module_tool_c")])
    assert installed_modules({}) == [
        InstalledModule("tool-a", "tool", "its package is not there", None, None, None),
        InstalledModule("tool-b", "tool", "its package is not there", "dist", "1", None),
    ]
    assert finding.KINDS["loop"] == "orchestrator"


@pytest.mark.parametrize(
    ("wanted", "told"), [("tool-bsh", "did you mean 'tool-bash'?"), ("xyz", "There is no module 'xyz'.")]
)
def test_a_module_that_is_not_there_is_refused(wanted: str, told: str) -> None:
    """With the nearest one, if one is near."""
    with pytest.raises(UsageProblem) as caught:
        require_module(wanted, {})
    assert told in caught.value.message


async def test_what_a_module_mounts_is_seen_and_taken_down_again(tmp_path: Path) -> None:
    """Names at mount points, handled events, capabilities, channels, config keys."""
    tool = await look_inside(require_module("tool-todo", {}), {}, tmp_path)
    assert (tool.mounted, tool.events, tool.problem) == ({"tools": ["todo"]}, ["prompt:submit"], None)
    assert tool.config["share_with_sub_sessions"]["type"] == "boolean"
    loop = await look_inside(require_module("loop-basic", {}), {}, tmp_path)
    assert loop.mounted == {"orchestrator": ["BasicLoop"]}
    hook = await look_inside(require_module("hooks-redaction", {}), {}, tmp_path)
    assert "redaction.redact" in hook.capabilities
    assert "session.working_dir" not in hook.to_dict()["capabilities"]


async def test_a_clean_up_that_mount_returns_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left behind by looking; the list of config keys is one without types."""
    write_module(tmp_path, "tool-cleans", body=f"return lambda: open({str(tmp_path / 'cleaned')!r}, 'w').close()")
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path))
    inside = await look_inside(require_module("tool-cleans", {"AMPLIFIER_MODULES": str(tmp_path)}), {}, tmp_path)
    assert (inside.problem, inside.config, (tmp_path / "cleaned").exists()) == (None, {"greeting": {}}, True)


async def test_a_module_that_does_not_mount_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is an answer, and no error of the command."""
    write_module(tmp_path, "tool-fails", body="raise OSError('no key')")
    environ = {"AMPLIFIER_MODULES": str(tmp_path)}
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path))
    assert (await look_inside(require_module("tool-fails", environ), {}, tmp_path)).problem == "OSError: no key"
    nowhere = InstalledModule("tool-nowhere", "tool", "", None, None, None)
    assert "not found" in str((await look_inside(nowhere, {}, tmp_path)).problem)


async def test_the_kernel_validates(tmp_path: Path) -> None:
    """A module that keeps its contract is valid; one that mounts nothing is not; what is no module is refused."""
    package = require_module("tool-todo", {}).package
    assert package is not None
    assert (await validity.validate(package)).is_valid
    empty = await validity.validate(write_module(tmp_path, "tool-empty"), {})
    assert not empty.is_valid
    strange = tmp_path / "strange"
    strange.mkdir()
    with pytest.raises(UsageProblem, match="its kind is unknown"):
        await validity.validate(strange)


def reported(xml: str | None, stderr: str = "") -> Any:
    """A stand-in for running pytest that writes this report."""

    def run(command: list[str], **_: Any) -> Any:
        if xml is not None:
            Path(command[command.index("--junitxml") + 1]).write_text(xml, encoding="utf-8")
        return SimpleNamespace(stdout="", stderr=stderr)

    return run


def test_the_behaviour_suite_becomes_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that passed, one that failed, one that was left out."""
    xml = (
        '<testsuites><testsuite><testcase name="test_a"/>'
        '<testcase name="test_b"><failure message="No name&#10;at all"/></testcase>'
        '<testcase name="test_c"><skipped message="no key"/></testcase>'
        '<testcase name="test_d"><error/></testcase></testsuite></testsuites>'
    )
    monkeypatch.setattr(subprocess, "run", reported(xml))
    checks = validity.behaviour("tool", tmp_path)
    assert [(each["name"], each["passed"], each["message"], each["severity"]) for each in checks] == [
        ("a", True, "as promised", "info"),
        ("b", False, "No name", "error"),
        ("c", True, "no key", "info"),
        ("d", False, "failed", "error"),
    ]
    assert not validity.Verdict("tool", "x", checks).is_valid


def test_a_behaviour_suite_that_cannot_run_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pytest, without any word, and when it never ends."""
    monkeypatch.setattr(subprocess, "run", reported(None, "…\nNo module named pytest\n"))
    with pytest.raises(Problem, match="No module named pytest"):
        validity.behaviour("tool", tmp_path)
    monkeypatch.setattr(subprocess, "run", reported(None))
    with pytest.raises(Problem, match="without a report"):
        validity.behaviour("tool", tmp_path)

    def never(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("pytest", 1)

    monkeypatch.setattr(subprocess, "run", never)
    with pytest.raises(Problem, match="did not end"):
        validity.behaviour("tool", tmp_path)


@pytest.mark.slow
def test_the_suite_itself_runs_on_an_installed_module() -> None:
    """As a process with the kernel's own tests."""
    package = require_module("tool-todo", {}).package
    assert package is not None
    checks = validity.behaviour("tool", package)
    assert len(checks) >= 5
    assert all(check["passed"] for check in checks)


@pytest.mark.slow
def test_nothing_of_a_listed_module_is_imported() -> None:
    """Listing is quick and safe: no code of a module runs, and the kernel is not needed."""
    code = (
        "import sys; from amplifier.inspector.installed_modules import installed_modules; "
        "print(len(installed_modules({})) > 10, [n for n in sys.modules if n.startswith('amplifier_')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    # Editable installs of single packages bring finders; they are no modules.
    assert done.stdout.split()[0] == "True"
    assert "amplifier_module_" not in done.stdout
    assert "amplifier_core" not in done.stdout

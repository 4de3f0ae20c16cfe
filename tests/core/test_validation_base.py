"""Checks, results, and the import of a package from a folder."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from amplifier_core import validation
from amplifier_core.validation.base import (
    ValidationCheck,
    ValidationResult,
    check_mount_arity,
    check_mount_exists,
    check_on_session_ready,
    import_module_from_path,
    is_async_callable,
)


def check(passed: bool, severity: Any) -> ValidationCheck:
    """A check without a story."""
    return ValidationCheck(f"{severity}-{passed}", passed, "text", severity)


def test_only_failed_error_checks_make_a_result_fail() -> None:
    """Warnings and infos never do; a passed check of severity error does not either."""
    result = ValidationResult("tool", "/path")
    assert (result.passed, result.summary()) == (True, "PASSED: 0/0 checks passed (0 errors, 0 warnings)")
    harmless = [check(False, "warning"), check(False, "info"), check(True, "error")]
    for each in harmless:
        result.add(each)
    assert (result.passed, result.errors, result.warnings) == (True, [], [harmless[0]])
    wrong = check(False, "error")
    result.add(wrong)
    assert (result.passed, result.errors) == (False, [wrong])
    assert result.summary() == "FAILED: 1/4 checks passed (1 errors, 1 warnings)"


def test_results_do_not_share_their_checks() -> None:
    """Each result has a list of its own, or the one it is given."""
    given = [check(True, "info")]
    assert ValidationResult("tool", "/p", given).checks is given
    ValidationResult("tool", "/p").add(given[0])
    assert ValidationResult("tool", "/p").checks == []


def test_the_package_exports_what_there_is() -> None:
    """Names of the front door, loaded when they are used; others are no attributes."""
    assert sorted(validation.__all__) == [
        "ContextValidator",
        "HookValidator",
        "MountPlanValidationResult",
        "MountPlanValidator",
        "OrchestratorValidator",
        "ProviderValidator",
        "ToolValidator",
        "VALIDATORS",
        "ValidationCheck",
        "ValidationResult",
        "detect_kind",
        "validate_static",
    ]
    assert all(hasattr(validation, name) for name in validation.__all__)
    assert set(validation.__all__) <= set(dir(validation))
    assert not hasattr(validation, "nothing")
    assert list(validation.VALIDATORS) == ["provider", "tool", "hook", "orchestrator", "context"]


@pytest.mark.slow
def test_loading_modules_does_not_load_their_validation() -> None:
    """A session pays for the few checks that the loader makes, and for nothing more."""
    code = (
        "import sys, amplifier_core.loader, amplifier_core.validation\n"
        "print(sorted(name for name in sys.modules if name.startswith('amplifier_core.validation.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "['amplifier_core.validation.base']"


@pytest.mark.slow
def test_validation_and_loader_need_no_pytest() -> None:
    """Users of the kernel do not have the test runner installed."""
    imports = "from amplifier_core.validation import *; import amplifier_core.loader"
    code = f"import sys; sys.modules['pytest'] = None; {imports}"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).stderr == b""


async def _async_function(coordinator: Any) -> None: ...


class AsyncCall:
    async def __call__(self, coordinator: Any) -> None: ...

    async def method(self, coordinator: Any) -> None: ...


class SyncCall:
    def __call__(self, coordinator: Any) -> None: ...


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (_async_function, True),
        (functools.partial(_async_function, None), True),
        (AsyncCall(), True),
        (AsyncCall().method, True),
        (AsyncMock(), True),
        (lambda coordinator: None, False),
        (SyncCall(), False),
        (MagicMock(), False),
        (len, False),
        ("text", False),
        (None, False),
    ],
)
def test_what_counts_as_async(obj: Any, expected: bool) -> None:
    """Async functions in every wrapping count; functions that are not declared async do not."""
    assert is_async_callable(obj) is expected


@pytest.mark.parametrize(
    ("module", "passed", "message"),
    [
        (SimpleNamespace(), False, "No mount() function found in module"),
        (SimpleNamespace(mount=None), False, "No mount() function found in module"),
        (SimpleNamespace(mount="x"), False, "mount is not callable"),
        (SimpleNamespace(mount=len), True, "mount() function found"),
    ],
)
def test_a_module_needs_a_callable_mount(module: Any, passed: bool, message: str) -> None:
    """Passed checks are of severity info, failed ones errors."""
    assert check_mount_exists(module) == ValidationCheck("mount_exists", passed, message, "info" if passed else "error")


@pytest.mark.parametrize(
    "mount",
    [
        lambda coordinator, config: None,
        lambda coordinator, config=None: None,
        lambda coordinator, config, extra=None: None,
        lambda *args: None,
        lambda coordinator, *rest, **more: None,
        AsyncMock(),
        dict.fromkeys,
        type,
    ],
)
def test_mount_takes_two_positional_arguments(mount: Any) -> None:
    """Every signature that can be called so is fine, and one that cannot be inspected is trusted."""
    assert check_mount_arity(mount) is None


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        (lambda: None, "mount() should have at least 2 parameters (coordinator, config), found 0"),
        (lambda coordinator: None, "mount() should have at least 2 parameters (coordinator, config), found 1"),
        (
            lambda coordinator, *, config: None,
            "mount() should be callable with 2 parameters (coordinator, config), its signature is "
            "(coordinator, *, config)",
        ),
        (
            lambda coordinator, config, more: None,
            "mount() should be callable with 2 parameters (coordinator, config), its signature is "
            "(coordinator, config, more)",
        ),
    ],
)
def test_another_mount_is_refused_with_its_signature(mount: Any, message: str) -> None:
    """The message shows what was found."""
    assert check_mount_arity(mount) == ValidationCheck("mount_signature", False, message, "error")


async def _ready_with_default(coordinator: Any, more: Any = None) -> None: ...


@pytest.mark.parametrize("module", [SimpleNamespace(), SimpleNamespace(on_session_ready=None)])
def test_on_session_ready_may_be_absent(module: Any) -> None:
    """It is optional."""
    assert check_on_session_ready(module) is None


@pytest.mark.parametrize("ready", [_async_function, _ready_with_default, AsyncCall().method])
def test_on_session_ready_takes_the_coordinator(ready: Any) -> None:
    """Further parameters with defaults do no harm."""
    assert check_on_session_ready(SimpleNamespace(on_session_ready=ready)) is None


async def _ready_without_parameter() -> None: ...


async def _ready_with_optional(coordinator: Any = None) -> None: ...


async def _ready_with_keyword(*, coordinator: Any) -> None: ...


async def _ready_with_config(coordinator: Any, config: Any) -> None: ...


@pytest.mark.parametrize(
    ("ready", "word"),
    [
        (lambda coordinator: None, "async"),
        ("text", "async"),
        (_ready_without_parameter, "coordinator"),
        (_ready_with_optional, "coordinator"),
        (_ready_with_keyword, "coordinator"),
        (_ready_with_config, "coordinator"),
    ],
)
def test_another_on_session_ready_is_an_error(ready: Any, word: str) -> None:
    """Sync ones and those that do not require exactly the coordinator fail."""
    failed = check_on_session_ready(SimpleNamespace(on_session_ready=ready))
    assert failed is not None
    assert (failed.name, failed.passed, failed.severity) == ("on_session_ready_async", False, "error")
    assert word in failed.message


def test__async_function_that_cannot_be_inspected_is_trusted() -> None:
    """No signature, no complaint."""

    class Opaque(AsyncCall):
        __signature__ = "none of your business"

    assert check_on_session_ready(SimpleNamespace(on_session_ready=Opaque())) is None


def test_a_package_is_imported_under_its_own_name_once(workshop: Any, tmp_path: Path) -> None:
    """The same file gives the same module, by folder or by text; relative and absolute imports inside it work."""
    package = workshop.package(tmp_path, "made_pkg_a", "from . import part\nimport made_pkg_a.part as same", part="x=1")
    before = list(sys.path)
    module = import_module_from_path(package)
    assert module is sys.modules["made_pkg_a"] is import_module_from_path(str(package))
    assert module.part is module.same
    assert sys.path == before


def test_a_single_file_is_imported(workshop: Any, tmp_path: Path) -> None:
    """The stem is the name; the folder of the file is importable meanwhile."""
    workshop.made |= {"made_single", "made_neighbour"}
    (tmp_path / "made_single.py").write_text("import made_neighbour")
    (tmp_path / "made_neighbour.py").write_text("x = 2")
    assert import_module_from_path(tmp_path / "made_single.py").made_neighbour.x == 2


def test_a_package_written_a_moment_ago_is_found(workshop: Any, tmp_path: Path) -> None:
    """The import system's cached listing of the folder does not hide it."""
    import_module_from_path(workshop.package(tmp_path, "made_first"))
    for number in range(5):
        assert import_module_from_path(workshop.package(tmp_path, f"made_next_{number}"))


def test_the_position_on_the_path_is_restored(workshop: Any, tmp_path: Path) -> None:
    """A folder that is on the path already is first for the import only."""
    shadow = workshop.package(tmp_path / "1", "made_shadowed", "where = 1")
    package = workshop.package(tmp_path / "2", "made_shadowed", "where = 2")
    workshop.on_path(package.parent)
    workshop.on_path(shadow.parent)
    before = list(sys.path)
    assert import_module_from_path(package).where == 2
    assert sys.path == before


def test_a_name_that_is_loaded_from_elsewhere_is_refused(workshop: Any, tmp_path: Path) -> None:
    """Two packages of one name cannot both be loaded; the message names both files."""
    first = workshop.package(tmp_path / "1", "made_twice")
    second = workshop.package(tmp_path / "2", "made_twice")
    import_module_from_path(first)
    with pytest.raises(ImportError) as caught:
        import_module_from_path(second)
    assert str(caught.value) == (
        f"Refusing to import 'made_twice' from {second / '__init__.py'}: it is already loaded from "
        f"{first / '__init__.py'}, and a process can hold only one package of a name. "
        "Use one source for it, or rename one of the packages."
    )


def test_the_same_file_behind_a_link_is_the_same_module(workshop: Any, tmp_path: Path) -> None:
    """Files are compared, not their spelling."""
    package = workshop.package(tmp_path / "real", "made_linked")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert import_module_from_path(package) is import_module_from_path(tmp_path / "link" / "made_linked")


def test_a_leftover_submodule_from_elsewhere_is_refused(workshop: Any, tmp_path: Path) -> None:
    """A package must not be put together from two places."""
    old = workshop.package(tmp_path / "old", "made_mixed", "from . import part", part="x = 1")
    new = workshop.package(tmp_path / "new", "made_mixed", "from . import part", part="x = 2")
    import_module_from_path(old)
    del sys.modules["made_mixed"]
    with pytest.raises(ImportError, match=r"^Refusing to import 'made_mixed' from .*'made_mixed\.part' is already"):
        import_module_from_path(new)
    assert import_module_from_path(old).part.x == 1


def test_leftovers_without_a_file_do_no_harm(workshop: Any, tmp_path: Path) -> None:
    """Only submodules that come from a file elsewhere are in the way."""
    workshop.made.add("made_ghost")
    sys.modules["made_ghost.part"] = ModuleType("made_ghost.part")
    sys.modules["made_ghostly"] = ModuleType("made_ghostly")
    workshop.made.add("made_ghostly")
    assert import_module_from_path(workshop.package(tmp_path, "made_ghost"))


@pytest.mark.parametrize("name", ["sys", "json"])
def test_a_package_cannot_take_the_name_of_the_standard_library(workshop: Any, tmp_path: Path, name: str) -> None:
    """Also not of what has no file at all."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    with pytest.raises(ImportError, match=rf"^Refusing to import '{name}' from "):
        import_module_from_path(tmp_path / name)


@pytest.mark.parametrize("name", ["missing", "empty", "missing.py"])
def test_a_path_without_python_is_an_import_error(tmp_path: Path, name: str) -> None:
    """The message says what was expected there."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportError, match=r"expected a folder with __init__\.py, or a \.py file"):
        import_module_from_path(tmp_path / name)


def test_a_name_with_a_dot_is_an_import_error(workshop: Any, tmp_path: Path) -> None:
    """Python would look for a package inside a package."""
    package = workshop.package(tmp_path, "tool-1.0")
    with pytest.raises(ImportError, match=r"'tool-1\.0' has a dot"):
        import_module_from_path(package)


def test_a_failing_import_leaves_the_path_alone_and_can_be_repeated(workshop: Any, tmp_path: Path) -> None:
    """The error is the module's own; once repaired, the module imports."""
    package = workshop.package(tmp_path, "made_repaired", "1 / 0")
    before = list(sys.path)
    with pytest.raises(ZeroDivisionError):
        import_module_from_path(package)
    assert sys.path == before
    (package / "__init__.py").write_text("x = 'repaired'")
    assert import_module_from_path(package).x == "repaired"


def test_a_second_thread_waits_for_an_import_in_progress(workshop: Any, tmp_path: Path) -> None:
    """Nobody gets a module that is still being executed."""
    source = "import made_gate\nmade_gate.started.set()\nassert made_gate.go.wait(30)\nready = True"
    package = workshop.package(tmp_path, "made_slow", source)
    workshop.made.add("made_gate")
    gate: Any = ModuleType("made_gate")
    gate.started, gate.go = threading.Event(), threading.Event()
    sys.modules["made_gate"] = gate
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: seen.append(import_module_from_path(package).ready)) for _ in range(2)]
    threads[0].start()
    assert gate.started.wait(30)
    threads[1].start()
    gate.go.set()
    for thread in threads:
        thread.join(30)
    assert seen == [True, True]

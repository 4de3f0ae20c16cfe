"""The layout of the repository: every file has its place, versions and pins agree, no machine shows through."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "core/src/amplifier_core"
DISTRIBUTIONS = ("core", "modules", "app", "kit")
LOCKS = ("build", "dev", "kernel-test", "runtime")

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef

KERNEL_THIRD_PARTIES = {"pydantic", "typing_extensions"}
# What is needed only by those who use that part: authors who test with pytest, and the command.
OPTIONAL_THIRD_PARTIES = {
    "pytest": ("pytest_plugin.py", "validation/behavioral/", "validation/structural/"),
    "pytest_asyncio": ("pytest_plugin.py",),
    "click": ("cli.py", "_commands.py"),
}
KERNEL_TEST_PACKAGES = {"pydantic", "typing-extensions", "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout"}
# What a distribution may not import. import-linter checks the same by full names; this holds for modules yet to come.
FORBIDDEN_IMPORTS = {
    "core": r"amplifier(\.|$)|amplifier_mod|amplifier_kit",
    "modules": r"amplifier(\.|$)|amplifier_kit|amplifier_core\._",
    "app": r"amplifier_mod|amplifier_kit|amplifier_core\._",
    "kit": r"amplifier(\.|$)|amplifier_mod|amplifier_core\._",
}


def read_toml(path: str) -> dict[str, Any]:
    """The TOML file at ``path`` below the repository's root."""
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def projects() -> dict[str, dict[str, Any]]:
    """The ``[project]`` table of each distribution."""
    return {folder: read_toml(f"{folder}/pyproject.toml")["project"] for folder in DISTRIBUTIONS}


def shipped_files(*folders: str) -> list[Path]:
    """The Python files of the named distributions, all by default."""
    return sorted(file for folder in folders or DISTRIBUTIONS for file in (ROOT / folder / "src").rglob("*.py"))


def imported_names(file: Path) -> Iterator[str]:
    """Every dotted name that ``file`` imports, also inside functions and for type checkers only."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Path and text of every file that is, or could be, committed."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no git checkout, so it cannot be told which files belong to it")
    for name in names:
        if (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8", errors="replace")


@cache
def all_tests() -> list[tuple[str, AnyFunction]]:
    """Every test function of the repository, with the place it stands."""
    return [
        (f"{file.relative_to(ROOT)}: {node.name}", node)
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, AnyFunction) and node.name.startswith("test_")
    ]


def can_fail(node: ast.AST) -> bool:
    """Whether a part of a test is a claim: an assertion, or the name of a function that makes one."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return isinstance(node, ast.Assert) or re.search(r"raises|warns|check_|^match|expect|^fail$", name) is not None


def requirement_name(requirement: str) -> str:
    """The name in a requirement such as ``pydantic>=2.7``, in its normal form."""
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


def names_in(requirements: str) -> set[str]:
    """The packages that a ``.in`` file names itself."""
    lines = (ROOT / "requirements" / requirements).read_text(encoding="utf-8").splitlines()
    return {requirement_name(line) for line in lines if line.strip() and not line.startswith(("#", "-"))}


def locked(name: str) -> dict[str, str]:
    """Package and version of each entry of a lock file."""
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", text, flags=re.MULTILINE))


def test_every_room_of_the_kernel_has_a_layer() -> None:
    """The layer list of import-linter and the files of the kernel name the same rooms, each once."""
    contracts = read_toml("pyproject.toml")["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["amplifier_core"])
    placed = [room.strip() for layer in layers for room in re.split(r"[|:]", layer)]
    rooms = {path.stem for path in KERNEL.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert {"not placed": rooms - {"__init__", *placed}, "not there": set(placed) - rooms} == {
        "not placed": set(),
        "not there": set(),
    }
    assert len(placed) == len(set(placed))


def test_every_shipped_file_says_what_it_is_for() -> None:
    """Each Python file, private ones as well, opens with a docstring."""
    silent = [file for file in shipped_files() if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))]
    assert silent == []


def test_the_kernel_uses_pydantic_and_the_standard_library_only() -> None:
    """No other third party is imported by the kernel, not even inside a function."""
    allowed = sys.stdlib_module_names | KERNEL_THIRD_PARTIES | {"amplifier_core"}
    strangers = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in shipped_files("core")
        for name in imported_names(file)
        if (top := name.partition(".")[0]) not in allowed
        and not str(file.relative_to(KERNEL)).startswith(OPTIONAL_THIRD_PARTIES.get(top, ("/",)))
    }
    assert strangers == set()


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_a_distribution_does_not_import_what_it_must_not_know(folder: str) -> None:
    """The kernel knows nobody; modules, application and kit know its public names, and not each other."""
    forbidden = re.compile(FORBIDDEN_IMPORTS[folder])
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in shipped_files(folder)
        for name in imported_names(file)
        if forbidden.match(name)
    }
    assert found == set()


def test_the_distributions_have_one_version() -> None:
    """Versions agree, and pins between them are exact: the public registry has a kernel of the same name."""
    versions = {project["version"] for project in projects().values()}
    assert len(versions) == 1
    pins = {
        requirement
        for project in projects().values()
        for requirement in project["dependencies"]
        if requirement_name(requirement).startswith("amplifier")
    }
    version = versions.pop()
    assert {re.sub(r"\[.*\]", "", pin) for pin in pins} == {
        f"amplifier-core=={version}",
        f"amplifier-modules=={version}",
    }


def test_the_runtime_lock_covers_what_the_distributions_need() -> None:
    """Every third party a distribution requires is locked for the environment in which its wheel is tried.

    The application wants the modules with all their extras.
    """
    tables = projects()
    wanted = {folder: set(project["dependencies"]) for folder, project in tables.items()}
    wanted["modules"] |= {each for extra in tables["modules"]["optional-dependencies"].values() for each in extra}
    own = {"amplifier-core", "amplifier-modules"}
    needed = {folder: {requirement_name(text) for text in texts} - own for folder, texts in wanted.items()}
    for_authors = needed.pop("kit")
    assert set().union(*needed.values()) == names_in("runtime.in")
    assert for_authors <= names_in("kernel-test.in")


def test_the_kernel_environment_holds_the_kernel_and_the_test_runner_only() -> None:
    """What would let the kernel lean on something above it is not installed where its tests run alone."""
    assert names_in("kernel-test.in") == KERNEL_TEST_PACKAGES


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_each_package_with_hashes(name: str) -> None:
    """Every requirement is exact and hash-checked, and nothing says where to fetch it."""
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert entries != []
    assert [line for line in entries if not re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)] == []


def test_the_locks_agree() -> None:
    """A package has the same version wherever it is locked, and an input is never left out of its lock."""
    development = locked("dev")
    for name in LOCKS:
        assert locked(name).items() <= development.items()
        assert names_in(f"{name}.in") <= locked(name).keys()


def test_no_registry_host_and_no_path_of_one_machine_is_named() -> None:
    """The repository works anywhere: packages are fetched by name, and paths are relative."""
    hosts = re.compile(r"(pypi|pythonhosted|npmjs|debian)\.org")
    paths = re.compile(r"(^|[^a-zA-Z0-9_./-])/(work|root|farm)/", flags=re.MULTILINE)
    found = [
        f"{name}: {match.group()}"
        for name, text in tracked_texts()
        for pattern in (hosts, paths)
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_every_test_can_fail() -> None:
    """A test function contains something that can fail it."""
    assert [place for place, test in all_tests() if not any(map(can_fail, ast.walk(test)))] == []


def test_every_test_says_its_behaviour() -> None:
    """A test function has a docstring."""
    assert [place for place, test in all_tests() if not ast.get_docstring(test)] == []


def test_the_ci_runs_make_test() -> None:
    """What the CI calls is what a developer calls."""
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.findall(r"^(?:exec )?make .*$", script, flags=re.MULTILINE) == ["exec make test"]

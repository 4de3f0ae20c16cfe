"""The pytest plug-in for module authors: finds the module a test run is about, mounts it for each test, offers fakes.

It is loaded by every test run of an environment that has the kernel. So it imports nothing of the kernel until a
fixture is used, and works, until then, without pytest-asyncio.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from amplifier_core.testing import EventRecorder, MockContextManager, MockCoordinator, MockProvider, MockTool

_FOLDER_PREFIX = "amplifier-module-"
_PACKAGE_PREFIX = "amplifier_module_"
_SUITES = "amplifier_core/validation/behavioral"
_KIND_OF_WORD = {"hooks": "hook", "loop": "orchestrator"}
_KINDS = ("provider", "tool", "hook", "orchestrator", "context")
_TYPE_DECLARATION = re.compile(r"""^__amplifier_module_type__\s*(?::.*)?=\s*["'](\w+)["']""", re.MULTILINE)


class AmplifierModulePlugin:
    """The module that a test run is about, as folders and names tell it; found when it is first asked for."""

    def __init__(self) -> None:
        self.module_path: Path | None = None
        """The folder of its package."""
        self.module_type: str | None = None
        """Its kind: provider, tool, hook, orchestrator, context, or whatever else its name says."""
        self._detected_for: pytest.Config | None = None

    def detect(self, config: pytest.Config) -> None:
        """Looks for a module in the working directory, the root directory and the paths of the command line.

        A second time for the same run it does nothing.
        """
        if self._detected_for is config:
            return
        self._detected_for = config
        found = (_find_module(folder) for folder in dict.fromkeys(_folders_of(config)))
        self.module_path, self.module_type = next(filter(None, found), (None, None))


_plugin = AmplifierModulePlugin()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--module-path``."""
    parser.getgroup("amplifier", "tests of Amplifier modules").addoption(
        "--module-path",
        metavar="PATH",
        default=None,
        help="the package of the module under test; without it, it is found by the names of folders",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker and the fixtures that mount."""
    config.addinivalue_line("markers", "module_validation: checks that an Amplifier module keeps its contract")
    async_fixture = _async_fixture(config)
    if async_fixture is None:
        # The suites carry this marker: under --strict-markers they could not even be imported.
        config.addinivalue_line("markers", "asyncio: an async test; needs pytest-asyncio to run")
    config.pluginmanager.register(_mounting_fixtures(async_fixture), "amplifier_module_fixtures")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips those of the kernel's own suites that have no module to test, or one of another kind."""
    suites = [item for item in items if _SUITES in item.path.as_posix()]
    if not suites:
        return
    path, kind = _module_of_run(config)
    for item in suites:
        if path is None:
            if "module_path" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="Not running in Amplifier module context"))
        elif kind is not None and item.path.stem != f"test_{kind}":
            item.add_marker(pytest.mark.skip(reason=f"Test for different module type (detected: {kind})"))


@pytest.fixture
def module_path(request: pytest.FixtureRequest) -> Path | None:
    """The package of the module under test: as ``--module-path`` says, else found by names; ``None`` if there is none.

    Names: the package in the folder ``amplifier-module-…`` around the test file, else what the run was found to be
    about.
    """
    folder = None if request.config.getoption("module_path") else _module_folder_around(request.path)
    beside = next(_packages_in(folder, "amplifier_"), None) if folder else None
    return beside or _module_of_run(request.config)[0]


@pytest.fixture
def module_type(request: pytest.FixtureRequest) -> str | None:
    """The kind of the module under test, as its folder's name says; ``None`` if that is unknown."""
    folder = None if request.config.getoption("module_path") else _module_folder_around(request.path)
    if folder is None:
        return _module_of_run(request.config)[1]
    kind = _kind_in_name(folder.name, _FOLDER_PREFIX, "-")
    return kind if kind in _KINDS else None


@pytest.fixture
def is_module_context(module_path: Path | None) -> bool:
    """Whether there is a module to test."""
    return module_path is not None


@pytest.fixture
def coordinator() -> MockCoordinator:
    """A new coordinator that remembers what is mounted on it."""
    from amplifier_core.testing import MockCoordinator

    return MockCoordinator()


@pytest.fixture
def mock_deps() -> tuple[MockContextManager, dict[str, MockProvider], dict[str, MockTool], EventRecorder]:
    """What an orchestrator works with, as fakes: context, providers (``default``), tools (``test_tool``) and hooks."""
    from amplifier_core.testing import EventRecorder, MockContextManager, MockProvider, MockTool

    provider = MockProvider(["Test response"], name="default")
    return MockContextManager(), {"default": provider}, {"test_tool": MockTool("test_tool")}, EventRecorder()


@pytest.fixture
def amplifier_module_config() -> dict[str, Any]:
    """The config with which the module under test is mounted: empty, unless its author overrides this fixture."""
    return {}


async def provider_module(
    module_path: Path | None, coordinator: MockCoordinator, amplifier_module_config: dict[str, Any]
) -> AsyncGenerator[Any]:
    """The first provider that the module under test mounts."""
    async with _mounted("provider", module_path, coordinator, amplifier_module_config) as provider:
        yield provider


async def tool_module(
    module_path: Path | None, coordinator: MockCoordinator, amplifier_module_config: dict[str, Any]
) -> AsyncGenerator[Any]:
    """The first tool that the module under test mounts."""
    async with _mounted("tool", module_path, coordinator, amplifier_module_config) as tool:
        yield tool


async def orchestrator_module(
    module_path: Path | None, coordinator: MockCoordinator, amplifier_module_config: dict[str, Any]
) -> AsyncGenerator[Any]:
    """The orchestrator that the module under test mounts."""
    async with _mounted("orchestrator", module_path, coordinator, amplifier_module_config) as orchestrator:
        yield orchestrator


async def context_module(
    module_path: Path | None, coordinator: MockCoordinator, amplifier_module_config: dict[str, Any]
) -> AsyncGenerator[Any]:
    """The context manager that the module under test mounts."""
    async with _mounted("context", module_path, coordinator, amplifier_module_config) as context:
        yield context


async def hook_cleanup(
    module_path: Path | None, coordinator: MockCoordinator, amplifier_module_config: dict[str, Any]
) -> AsyncGenerator[Callable[[], Any] | None]:
    """The clean-up function that the hook module under test returns, or ``None``; its handlers are registered."""
    async with _mounted("hook", module_path, coordinator, amplifier_module_config) as cleanup:
        yield cleanup


_MOUNTING = (provider_module, tool_module, orchestrator_module, context_module, hook_cleanup)


def _async_fixture(config: pytest.Config) -> Callable[..., Any] | None:
    """The decorator for async fixtures of pytest-asyncio, if this run has it; never imports it."""
    module = sys.modules.get("pytest_asyncio.plugin")
    has_it = module is not None and config.pluginmanager.is_registered(module)
    return getattr(module, "fixture", None) if has_it else None


def _mounting_fixtures(async_fixture: Callable[..., Any] | None) -> ModuleType:
    """The fixtures that mount, as a plug-in of their own: they are declared with what pytest-asyncio brings.

    Only so do they work in both of its modes. Without it, each says what it needs when it is used.
    """
    plugin = ModuleType("amplifier_module_fixtures")
    for function in _MOUNTING:
        name = function.__name__
        declared = pytest.fixture(_stand_in(name)) if async_fixture is None else async_fixture(function)
        setattr(plugin, name, declared)
    return plugin


def _stand_in(name: str) -> Callable[[], None]:
    def stand_in() -> None:
        pytest.fail(
            f"The fixture '{name}' is async and needs pytest-asyncio, which is not installed or switched off. "
            "Install pytest-asyncio.",
            pytrace=False,
        )

    stand_in.__name__ = name
    return stand_in


@asynccontextmanager
async def _mounted(
    kind: str, module_path: Path | str | None, coordinator: MockCoordinator, config: dict[str, Any]
) -> AsyncGenerator[Any]:
    if module_path is None:
        pytest.skip(
            "No module to test: run inside the folder 'amplifier-module-…' of one, or name it with --module-path"
        )
    from amplifier_core._module_under_test import UntestableModuleError, mounted_for_test

    with _failing_on(UntestableModuleError):
        async with mounted_for_test(Path(module_path), kind, coordinator, config) as mounted:
            yield mounted


@contextmanager
def _failing_on(error_type: type[Exception]) -> Generator[None]:
    try:
        yield
    except error_type as error:
        pytest.fail(str(error), pytrace=False)


def _module_of_run(config: pytest.Config) -> tuple[Path | None, str | None]:
    """Package and kind of the module that ``--module-path`` names, else of the one that was found."""
    given = config.getoption("module_path")
    if not given:
        _plugin.detect(config)
        return _plugin.module_path, _plugin.module_type
    path = config.invocation_params.dir / given
    is_repository = path.is_dir() and not (path / "__init__.py").is_file()
    return (_find_module(path) if is_repository else None) or (path, _kind_of_package(path))


def _folders_of(config: pytest.Config) -> Iterator[Path]:
    yield config.invocation_params.dir
    yield config.rootpath
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.exists():
            yield path.parent if path.is_file() else path


def _find_module(folder: Path) -> tuple[Path, str | None] | None:
    """Package and kind of the module to which ``folder`` belongs, or which it holds."""
    for around in (folder, *folder.parents):
        word = _type_word(around.name, _FOLDER_PREFIX, "-")
        package = next(_packages_in(around, f"{_PACKAGE_PREFIX}{word}_"), None) if word else None
        if package is not None:
            return package, _kind_of_package(package)
    package = next(_packages_in(folder, _PACKAGE_PREFIX), None) or _registered_package(folder)
    return None if package is None else (package, _kind_of_package(package))


def _registered_package(folder: Path) -> Path | None:
    """The package that ``pyproject.toml`` registers as a module, whatever it is called."""
    try:
        is_module = b"amplifier.modules" in (folder / "pyproject.toml").read_bytes()
    except OSError:
        return None
    if not is_module:
        return None
    from amplifier_core._discovery import find_package_dir

    return find_package_dir(folder.name, folder)


def _packages_in(folder: Path, prefix: str) -> Iterator[Path]:
    """Packages of that prefix in ``folder`` and in its ``src``, by name."""
    for root in (folder, folder / "src"):
        try:
            with os.scandir(root) as entries:
                names = sorted(entry.name for entry in entries if entry.name.startswith(prefix))
        except OSError:
            continue
        yield from (root / name for name in names if (root / name / "__init__.py").is_file())


def _module_folder_around(file: Path) -> Path | None:
    return next((folder for folder in file.parents if folder.name.startswith(_FOLDER_PREFIX)), None)


def _kind_of_package(package: Path) -> str | None:
    """The kind that the package's name says, else the one it declares, else the one its repository's name suggests."""
    kind = _kind_in_name(package.name, _PACKAGE_PREFIX, "_")
    if kind is not None:
        return kind
    source = package / "__init__.py" if package.is_dir() else package
    try:
        declared = _TYPE_DECLARATION.search(source.read_text("utf-8", errors="replace"))
    except OSError:
        return None
    if declared is not None:
        return declared.group(1)
    from amplifier_core._discovery import guess_from_naming

    return guess_from_naming(package.name)[0]


def _kind_in_name(name: str, prefix: str, separator: str) -> str | None:
    word = _type_word(name, prefix, separator)
    return _KIND_OF_WORD.get(word, word) if word else None


def _type_word(name: str, prefix: str, separator: str) -> str | None:
    return name.removeprefix(prefix).partition(separator)[0] if name.startswith(prefix) else None

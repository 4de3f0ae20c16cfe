"""The module loader without a resolver: entry points, search paths, installed packages; caching and clean-up."""

from __future__ import annotations

import importlib.metadata
import inspect
import logging
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from amplifier_core import loader as loader_module
from amplifier_core.loader import (
    TYPE_TO_MOUNT_POINT,
    AmplifierModuleLoader,
    ModuleLoader,
    ModuleLoadError,
    ModuleNotFoundError,
)

GROUP = "amplifier.modules"
MOUNT = "async def mount(coordinator, config):\n    coordinator.mounted.append(config)\n"
LOGGER = "amplifier_core.loader"


class Coordinator(SimpleNamespace):
    """Just enough of a coordinator: nothing mounted, and a list that test modules mount into."""

    def __init__(self) -> None:
        super().__init__(mounted=[])

    def get(self, point: str) -> None:
        raise ValueError(f"Unknown mount point: {point}")


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The groups that were read from the installed distributions, in order."""
    groups: list[str] = []
    read = importlib.metadata.entry_points

    def counted(*, group: str) -> Any:
        groups.append(group)
        return read(group=group)

    monkeypatch.setattr(importlib.metadata, "entry_points", counted)
    return groups


def install(workshop: Any, source: str = MOUNT, target: str = "mount") -> str:
    """Installs a distribution with one module under a new id."""
    module_id = workshop.new_id()
    package = f"pkg_{module_id.replace('-', '_')}"
    site = workshop.installed(GROUP, {module_id: f"{package}:{target}" if target else package})
    workshop.package(site, package, source)
    return module_id


async def mounted(mount: Any) -> list[Any]:
    """What a mount function leaves behind in a fresh coordinator."""
    coordinator = Coordinator()
    await mount(coordinator)
    return coordinator.mounted


def test_the_public_names() -> None:
    """Old and new names of the loader are one class; the table of kinds is offered here."""
    assert AmplifierModuleLoader is ModuleLoader
    assert TYPE_TO_MOUNT_POINT["resolver"] == "module-source-resolver"
    assert all(hasattr(loader_module, name) for name in loader_module.__all__)


def test_a_loader_knows_its_coordinator_under_both_names() -> None:
    """``coordinator`` is the attribute; the older private name follows it."""
    first, second = object(), object()
    loader: Any = ModuleLoader(first)
    assert loader.coordinator is loader._coordinator is first
    loader._coordinator = second
    assert loader.coordinator is second
    assert ModuleLoader().coordinator is None


def test_a_mock_of_the_loader_has_every_method() -> None:
    """Initialisation is tested with such mocks."""
    mock = MagicMock(spec=ModuleLoader)
    for name in (
        "load",
        "discover",
        "initialize",
        "cleanup",
        "get_on_session_ready_queue",
        "enqueue_on_session_ready",
        "clear_on_session_ready_queue",
        "for_coordinator",
        "_load_filesystem",
        "_load_entry_point",
        "_load_direct",
        "_find_package_dir",
        "_validate_module",
        "_guess_from_naming",
    ):
        assert callable(getattr(mock, name))


def test_private_helpers_that_others_call(workshop: Any) -> None:
    """Finding the package of a folder and guessing a kind are reachable on the loader."""
    loader: Any = ModuleLoader()
    module_id, folder = workshop.module()
    assert loader._find_package_dir(module_id, str(folder)) == folder / workshop.package_name(module_id)
    assert loader._guess_from_naming("hooks-x") == ("hook", "hooks")


async def test_an_installed_module_is_loaded_by_its_entry_point(
    workshop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The config reaches ``mount`` as the very dict that was given."""
    caplog.set_level(logging.INFO, LOGGER)
    module_id = install(workshop)
    config = {"a": 1}
    (got,) = await mounted(await ModuleLoader().load(module_id, config))
    assert got is config
    messages = [(record.levelname, record.getMessage()) for record in caplog.records]
    value = f"pkg_{module_id.replace('-', '_')}:mount"
    assert messages == [
        ("INFO", f"[module:validated] {module_id} - PASSED: 2/2 checks passed (0 errors, 0 warnings)"),
        ("INFO", f"[module:loaded] {module_id} from entry point {value}"),
    ]


@pytest.mark.parametrize("config", [None, {}])
async def test_without_config_mount_gets_an_empty_dict(workshop: Any, config: Any) -> None:
    """Never ``None``."""
    assert await mounted(await ModuleLoader().load(install(workshop), config)) == [{}]


async def test_an_entry_point_may_name_a_module_or_another_function(workshop: Any) -> None:
    """The package itself, whose ``mount`` is taken, or any function."""
    assert await mounted(await ModuleLoader().load(install(workshop, target=""))) == [{}]
    other = "async def set_up(coordinator, config):\n    coordinator.mounted.append('set up')\n"
    assert await mounted(await ModuleLoader().load(install(workshop, other, "set_up"))) == ["set up"]


async def test_every_load_gives_a_fresh_function_around_one_cached_mount(workshop: Any, readings: list[str]) -> None:
    """Each closure has its own config; the entry point is resolved once per id."""
    module_id = install(workshop)
    loader: Any = ModuleLoader()
    first = await loader.load(module_id, {"n": 1})
    second = await loader.load(module_id, {"n": 2})
    assert first is not second
    assert (await mounted(first), await mounted(second)) == ([{"n": 1}], [{"n": 2}])
    package = sys.modules[f"pkg_{module_id.replace('-', '_')}"]
    assert loader._loaded_modules == {module_id: package.mount}
    assert readings == [GROUP]


async def test_a_function_put_into_the_cache_is_used() -> None:
    """Tests of applications plant mount functions there; a callback attached to one is carried over."""
    loader: Any = ModuleLoader()

    async def planted(coordinator: Any, config: Any) -> None:
        coordinator.mounted.append(config)

    async def ready(coordinator: Any) -> None: ...

    loader._loaded_modules["planted"] = planted
    mount = await loader.load("planted", {"x": 1})
    assert await mounted(mount) == [{"x": 1}]
    assert not hasattr(mount, "__on_session_ready__")
    planted.__on_session_ready__ = ("other", ready)  # type: ignore[attr-defined]
    assert (await loader.load("planted")).__on_session_ready__ == ("planted", ready)


async def test_many_modules_cost_one_reading_of_entry_points(workshop: Any, readings: list[str]) -> None:
    """Entry points are read once per loader, also when modules come from the search paths."""
    entries = {workshop.new_id(): "pkg_many:mount" for _ in range(50)}
    workshop.package(workshop.installed(GROUP, entries), "pkg_many")
    folder = workshop.root / "modules"
    others = [workshop.new_id() for _ in range(5)]
    for module_id in others:
        workshop.package(folder / f"amplifier-module-{module_id}", workshop.package_name(module_id))
    loader = ModuleLoader(search_paths=[folder])
    for module_id in [*entries, *others]:
        await loader.load(module_id)
    assert readings == [GROUP]
    loader.cleanup()


async def test_a_module_installed_meanwhile_is_found(workshop: Any, readings: list[str]) -> None:
    """A miss in an earlier reading makes the loader read once more; the first miss needs no second reading."""
    loader = ModuleLoader()
    with pytest.raises(ModuleNotFoundError):
        await loader.load("tool-not-there")
    assert readings == [GROUP]
    module_id = install(workshop)
    assert await mounted(await loader.load(module_id)) == [{}]
    assert readings == [GROUP, GROUP]


@pytest.mark.parametrize(
    ("source", "target", "cause"),
    [
        ("raise RuntimeError('at import')", "mount", "RuntimeError: at import"),
        ("raise SystemExit(3)", "mount", "SystemExit: 3"),
        ("def broken(:", "mount", "SyntaxError"),
        (MOUNT, "missing", "AttributeError"),
        (MOUNT, "in valid", "AttributeError"),
    ],
)
async def test_a_broken_entry_point_is_an_error(
    workshop: Any, caplog: pytest.LogCaptureFixture, source: str, target: str, cause: str
) -> None:
    """It is not a reason to look elsewhere: the conventional package beside it stays untouched."""
    module_id = install(workshop, source, target)
    workshop.package(workshop.root / "elsewhere", workshop.package_name(module_id))
    workshop.on_path(workshop.root / "elsewhere")
    with pytest.raises(ModuleLoadError) as caught:
        await ModuleLoader().load(module_id)
    message = str(caught.value)
    assert message.startswith(f"Module '{module_id}' is installed but failed to load: its entry point pkg_")
    assert f"raised {cause}" in message
    assert message.endswith("Repair the module, or use another version of it.")
    assert caught.value.reason_code == "invalid_entry_point"
    assert caught.value.__cause__ is not None
    (error,) = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert (error.name, error.getMessage()) == (LOGGER, f"Failed to load module '{module_id}': {message}")


async def test_a_missing_dependency_is_named(workshop: Any) -> None:
    """People must know what to install."""
    with pytest.raises(ModuleLoadError, match=r"Install what provides 'made_no_such_package'\.$"):
        await ModuleLoader().load(install(workshop, "import made_no_such_package"))


async def test_a_conventional_package_needs_no_entry_point(workshop: Any) -> None:
    """``amplifier_module_<id>`` anywhere on the import path is found by name."""
    module_id = workshop.new_id()
    workshop.package(workshop.root / "lib", workshop.package_name(module_id))
    workshop.on_path(workshop.root / "lib")
    loader: Any = ModuleLoader()
    raw = loader._load_filesystem(module_id)
    assert raw is workshop.imported(module_id).mount
    assert await mounted(await loader.load(module_id)) == [{}]
    assert loader._load_filesystem("no-such-module") is None
    assert loader._load_entry_point("no-such-module") is None


async def test_a_module_that_exists_in_memory_only_is_found(workshop: Any) -> None:
    """Tests put modules into ``sys.modules`` without a file or spec."""
    module_id = workshop.new_id()
    name = workshop.package_name(module_id)
    workshop.made.add(name)

    async def mount(coordinator: Any, config: Any) -> None:
        coordinator.mounted.append("memory")

    module: Any = ModuleType(name)
    module.mount = mount
    sys.modules[name] = module
    assert await mounted(await ModuleLoader().load(module_id)) == ["memory"]


async def test_a_conventional_package_that_does_not_import_is_an_error(workshop: Any) -> None:
    """It is there, so it is not "not found"."""
    module_id = workshop.new_id()
    workshop.package(workshop.root / "lib", workshop.package_name(module_id), "1 / 0")
    workshop.on_path(workshop.root / "lib")
    with pytest.raises(ModuleLoadError) as caught:
        await ModuleLoader().load(module_id)
    assert str(caught.value) == (
        f"Module '{module_id}' is installed but failed to load: importing {workshop.package_name(module_id)} raised "
        "ZeroDivisionError: division by zero. Repair the module, or use another version of it."
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("by_environment", [True, False])
async def test_modules_in_search_paths_are_loaded(
    workshop: Any, monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    """Given search paths, or those of ``AMPLIFIER_MODULES``; the first folder that has the module wins."""
    module_id = workshop.new_id()
    first, second = workshop.root / "1", workshop.root / "2"
    for folder, word in ((first, "first"), (second, "second")):
        source = f"async def mount(coordinator, config):\n    coordinator.mounted.append({word!r})\n"
        workshop.package(folder / f"amplifier-module-{module_id}", workshop.package_name(module_id), source)
    if by_environment:
        monkeypatch.setenv("AMPLIFIER_MODULES", os.pathsep.join(map(str, (workshop.root / "0", first, second))))
    loader = ModuleLoader(search_paths=None if by_environment else [first, second])
    assert await mounted(await loader.load(module_id)) == ["first"]
    assert str(first / f"amplifier-module-{module_id}") in sys.path
    loader.cleanup()


async def test_a_broken_module_in_a_search_path_is_an_error(workshop: Any) -> None:
    """A folder of the right name without a package is a fault, not a miss."""
    folder = workshop.root / "amplifier-module-tool-hollow"
    folder.mkdir()
    with pytest.raises(ModuleLoadError, match=r"^Module 'tool-hollow' has no valid Python package at ") as caught:
        await ModuleLoader(search_paths=[workshop.root]).load("tool-hollow")
    assert caught.value.reason_code == "invalid_package_layout"


async def test_nobody_knows_the_module(workshop: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The error tells every place that was tried, in order, and what to do."""
    near = install(workshop)
    folder, missing = workshop.root / "here", workshop.root / "gone"
    folder.mkdir()
    unknown = near + "x"
    with pytest.raises(ModuleNotFoundError) as caught:
        await ModuleLoader(search_paths=[folder, missing]).load(unknown)
    tried = (
        f"entry point '{unknown}' in group '{GROUP}'",
        f"{folder / ('amplifier-module-' + unknown)}",
        f"{missing / ('amplifier-module-' + unknown)} (no such search path)",
        f"import of {workshop.package_name(unknown)}",
    )
    assert caught.value.tried == tried
    assert str(caught.value) == (
        f"Module '{unknown}' not found via entry points or filesystem. Tried: {'; '.join(tried)}. "
        f"Did you mean '{near}'? Install the package that provides it, add the folder that holds "
        f"amplifier-module-{unknown} to AMPLIFIER_MODULES, or mount a module-source-resolver."
    )
    assert isinstance(caught.value, ValueError)
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [
        f"Failed to load module '{unknown}': {caught.value}"
    ]


async def test_unreadable_entry_points_are_part_of_the_story(workshop: Any) -> None:
    """A damaged distribution is named as a possible cause."""
    (damaged,) = workshop.installed(GROUP, {"a": "b:c"}).glob("*.dist-info/entry_points.txt")
    damaged.write_bytes(b"[\xff]\n")
    with pytest.raises(ModuleNotFoundError, match=r"group 'amplifier\.modules' \(unreadable: UnicodeDecodeError"):
        await ModuleLoader().load("tool-x")


@pytest.mark.parametrize("module_id", ["../x", "a/b", "a.b", "x y", "a\0b", "x" * 10_000])
async def test_an_odd_id_is_not_found_and_breaks_nothing(workshop: Any, module_id: str) -> None:
    """Ids are never taken for paths or dotted names."""
    with pytest.raises(ModuleNotFoundError, match="not found via entry points or filesystem"):
        await ModuleLoader(search_paths=[workshop.root]).load(module_id)


@pytest.mark.parametrize("module_id", [None, 3, "", "  ", b"tool", ["tool-x"]])
async def test_an_id_must_be_text(module_id: Any) -> None:
    """The message shows what was given."""
    with pytest.raises(ModuleLoadError, match="module id must be a non-empty string") as caught:
        await ModuleLoader().load(module_id)
    assert repr(module_id) in str(caught.value)


@pytest.mark.parametrize("config", [3, "text", [], ["x"], (), object()])
async def test_a_config_must_be_a_dict(config: Any) -> None:
    """It is refused before anything is looked up, by type: the value may be a secret."""
    with pytest.raises(ModuleLoadError) as caught:
        await ModuleLoader().load("tool-x", config)
    assert str(caught.value) == (
        f"Module 'tool-x' was given a config of type {type(config).__name__}; expected a dict (or nothing). "
        "Correct the 'config' of 'tool-x' in the mount plan."
    )


def test_the_signature_of_load() -> None:
    """Positional order and keywords that callers use."""
    assert list(inspect.signature(ModuleLoader.load).parameters) == [
        "self",
        "module_id",
        "config",
        "source_hint",
        "coordinator",
        "profile_source",
    ]


async def test_discover_lists_installed_and_searched_modules(workshop: Any, readings: list[str]) -> None:
    """A second call sees what was installed since."""
    loader: Any = ModuleLoader(search_paths=workshop.root / "modules")
    (workshop.root / "modules" / "amplifier-module-context-a").mkdir(parents=True)
    first = install(workshop)
    found = {info.id: info.type for info in await loader.discover()}
    assert found.items() >= {first: "tool", "context-a": "context"}.items()
    second = install(workshop)
    assert second in {info.id for info in await loader.discover()}
    assert set(loader._module_info) >= {first, second, "context-a"}
    assert readings == [GROUP, GROUP]


async def test_initialize_calls_the_mount_function(caplog: pytest.LogCaptureFixture) -> None:
    """What it returns is given back; what it raises is logged and raised."""

    async def good(coordinator: Any) -> str:
        return f"cleanup of {coordinator}"

    async def bad(coordinator: Any) -> None:
        raise RuntimeError("no")

    loader = ModuleLoader()
    assert await loader.initialize(good, "c") == "cleanup of c"
    with pytest.raises(RuntimeError, match="no"):
        await loader.initialize(bad, "c")
    assert [record.getMessage() for record in caplog.records] == ["Failed to initialize module: no"]


async def test_the_queue_of_ready_callbacks() -> None:
    """Callbacks keep their order; the answer is a copy; loading never enqueues."""

    async def ready(coordinator: Any) -> None: ...

    loader: Any = ModuleLoader()
    assert loader.get_on_session_ready_queue() == []
    loader.enqueue_on_session_ready("a", ready)
    loader.enqueue_on_session_ready("b", ready)
    loader.get_on_session_ready_queue().clear()
    assert loader.get_on_session_ready_queue() == loader._on_session_ready_queue == [("a", ready), ("b", ready)]
    loader.clear_on_session_ready_queue()
    assert loader.get_on_session_ready_queue() == []


async def test_a_loader_for_another_coordinator_shares_search_paths_only(workshop: Any) -> None:
    """Child sessions load with a loader of their own; a subclass stays itself."""

    class Own(ModuleLoader):
        pass

    module_id = workshop.new_id()
    workshop.package(workshop.root / f"amplifier-module-{module_id}", workshop.package_name(module_id))
    parent: Any = Own(coordinator=Coordinator(), search_paths=iter([workshop.root]))
    await parent.load(module_id)
    other = Coordinator()
    child: Any = parent.for_coordinator(other)
    assert (type(child), child.coordinator, child._loaded_modules) == (Own, other, {})
    await child.load(module_id)
    entry = str(workshop.root / f"amplifier-module-{module_id}")
    parent.cleanup()
    assert entry in sys.path
    child.cleanup()
    assert entry not in sys.path


def test_wrong_search_paths_are_refused_at_once() -> None:
    """Not at the first load."""
    wrong: Any = [3]
    with pytest.raises(TypeError):
        ModuleLoader(search_paths=wrong)


def test_cleaning_up_an_unused_loader_is_fine() -> None:
    """Also twice."""
    before = list(sys.path)
    loader = ModuleLoader()
    loader.cleanup()
    loader.cleanup()
    assert sys.path == before

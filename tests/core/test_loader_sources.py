"""The module loader with a mounted resolver: sources, transports, ``sys.path``, and the refusal of a second source."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from amplifier_core._transports import TRANSPORT_GROUP
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.loader import ModuleLoader, ModuleLoadError, ModuleNotFoundError, ModuleValidationError

LOGGER = "amplifier_core.loader"
TELL = "async def mount(coordinator, config):\n    coordinator.mounted.append({!r})\n"


class Resolver:
    """Answers from a table of folders, and records what it was asked."""

    def __init__(self, folders: dict[str, Path] | None = None) -> None:
        self.folders = folders or {}
        self.calls: list[tuple[str, Any]] = []

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
        self.calls.append((module_id, source_hint))
        if module_id not in self.folders:
            raise ModuleNotFoundError(f"{module_id} is not in the table")
        return self.folders[module_id]  # a Path has resolve()


class Coordinator:
    """Just enough of a coordinator: a resolver, and a list that test modules mount into."""

    def __init__(self, resolver: Any = None) -> None:
        self.resolver = resolver
        self.mounted: list[Any] = []

    def get(self, point: str) -> Any:
        assert point == "module-source-resolver"
        return self.resolver


def loader_for(*modules: tuple[str, Path]) -> Any:
    """A loader whose resolver knows these modules."""
    return ModuleLoader(Coordinator(Resolver(dict(modules))))


async def mounted(mount: Any) -> list[Any]:
    """What a mount function leaves behind in a fresh coordinator."""
    coordinator = Coordinator()
    await mount(coordinator)
    return coordinator.mounted


async def refusal(loader: ModuleLoader, module_id: str) -> ModuleLoadError:
    """The error of a load that must fail."""
    with pytest.raises(ModuleLoadError) as caught:
        await loader.load(module_id)
    return caught.value


async def test_a_resolver_mounted_on_a_real_coordinator_is_used(workshop: Any) -> None:
    """Mounted as the contracts show it: before the loader is made, without awaiting."""
    module_id, folder = workshop.module(TELL.format("source"))
    coordinator = ModuleCoordinator()
    coordinator.mount("module-source-resolver", Resolver({module_id: folder}))
    loader = ModuleLoader(coordinator)
    assert await mounted(await loader.load(module_id)) == ["source"]
    loader.cleanup()


async def test_the_hint_reaches_the_resolver_by_every_name(workshop: Any) -> None:
    """Third positional argument, ``source_hint`` and ``profile_source`` are one thing; the first of two wins."""
    module_id, folder = workshop.module()
    loader = loader_for((module_id, folder))
    await loader.load(module_id, None, "third")
    await loader.load(module_id, source_hint="hint")
    await loader.load(module_id, profile_source="profile")
    await loader.load(module_id, source_hint="hint", profile_source="profile")
    await loader.load(module_id)
    hints = [hint for _, hint in loader.coordinator.resolver.calls]
    assert hints == ["third", "hint", "profile", "hint", None]
    loader.cleanup()


async def test_the_coordinator_argument_serves_a_loader_without_one(workshop: Any) -> None:
    """A loader's own coordinator comes first."""
    module_id, folder = workshop.module(TELL.format("found"))
    asked = Coordinator(Resolver({module_id: folder}))
    free = ModuleLoader()
    assert await mounted(await free.load(module_id, coordinator=asked)) == ["found"]
    bound = ModuleLoader(Coordinator(Resolver()))
    with pytest.raises(ModuleNotFoundError, match="not in the table"):
        await bound.load(module_id, coordinator=asked)
    free.cleanup()


async def test_without_a_mounted_resolver_the_loader_searches_itself() -> None:
    """A mount point that is empty, and a coordinator that knows no such point."""

    class Ignorant:
        def get(self, point: str) -> Any:
            raise ValueError(f"Unknown mount point: {point}")

    for coordinator in (Coordinator(None), Ignorant()):
        with pytest.raises(ModuleNotFoundError, match="not found via entry points or filesystem"):
            await ModuleLoader(coordinator).load("tool-nowhere")


async def test_a_resolvers_not_found_propagates(workshop: Any, caplog: pytest.LogCaptureFixture) -> None:
    """No fallback behind its back, although the module is installed; the failure is logged."""
    module_id = workshop.new_id()
    workshop.package(workshop.root / "lib", workshop.package_name(module_id))
    workshop.on_path(workshop.root / "lib")
    with pytest.raises(ModuleNotFoundError) as caught:
        await ModuleLoader(Coordinator(Resolver())).load(module_id)
    assert str(caught.value) == f"{module_id} is not in the table"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", f"Failed to load module '{module_id}': {module_id} is not in the table")
    ]


async def test_what_a_resolver_raises_otherwise_is_logged_and_comes_out() -> None:
    """Also when its text cannot be made."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise UnicodeDecodeError("utf-8", b"\x9d", 0, 1, "no")

    class Failing:
        async def async_resolve(self, module_id: str) -> Any:
            raise MuteError

    with pytest.raises(MuteError):
        await ModuleLoader(Coordinator(Failing())).load("tool-x")


async def test_the_source_wins_over_an_entry_point(workshop: Any) -> None:
    """A resolved source is the only place looked at."""
    module_id, folder = workshop.module(TELL.format("source"))
    site = workshop.installed("amplifier.modules", {module_id: "pkg_installed_twin:mount"})
    workshop.package(site, "pkg_installed_twin", TELL.format("installed"))
    loader = loader_for((module_id, folder))
    assert await mounted(await loader.load(module_id)) == ["source"]
    loader.cleanup()


async def test_an_id_loaded_without_a_source_is_loaded_anew_by_a_resolver(workshop: Any) -> None:
    """What was cached before the resolver was mounted is not reused."""
    module_id, folder = workshop.module(TELL.format("source"))
    site = workshop.installed("amplifier.modules", {module_id: "pkg_installed_first:mount"})
    workshop.package(site, "pkg_installed_first", TELL.format("installed"))
    loader = ModuleLoader(Coordinator(None))
    assert await mounted(await loader.load(module_id)) == ["installed"]
    loader.coordinator.resolver = Resolver({module_id: folder})
    assert await mounted(await loader.load(module_id)) == ["source"]
    loader.coordinator.resolver = None
    assert await mounted(await loader.load(module_id)) == ["source"]
    loader.cleanup()


@pytest.mark.parametrize("layout", ["package itself", "below", "src", "registered"])
async def test_every_layout_of_a_source_loads(workshop: Any, layout: str) -> None:
    """The package itself, a package inside, under ``src``, or registered in ``pyproject.toml`` under another name."""
    module_id = workshop.new_id()
    name = workshop.package_name(module_id) if layout != "registered" else f"odd_{module_id.replace('-', '_')}"
    root = workshop.root / "repo"
    package = workshop.package(root / "src" if layout == "src" else root, name, TELL.format(layout))
    if layout == "registered":
        registration = f'[project.entry-points."amplifier.modules"]\n{module_id} = "{name}:mount"\n'
        (root / "pyproject.toml").write_text(registration)
    loader = loader_for((module_id, package if layout == "package itself" else root))
    assert await mounted(await loader.load(module_id)) == [layout]
    loader.cleanup()


async def test_modules_import_their_neighbours_later(workshop: Any) -> None:
    """What lies beside the package stays importable until clean-up, also under ``src``, also after a new start."""
    module_id = workshop.new_id()
    neighbour = f"neighbour_{module_id.replace('-', '_')}"
    source = (
        f"async def mount(coordinator, config):\n    import {neighbour} as n\n    coordinator.mounted.append(n.x)\n"
    )
    src = workshop.root / "repo" / "src"
    workshop.package(src, workshop.package_name(module_id), source)
    workshop.package(src, neighbour, "x = 'beside'")
    loader = loader_for((module_id, workshop.root / "repo"))
    await loader.load(module_id)
    loader.cleanup()
    assert str(src) not in sys.path
    assert await mounted(await loader.load(module_id)) == ["beside"]
    assert str(src) in sys.path
    loader.cleanup()


async def test_the_source_is_first_on_the_path_until_clean_up(workshop: Any) -> None:
    """Loading twice adds it once; cleaning up twice is fine; the rest of the path is as before."""
    module_id, folder = workshop.module()
    before = list(sys.path)
    loader = loader_for((module_id, folder))
    await loader.load(module_id)
    await loader.load(module_id)
    assert sys.path == [str(folder), *before]
    assert loader._added_paths == [str(folder)]
    loader.cleanup()
    loader.cleanup()
    assert sys.path == before


async def test_a_folder_that_was_on_the_path_stays_there(workshop: Any) -> None:
    """The loader only takes away what it added."""
    module_id, folder = workshop.module()
    workshop.on_path(folder)
    loader = loader_for((module_id, folder))
    await loader.load(module_id)
    loader.cleanup()
    assert str(folder) in sys.path


async def test_one_sessions_clean_up_does_not_break_another(workshop: Any) -> None:
    """Two loaders share a source; it leaves the path with the second."""
    module_id, folder = workshop.module()
    first, second = loader_for((module_id, folder)), loader_for((module_id, folder))
    await first.load(module_id)
    await second.load(module_id)
    first.cleanup()
    assert str(folder) in sys.path
    second.cleanup()
    assert str(folder) not in sys.path


def test_loaders_in_many_threads_share_a_source(workshop: Any) -> None:
    """Every thread has its own event loop and loader; all load the module, and the path is clean at the end."""
    import asyncio

    module_id, folder = workshop.module(TELL.format("here"))
    start = threading.Barrier(4)
    results: list[Any] = []

    async def run() -> None:
        loader = loader_for((module_id, folder))
        for _ in range(20):
            results.extend(await mounted(await loader.load(module_id)))
            loader.cleanup()

    def in_thread() -> None:
        start.wait()
        asyncio.run(run())

    threads = [threading.Thread(target=in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["here"] * 80
    assert str(folder) not in sys.path


async def test_a_second_source_for_one_id_is_refused(workshop: Any) -> None:
    """The message names both; the error is a load error and an ImportError. The first source goes on working."""
    module_id, folder = workshop.module(TELL.format("first"))
    loader = loader_for((module_id, folder))
    await loader.load(module_id)
    other = workshop.root / "other"
    loader.coordinator.resolver.folders[module_id] = other
    error = await refusal(loader, module_id)
    assert isinstance(error, ImportError)
    assert str(error) == (
        f"Refusing to load '{module_id}' from {other}: it is already loaded from {folder}. "
        "Use one source for it, or load the other one in a process of its own."
    )
    loader.coordinator.resolver.folders[module_id] = folder / ".." / folder.name
    assert await mounted(await loader.load(module_id)) == ["first"]
    loader.cleanup()


async def test_two_sessions_cannot_have_two_sources_of_one_package(workshop: Any) -> None:
    """A process holds one package of a name; the refusal says which file is in the way."""
    module_id, folder = workshop.module()
    other = workshop.root / "other"
    shutil.copytree(folder, other)
    first, second = loader_for((module_id, folder)), loader_for((module_id, other))
    await first.load(module_id)
    error = await refusal(second, module_id)
    assert isinstance(error, ImportError)
    package = workshop.package_name(module_id)
    assert str(error).startswith(
        f"Module '{module_id}' found at {other} but failed to load: Refusing to import '{package}' from "
        f"{other / package / '__init__.py'}: it is already loaded from {folder / package / '__init__.py'}"
    )
    first.cleanup()
    second.cleanup()


@pytest.mark.parametrize("name", ["missing", "file.txt", "x" * 300])
async def test_a_source_that_is_not_there_is_an_error(workshop: Any, name: str) -> None:
    """Missing paths, files, and names that no file system takes."""
    path = workshop.root / name
    if name == "file.txt":
        path.write_text("")
    error = await refusal(loader_for(("tool-x", path)), "tool-x")
    assert str(error) == (
        f"Module 'tool-x' has no valid Python package at {path}: there is no such folder. Correct the source."
    )
    assert error.reason_code == "missing_source"


async def test_a_source_without_a_package_is_an_error(workshop: Any) -> None:
    """The message says which layouts are possible."""
    error = await refusal(loader_for(("tool-x", workshop.root)), "tool-x")
    assert str(error) == (
        f"Module 'tool-x' has no valid Python package at {workshop.root}: expected a folder with __init__.py, "
        "amplifier_module_tool_x/__init__.py or the package its pyproject.toml registers."
    )
    assert error.reason_code == "invalid_package_layout"
    assert isinstance(error, ModuleValidationError)


@pytest.mark.parametrize(
    ("source", "cause", "kind"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero", ZeroDivisionError),
        ("raise SystemExit('bye')", "SystemExit: bye", SystemExit),
        ("def f(:\n", "SyntaxError: ", SyntaxError),
        (b"x = '\xff\xfe'\n", "SyntaxError: ", SyntaxError),
        ("x = 1\0", "", Exception),
        ("from amplifier_core import no_such_name", "ImportError: ", ImportError),
        ("raise ValueError('\\udcff')", "ValueError: ", ValueError),
    ],
)
async def test_a_module_that_does_not_import_is_an_error(
    workshop: Any, caplog: pytest.LogCaptureFixture, source: str | bytes, cause: str, kind: type[BaseException]
) -> None:
    """Id, file and cause are named, the cause is chained, the failure is logged; the next load tries again."""
    module_id, folder = workshop.module(source)
    loader = loader_for((module_id, folder))
    file = folder / workshop.package_name(module_id) / "__init__.py"
    error = await refusal(loader, module_id)
    assert str(error).startswith(f"Module '{module_id}' found at {folder} but failed to load: importing {file} raised ")
    assert cause in str(error)
    assert isinstance(error.__cause__, kind)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    file.write_text(TELL.format("repaired"))
    assert await mounted(await loader.load(module_id)) == ["repaired"]
    loader.cleanup()


async def test_a_keyboard_interrupt_during_import_comes_out(workshop: Any) -> None:
    """It belongs to the user, not to the module."""
    module_id, folder = workshop.module("raise KeyboardInterrupt")
    loader = loader_for((module_id, folder))
    with pytest.raises(KeyboardInterrupt):
        await loader.load(module_id)
    loader.cleanup()


async def test_validating_a_folder_gives_its_package(workshop: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The structure is checked without calling ``mount``, and the check is logged."""
    caplog.set_level(logging.INFO, LOGGER)
    module_id, folder = workshop.module("async def mount(coordinator, config):\n    raise AssertionError\n")
    loader: Any = ModuleLoader()
    assert await loader._validate_module(module_id, folder) == folder / workshop.package_name(module_id)
    assert [record.getMessage() for record in caplog.records] == [
        f"[module:validated] {module_id} - PASSED: 2/2 checks passed (0 errors, 0 warnings)",
        f"[module:loaded] {module_id} from {folder}",
    ]
    loader.cleanup()


async def test_an_explicit_python_transport_is_the_kernels_own(workshop: Any) -> None:
    """Nobody is asked for it."""
    module_id, folder = workshop.module(TELL.format("python"))
    (folder / "amplifier.toml").write_text('[module]\ntype = "tool"\ntransport = "python"\n')
    loader = loader_for((module_id, folder))
    assert await mounted(await loader.load(module_id)) == ["python"]
    loader.cleanup()


async def test_an_unknown_transport_is_an_error(workshop: Any) -> None:
    """Nothing is imported, although there is a package as well."""
    module_id, folder = workshop.module("raise AssertionError('imported')")
    (folder / "amplifier.toml").write_text('[module]\ntransport = "wasm"\n')
    error = await refusal(loader_for((module_id, folder)), module_id)
    assert "amplifier-transport-wasm" in str(error)


async def test_a_broken_manifest_is_an_error(workshop: Any) -> None:
    """The module is not silently loaded as Python."""
    module_id, folder = workshop.module()
    (folder / "amplifier.toml").write_text("[module")
    assert "failed to parse amplifier.toml" in str(await refusal(loader_for((module_id, folder)), module_id))


TRANSPORT = """
def load(module_id, path, manifest, config):
    async def mount(coordinator):
        coordinator.mounted.append((module_id, path, manifest["grpc"]["endpoint"], config))
        return "clean-up"
    return mount

def load_sync(module_id, path, manifest, config):
    return lambda coordinator: None
"""


async def test_a_transport_loads_with_each_loads_config(workshop: Any) -> None:
    """Manifest and config go to the provider of the transport; a second source is refused here too."""
    site = workshop.installed(TRANSPORT_GROUP, {"pigeon": "made_pigeon:load", "lame": "made_pigeon:load_sync"})
    workshop.package(site, "made_pigeon", TRANSPORT)
    module_id, folder = workshop.new_id(), workshop.root / "remote"
    folder.mkdir()
    (folder / "amplifier.toml").write_text('[module]\ntransport = "pigeon"\n[grpc]\nendpoint = "h:1"\n')
    loader = loader_for((module_id, folder))
    assert await mounted(await loader.load(module_id, {"n": 1})) == [(module_id, folder, "h:1", {"n": 1})]
    assert await mounted(await loader.load(module_id)) == [(module_id, folder, "h:1", {})]
    loader.coordinator.resolver.folders[module_id] = workshop.root
    assert "Refusing to load" in str(await refusal(loader, module_id))


async def test_a_transport_whose_mount_is_sync_fails_at_mounting(workshop: Any) -> None:
    """The same guard as for Python modules, also for modules in search paths."""
    site = workshop.installed(TRANSPORT_GROUP, {"lame": "made_lame:load_sync"})
    workshop.package(site, "made_lame", TRANSPORT)
    folder = workshop.root / "amplifier-module-tool-lame"
    folder.mkdir()
    (folder / "amplifier.toml").write_text('[module]\ntransport = "lame"\n')
    mount = await ModuleLoader(search_paths=[workshop.root]).load("tool-lame")
    with pytest.raises(ModuleLoadError, match="mount must be async"):
        await mount(Coordinator())


@pytest.mark.parametrize("rubbish", [None, 3, "text", object()])
async def test_a_resolver_that_answers_rubbish_is_a_load_error(caplog: pytest.LogCaptureFixture, rubbish: Any) -> None:
    """Module and resolver are named, and the failure is logged like any other."""

    class Rubbish:
        def resolve(self, module_id: str) -> Any:
            return rubbish

    error = await refusal(ModuleLoader(Coordinator(Rubbish())), "tool-x")
    assert f"resolver Rubbish answered {type(rubbish).__name__}" in str(error)
    assert [record.getMessage() for record in caplog.records] == [f"Failed to load module 'tool-x': {error}"]

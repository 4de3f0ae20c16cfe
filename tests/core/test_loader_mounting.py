"""What the loader checks about a module before it gives out a mount function, and what that function does."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from amplifier_core.loader import ModuleLoader, ModuleLoadError
from amplifier_core.report import LoadReport, UnknownConfigKey

LOGGER = "amplifier_core.loader"
WAYS = ("source", "entry point", "entry point to package", "search path", "installed package")


class Coordinator:
    """Just enough of a coordinator: a resolver, a report, and a list that test modules mount into."""

    def __init__(self, resolver: Any = None) -> None:
        self.resolver = resolver
        self.report = LoadReport()
        self.mounted: list[Any] = []
        self.began = asyncio.Event()

    def get(self, point: str) -> Any:
        return self.resolver


class Resolver:
    """Knows one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resolve(self, module_id: str) -> Path:
        return self.folder


@pytest.fixture(params=WAYS)
def load(request: pytest.FixtureRequest, workshop: Any) -> Any:
    """Loads a module with the given source code, by every way a loader has: ``await load(source, config)``."""
    loaders: list[ModuleLoader] = []

    async def load_by(source: str, config: Any = None) -> Any:
        module_id = workshop.new_id()
        name = workshop.package_name(module_id)
        loader = ModuleLoader()
        if request.param == "source":
            workshop.package(workshop.root / module_id, name, source)
            loader = ModuleLoader(Coordinator(Resolver(workshop.root / module_id)))
        elif request.param == "search path":
            workshop.package(workshop.root / f"amplifier-module-{module_id}", name, source)
            loader = ModuleLoader(search_paths=[workshop.root])
        elif request.param == "installed package":
            workshop.package(workshop.root / "lib", name, source)
            workshop.on_path(workshop.root / "lib")
        else:
            target = name if request.param == "entry point to package" else f"{name}:mount"
            workshop.package(workshop.installed("amplifier.modules", {module_id: target}), name, source)
        loaders.append(loader)
        load_by.last_id, load_by.last_name = module_id, name  # type: ignore[attr-defined]
        return await loader.load(module_id, config)

    yield load_by
    for loader in loaders:
        loader.cleanup()


MOUNT = "async def mount(coordinator, config):\n    coordinator.mounted.append(config)\n"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("mount = None", "No mount() function found in module"),
        ("mount = 'text'", "mount is not callable"),
        ("async def mount(): ...", "mount() should have at least 2 parameters (coordinator, config), found 0"),
        ("async def mount(c): ...", "mount() should have at least 2 parameters (coordinator, config), found 1"),
        ("async def mount(c, *, config): ...", "its signature is (c, *, config)"),
        ("async def mount(c, config, more): ...", "its signature is (c, config, more)"),
    ],
)
async def test_a_module_without_a_fitting_mount_is_refused(load: Any, source: str, error: str) -> None:
    """By every way of loading; the message has the summary, the failed check and what was expected."""
    with pytest.raises(ModuleLoadError) as caught:
        await load(source)
    message = str(caught.value)
    assert message.startswith(f"Module '{load.last_id}' failed validation: FAILED: ")
    assert error in message
    assert message.endswith(": async def mount(coordinator, config)")
    assert caught.value.reason_code == "invalid_entry_point"


@pytest.mark.parametrize("kind", ["'tool'", "'resolver'", "None"])
async def test_a_declared_kind_may_be_any_of_the_six(load: Any, kind: str) -> None:
    """A module need not declare its kind."""
    coordinator = Coordinator()
    await (await load(f"__amplifier_module_type__ = {kind}\n{MOUNT}"))(coordinator)
    assert coordinator.mounted == [{}]


@pytest.mark.parametrize("kind", ["'gadget'", "3", "['tool']", "''"])
async def test_an_unknown_kind_is_refused(load: Any, kind: str) -> None:
    """By every way of loading, with the valid kinds in the message."""
    with pytest.raises(ModuleLoadError) as caught:
        await load(f"__amplifier_module_type__ = {kind}\n{MOUNT}")
    shown = eval(kind)
    assert str(caught.value) == (
        f"Module '{load.last_id}' has unknown type '{shown}'. Valid types: "
        "['orchestrator', 'provider', 'tool', 'hook', 'context', 'resolver']. Correct its __amplifier_module_type__."
    )
    assert caught.value.reason_code == "invalid_module_metadata"


async def test_loading_never_calls_mount(load: Any) -> None:
    """A module is mounted once, by whoever awaits the mount function."""
    coordinator = Coordinator()
    mount = await load("calls = []\nasync def mount(c, config):\n    calls.append(1)\n    c.mounted = calls\n")
    await mount(coordinator)
    assert coordinator.mounted == [1]


async def test_what_mount_returns_and_raises_comes_out(load: Any) -> None:
    """The mount function adds nothing and hides nothing."""
    mount = await load("async def mount(c, config):\n    return 1 / config['by']\n", {"by": 2})
    assert await mount(Coordinator()) == 0.5
    with pytest.raises(ZeroDivisionError):
        await (await load("async def mount(c, config):\n    return 1 / config['by']\n", {"by": 0}))(Coordinator())


async def test_any_awaitable_mount_is_fine(load: Any) -> None:
    """A plain function that gives a coroutine, and an object with an async call."""
    source = (
        "async def _mount(c, config):\n    c.mounted.append('sync def')\n"
        "def mount(c, config):\n    return _mount(c, config)\n"
    )
    coordinator = Coordinator()
    await (await load(source))(coordinator)
    await (
        await load(
            "class M:\n    async def __call__(self, c, config):\n        c.mounted.append('object')\nmount = M()\n"
        )
    )(coordinator)
    assert coordinator.mounted == ["sync def", "object"]


async def test_a_sync_mount_is_an_error_when_it_is_awaited(load: Any) -> None:
    """It cannot be told without calling it, so the load succeeds and mounting says what is wrong."""
    mount = await load("def mount(coordinator, config):\n    return 42\n")
    with pytest.raises(ModuleLoadError) as caught:
        await mount(Coordinator())
    assert str(caught.value) == (
        f"Module '{load.last_id}': mount must be async (async def mount(coordinator, config)); "
        "calling it gave int, which cannot be awaited"
    )


async def test_cancelling_the_mount_cancels_the_module(load: Any) -> None:
    """A module that hangs while mounting can be stopped."""
    mount = await load(
        "import asyncio\nasync def mount(c, config):\n    c.began.set()\n"
        "    try:\n        await asyncio.Event().wait()\n    finally:\n        c.mounted.append('stopped')\n"
    )
    coordinator = Coordinator()
    task = asyncio.ensure_future(mount(coordinator))
    await coordinator.began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert coordinator.mounted == ["stopped"]


async def test_on_session_ready_is_carried_by_the_mount_function(load: Any) -> None:
    """Together with the id; the module's own function carries it as well. Loading enqueues nothing."""
    import sys

    mount = await load(f"{MOUNT}\nasync def on_session_ready(coordinator):\n    coordinator.mounted.append('ready')\n")
    module = sys.modules[load.last_name]
    assert mount.__on_session_ready__ == (load.last_id, module.on_session_ready)
    assert module.mount.__on_session_ready__ == (load.last_id, module.on_session_ready)


async def test_without_on_session_ready_there_is_no_attribute(load: Any) -> None:
    """Callers ask with ``getattr``."""
    assert not hasattr(await load(MOUNT), "__on_session_ready__")


@pytest.mark.parametrize("ready", ["def on_session_ready(c): ...", "on_session_ready = 'text'"])
async def test_a_sync_on_session_ready_is_warned_about_and_skipped(
    load: Any, caplog: pytest.LogCaptureFixture, ready: str
) -> None:
    """The module still loads, by every way of loading."""
    coordinator = Coordinator()
    mount = await load(f"{MOUNT}\n{ready}\n")
    await mount(coordinator)
    assert coordinator.mounted == [{}]
    assert not hasattr(mount, "__on_session_ready__")
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            LOGGER,
            "WARNING",
            f"on_session_ready of module '{load.last_id}' must be async "
            "(async def on_session_ready(coordinator)). Skipping it.",
        )
    ]


async def test_a_mount_that_takes_no_attributes_still_has_its_callback(load: Any) -> None:
    """A bound method cannot carry the callback itself; the mount function does."""
    mount = await load(
        "class M:\n    async def mount(self, c, config): ...\nmount = M().mount\nasync def on_session_ready(c): ...\n"
    )
    assert mount.__on_session_ready__[0] == load.last_id


async def test_declarations_beside_a_re_exported_mount_are_found(workshop: Any) -> None:
    """They may stand in the package that the entry point names, or where the function was written."""
    module_id = workshop.new_id()
    name = f"pkg_{module_id.replace('-', '_')}"
    site = workshop.installed("amplifier.modules", {module_id: f"{name}:mount"})
    part = f"{MOUNT}\nasync def on_session_ready(c): ...\n__amplifier_config__ = {{'inner'}}\n"
    workshop.package(site, name, "from .part import mount\n__amplifier_config__ = {'outer'}\n", part=part)
    coordinator = Coordinator()
    mount: Any = await ModuleLoader().load(module_id, {"outer": 1, "inner": 2})
    await mount(coordinator)
    assert mount.__on_session_ready__[0] == module_id
    assert coordinator.report.unknown_keys == [UnknownConfigKey(module_id, "inner", None)]


async def test_two_ids_of_one_function_keep_their_own_names(workshop: Any) -> None:
    """The callback is attached with the id under which the module was loaded."""
    first, second = workshop.new_id(), workshop.new_id()
    site = workshop.installed("amplifier.modules", {first: "pkg_shared:mount", second: "pkg_shared:mount"})
    workshop.package(site, "pkg_shared", f"{MOUNT}\nasync def on_session_ready(c): ...\n")
    loader = ModuleLoader()
    mounts: list[Any] = [await loader.load(module_id) for module_id in (first, second, first)]
    assert [mount.__on_session_ready__[0] for mount in mounts] == [first, second, first]


async def test_unknown_config_keys_are_told_when_mounting(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    """In the report and the log; the module still mounts, with the plain dict as it was given."""
    config = {"max_sise": 3}
    coordinator = Coordinator()
    mount = await load(f"__amplifier_config__ = {{'max_size'}}\n{MOUNT}", config)
    assert caplog.records == []
    await mount(coordinator)
    assert coordinator.mounted == [config]
    assert coordinator.mounted[0] is config
    assert coordinator.report.unknown_keys == [UnknownConfigKey(load.last_id, "max_sise", "max_size")]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"{load.last_id}: nobody reads config key 'max_sise' (did you mean 'max_size'?)")
    ]


async def test_a_coordinator_without_a_report_gets_the_log_only(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Stand-ins of older tests have none."""

    class Bare:
        mounted: list[Any] = []

    await (await load(f"__amplifier_config__ = set()\n{MOUNT}", {"x": 1}))(Bare())
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_an_invalid_config_value_is_refused_before_mount(load: Any) -> None:
    """The module's ``mount`` is not called."""
    source = f"from pydantic import BaseModel\nclass __amplifier_config__(BaseModel):\n    port: int\n{MOUNT}"
    coordinator = Coordinator()
    mount = await load(source, {"port": "secret"})
    with pytest.raises(ModuleLoadError, match=rf"Module '{load.last_id}' was given an invalid config: key 'port'"):
        await mount(coordinator)
    assert coordinator.mounted == []
    await (await load(source, {"port": "80"}))(coordinator)
    assert coordinator.mounted == [{"port": "80"}]


async def test_a_declaration_that_is_none_is_refused(load: Any) -> None:
    """Modules are told what a declaration may be."""
    mount = await load(f"__amplifier_config__ = 'max_size'\n{MOUNT}")
    with pytest.raises(ModuleLoadError, match="declares __amplifier_config__ as a str"):
        await mount(Coordinator())

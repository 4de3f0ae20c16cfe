"""A module while a test runs: loaded by file, mounted, cleaned up, and gone afterwards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier_core._module_under_test import UntestableModuleError, loaded_by_file, mounted_for_test
from amplifier_core.testing import MockCoordinator, create_test_coordinator

Workshop = Any

TOOL = """
from amplifier_core.models import ToolResult

class Hammer:
    name = "hammer"
    description = "Hits."
    async def execute(self, input):
        return ToolResult(output="bang")
"""
MOUNTING = "async def mount(coordinator, config):\n    await coordinator.mount('tools', Hammer())\n"


def package_of(workshop: Workshop, source: str, **files: str) -> Path:
    """A new package on disk."""
    module_id, folder = workshop.module(source, **files)
    return folder / workshop.package_name(module_id)


async def mounted(path: Path, kind: str = "tool", coordinator: MockCoordinator | None = None, **config: Any) -> Any:
    """What a test of the module would get."""
    async with mounted_for_test(path, kind, coordinator or MockCoordinator(), config) as module:
        return module


def test_a_loaded_module_is_new_each_time_and_leaves_no_trace(workshop: Workshop) -> None:
    """Relative imports work inside the block; afterwards the import system is as it was."""
    package = package_of(workshop, "from .part import value\nfrom . import other", part="value = []", other="")
    before = dict(sys.modules)
    modules: list[Any] = []
    for _ in range(2):
        with loaded_by_file(package) as module:
            modules.append(module)
            assert sys.modules[package.name] is module
            assert f"{package.name}.part" in sys.modules
    assert modules[0] is not modules[1]
    assert modules[0].value is not modules[1].value
    assert sys.modules == before


def test_a_single_file_can_be_loaded(workshop: Workshop) -> None:
    """A module need not be a package."""
    file = workshop.root / "single_file_module.py"
    file.write_text("value = __name__")
    with loaded_by_file(file) as module:
        assert module.value == "single_file_module"
    assert "single_file_module" not in sys.modules


def test_what_a_test_has_imported_itself_is_shared_below_the_package(workshop: Workshop) -> None:
    """The package is executed anew; its submodules, with what the test replaced in them, are those of the test."""
    package = package_of(workshop, "from .part import value", part="value = 'real'")
    workshop.on_path(package.parent)
    imported = __import__(package.name)
    imported.part.value = "replaced"
    with loaded_by_file(package) as module:
        assert (module is imported, module.value) == (False, "replaced")
    assert sys.modules[package.name] is imported


def test_two_sources_of_one_name_do_not_meet(workshop: Workshop) -> None:
    """A package of the same name from elsewhere is set aside, with its submodules, and put back."""
    first = workshop.package(workshop.root / "one", "same_name", "from .part import value", part="value = 1")
    second = workshop.package(workshop.root / "two", "same_name", "from .part import value", part="value = 2")
    workshop.on_path(first.parent)
    imported = __import__("same_name.part")
    part = sys.modules["same_name.part"]
    with loaded_by_file(second) as module:
        assert module.value == 2
        assert sys.modules["same_name.part"] is not part
    assert (sys.modules["same_name"], sys.modules["same_name.part"]) == (imported, part)


def test_a_module_that_fails_to_load_leaves_no_trace(workshop: Workshop) -> None:
    """The author sees the error itself, and the import system is as it was."""
    package = package_of(workshop, "from . import part\nraise RuntimeError('broken')", part="")
    with pytest.raises(RuntimeError, match="broken"), loaded_by_file(package):
        pass
    assert not [name for name in sys.modules if name.startswith(package.name)]


@pytest.mark.parametrize("name", ["nothing_here", "empty_folder", "notes.txt"])
def test_where_there_is_no_module_the_path_is_named(workshop: Workshop, name: str) -> None:
    """The error says what was expected."""
    (workshop.root / "empty_folder").mkdir()
    (workshop.root / "notes.txt").write_text("no module")
    with (
        pytest.raises(UntestableModuleError, match=rf"There is no module at .*{name}: expected a folder with __init__"),
        loaded_by_file(workshop.root / name),
    ):
        pass


async def test_the_first_mounted_instance_is_given(workshop: Workshop) -> None:
    """Config and coordinator are those given, and what was mounted before does not count."""
    source = (
        TOOL
        + "async def mount(coordinator, config):\n"
        + "    for name in config['names']:\n        await coordinator.mount('tools', Hammer(), name=name)\n"
    )
    coordinator = create_test_coordinator()
    tool = await mounted(package_of(workshop, source), coordinator=coordinator, names=["b", "a"])
    assert coordinator.get("tools", "b") is tool
    assert type(tool).__name__ == "Hammer"


@pytest.mark.parametrize("way", ["async def", "def"])
async def test_a_returned_instance_counts_as_mounted(workshop: Workshop, way: str) -> None:
    """A mount that leaves the mounting to the kernel is tested alike; the instance is never called as a clean-up."""
    source = (
        TOOL.replace("    name =", "    def __call__(self):\n        raise AssertionError\n    name =")
        + f"{way} mount(coordinator, config):\n    return Hammer()\n"
    )
    assert (await mounted(package_of(workshop, source))).name == "hammer"


async def test_imports_inside_functions_work_while_the_test_runs(workshop: Workshop) -> None:
    """A module may import its own parts as late as in a call."""
    source = TOOL.replace('output="bang"', "output=self.late()") + MOUNTING
    source = source.replace(
        "    async def execute",
        "    def late(self):\n        from .part import value\n        return value\n    async def execute",
    )
    package = package_of(workshop, source, part="value = 'late'")
    async with mounted_for_test(package, "tool", MockCoordinator(), {}) as tool:
        assert (await tool.execute({})).output == "late"


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("cleanup", ["registered", "returned"]),
        ("async_cleanup", ["registered", "returned async"]),
        ("registered", ["registered"]),
        ("None", ["registered"]),
        ("'text'", ["registered"]),
    ],
)
async def test_cleanups_run_once_at_the_end(workshop: Workshop, returned: str, expected: list[str]) -> None:
    """Both those returned and those registered, sync or async, and one that is both only once."""
    source = (
        TOOL
        + "async def mount(coordinator, config):\n"
        + "    log = config['log']\n"
        + "    def registered(): log.append('registered')\n"
        + "    def cleanup(): log.append('returned')\n"
        + "    async def async_cleanup(): log.append('returned async')\n"
        + "    coordinator.register_cleanup(registered)\n"
        + "    await coordinator.mount('tools', Hammer())\n"
        + f"    return {returned}\n"
    )
    log: list[str] = []
    await mounted(package_of(workshop, source), log=log)
    assert sorted(log) == expected


async def test_a_cleanup_that_raises_is_a_broken_promise(workshop: Workshop) -> None:
    """The error names the module, the function and what it raised."""
    source = TOOL + MOUNTING + "    def close():\n        raise OSError('not open')\n    return close\n"
    package = package_of(workshop, source)
    with pytest.raises(UntestableModuleError, match=r"Cleaning up after .* failed: .*close raised OSError: not open"):
        await mounted(package)


HOOK = """
async def watch(event, data): ...

async def mount(coordinator, config):
    registrations = [coordinator.hooks.register("tool:pre", watch)]
    def cleanup():
        registrations.pop()()
    return cleanup
"""


async def test_a_hook_gives_its_cleanup_which_a_test_may_call_first(workshop: Workshop) -> None:
    """Handlers are registered during the test; that the second run of a clean-up fails is nobody's fault."""
    coordinator = MockCoordinator()
    async with mounted_for_test(package_of(workshop, HOOK), "hook", coordinator, {}) as cleanup:
        assert len(coordinator.hooks.list_handlers("tool:pre")["tool:pre"]) == 1
        cleanup()
        assert coordinator.hooks.list_handlers("tool:pre") == {"tool:pre": []}
    assert coordinator.report.cleanup_errors != []


@pytest.mark.parametrize("returned", ["None", "{'name': 'hook'}"])
async def test_a_hook_without_cleanup_gives_none(workshop: Workshop, returned: str) -> None:
    """What cannot be called is no clean-up."""
    source = f"async def mount(coordinator, config):\n    return {returned}\n"
    assert await mounted(package_of(workshop, source), "hook") is None


@pytest.mark.parametrize(
    ("kind", "point"),
    [("provider", "providers"), ("tool", "tools"), ("orchestrator", "orchestrator"), ("context", "context")],
)
async def test_nothing_mounted_says_what_to_do(workshop: Workshop, kind: str, point: str) -> None:
    """The error names the call that is missing and how to give a key."""
    package = package_of(workshop, "async def mount(coordinator, config):\n    return lambda: None\n")
    with pytest.raises(UntestableModuleError) as raised:
        await mounted(package, kind, key="k")
    assert str(raised.value) == (
        f"mount(coordinator, {{'key': 'k'}}) of {package} mounted no {kind}, nor did it return one. Call "
        f"coordinator.mount('{point}', …) in it. If it mounts nothing without a key or a setting, give it one in "
        "conftest.py: set the environment variable in an autouse fixture, or define a fixture "
        "'amplifier_module_config' that returns the config."
    )


@pytest.mark.parametrize("source", ["", "mount = 5"])
async def test_a_module_without_mount_is_told_to_write_one(workshop: Workshop, source: str) -> None:
    """The error shows the signature."""
    with pytest.raises(UntestableModuleError, match=r"has no mount\(\) function; write: async def mount\(coordinator,"):
        await mounted(package_of(workshop, source))


async def test_a_mount_that_exits_is_a_broken_promise(workshop: Workshop) -> None:
    """The test run goes on, and what was registered until then is cleaned up."""
    source = (
        "import sys\nasync def mount(coordinator, config):\n"
        "    coordinator.register_cleanup(lambda: config['log'].append('cleaned'))\n    sys.exit('no key')\n"
    )
    log: list[str] = []
    with pytest.raises(UntestableModuleError, match=r"mount\(\) of .* called sys\.exit\('no key'\); raise an error"):
        await mounted(package_of(workshop, source), log=log)
    assert log == ["cleaned"]


async def test_what_mount_raises_comes_out_as_it_is(workshop: Workshop) -> None:
    """The author sees the traceback of his own error."""
    source = "async def mount(coordinator, config):\n    raise KeyError('api_key')\n"
    with pytest.raises(KeyError, match="api_key"):
        await mounted(package_of(workshop, source))

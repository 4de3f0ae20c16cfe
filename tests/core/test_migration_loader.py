"""What is different for users of the existing package: the loader, its errors, and how modules are mounted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core._session_init import initialize_session
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.loader import ModuleLoader, ModuleLoadError, ModuleNotFoundError, ModuleValidationError
from amplifier_core.module_sources import FileSystemModuleSource, ModuleSource

Data = dict[str, Any]

MOUNT = "async def mount(coordinator, config):\n    "
CONTEXT = ("add_message", "get_messages_for_request", "get_messages", "set_messages", "clear")


class Resolver:
    """Knows the folders it is made with; takes an id alone, as the shortest contract has it."""

    def __init__(self, **folders: Path) -> None:
        self.folders = folders

    def resolve(self, module_id: str) -> Any:
        if module_id not in self.folders:
            raise ModuleNotFoundError(f"I do not know {module_id}")
        return SimpleNamespace(resolve=lambda: self.folders[module_id])


def resolving(**folders: Path) -> tuple[ModuleCoordinator, ModuleLoader]:
    """A coordinator with a resolver, and its loader."""
    coordinator = ModuleCoordinator()
    coordinator.mount("module-source-resolver", Resolver(**folders))
    return coordinator, ModuleLoader(coordinator)


async def started(tools: dict[str, Any], **sections: Any) -> ModuleCoordinator:
    """A coordinator with what a plan of these tools mounts; each tool is a mount function."""

    async def install(coordinator: ModuleCoordinator) -> None:
        coordinator.mount("orchestrator", SimpleNamespace(execute=print))
        coordinator.mount("context", SimpleNamespace(**dict.fromkeys(CONTEXT, print)))

    async def load(module_id: str, *_: Any, **__: Any) -> Any:
        return tools.get(module_id, install)

    coordinator = ModuleCoordinator()
    coordinator.loader = SimpleNamespace(load=load)
    plan: Data = {"session": {"orchestrator": "loop", "context": "context"}, "tools": list(tools), **sections}
    await initialize_session(plan, coordinator, "s", None)
    return coordinator


async def test_an_unknown_module_tells_what_was_tried(workshop: Any) -> None:
    """The error has a type of its own, is a ``ValueError`` as before, and lists the places that were looked at."""
    with pytest.raises(
        ModuleNotFoundError, match=r"^Module 'tool-absent' not found via entry points or filesystem"
    ) as e:
        await ModuleLoader(search_paths=[workshop.root]).load("tool-absent")
    assert isinstance(e.value, ValueError)
    assert e.value.tried == (
        "entry point 'tool-absent' in group 'amplifier.modules'",
        str(workshop.root / "amplifier-module-tool-absent"),
        "import of amplifier_module_tool_absent",
    )


async def test_a_module_that_cannot_be_loaded_has_one_error_type(workshop: Any) -> None:
    """A ``ModuleLoadError`` is what old code catches: a ``ModuleValidationError`` and a ``ValueError``."""
    module_id, folder = workshop.module("import package_that_nobody_has\n")
    _, loader = resolving(**{module_id: folder})
    with pytest.raises(ModuleLoadError, match="Install what provides 'package_that_nobody_has'") as caught:
        await loader.load(module_id)
    assert isinstance(caught.value, ModuleValidationError)
    assert isinstance(caught.value, ValueError)


async def test_a_second_source_is_a_load_error_and_an_import_error(workshop: Any) -> None:
    """One id keeps its first source; the refusal can be caught either way."""
    module_id, folder = workshop.module()
    coordinator, loader = resolving(**{module_id: folder})
    await loader.load(module_id)
    coordinator.get("module-source-resolver").folders[module_id] = workshop.root
    with pytest.raises(ModuleLoadError, match=f"^Refusing to load '{module_id}' from ") as caught:
        await loader.load(module_id)
    assert isinstance(caught.value, ImportError)


async def test_what_a_resolver_does_not_know_is_not_looked_for_elsewhere(workshop: Any) -> None:
    """Although the module could be imported by name, the resolver's answer stands."""
    module_id, folder = workshop.module()
    workshop.on_path(folder)
    _, loader = resolving()
    with pytest.raises(ModuleNotFoundError, match=f"^I do not know {module_id}$"):
        await loader.load(module_id)


async def test_a_broken_entry_point_is_not_passed_over(workshop: Any) -> None:
    """An entry point that does not import is an error, even if a package of the conventional name is there."""
    module_id, folder = workshop.module()
    workshop.on_path(folder)
    workshop.installed("amplifier.modules", {module_id: "package_that_nobody_has:mount"})
    with pytest.raises(ModuleLoadError, match="its entry point package_that_nobody_has:mount raised") as caught:
        await ModuleLoader().load(module_id)
    assert caught.value.reason_code == "invalid_entry_point"


async def test_loading_looks_into_the_search_paths(workshop: Any) -> None:
    """What ``discover()`` lists can be loaded, without a resolver."""
    module_id = workshop.new_id()
    workshop.package(workshop.root / f"amplifier-module-{module_id}", workshop.package_name(module_id))
    mount = await ModuleLoader(search_paths=[workshop.root]).load(module_id, {"a": 1})
    coordinator = SimpleNamespace(mounted=[])
    await mount(coordinator)
    assert coordinator.mounted == [{"a": 1}]


def test_search_paths_are_separated_as_the_system_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``AMPLIFIER_MODULES`` is split like ``PATH``: by ``;`` on Windows, where a colon follows the drive letter."""
    monkeypatch.setattr(os, "pathsep", ";")
    monkeypatch.setenv("AMPLIFIER_MODULES", f"{tmp_path};C:elsewhere")
    error: Any = ModuleLoader()._not_found("tool-x")
    assert [place for place in error.tried if "amplifier-module-" in place] == [
        str(tmp_path / "amplifier-module-tool-x"),
        f"{Path('C:elsewhere', 'amplifier-module-tool-x')} (no such search path)",
    ]


async def test_loading_does_not_call_mount(workshop: Any) -> None:
    """A module from a source is checked by its structure; ``mount()`` runs once, when it is mounted."""
    module_id, folder = workshop.module()
    _, loader = resolving(**{module_id: folder})
    mount = await loader.load(module_id)
    coordinator = SimpleNamespace(mounted=[])
    await mount(coordinator)
    assert coordinator.mounted == [{}]


async def test_structure_is_checked_on_every_path(workshop: Any) -> None:
    """Also an installed module must have a ``mount`` that takes coordinator and config."""
    module_id, folder = workshop.module("async def mount(coordinator): ...\n")
    workshop.on_path(folder)
    with pytest.raises(ModuleLoadError, match=r"mount\(\) should have at least 2 parameters .*, found 1"):
        await ModuleLoader().load(module_id)


async def test_a_sync_ready_callback_does_not_stop_the_module(workshop: Any, caplog: pytest.LogCaptureFixture) -> None:
    """``on_session_ready`` must be async; one that is not is skipped with a warning, by every path."""
    module_id, folder = workshop.module(f"{MOUNT}pass\ndef on_session_ready(coordinator): ...\n")
    _, loader = resolving(**{module_id: folder})
    mount = await loader.load(module_id)
    assert not hasattr(mount, "__on_session_ready__")
    assert f"on_session_ready of module '{module_id}' must be async" in caplog.text


async def test_an_unknown_transport_names_the_package_to_install(workshop: Any) -> None:
    """gRPC, WebAssembly and Rust modules need a package that provides their transport."""
    module_id, folder = workshop.module()
    (folder / "amplifier.toml").write_text('[module]\ntransport = "wasm"\n', encoding="utf-8")
    _, loader = resolving(**{module_id: folder})
    with pytest.raises(
        ModuleLoadError, match=r"needs transport 'wasm'.*Install the package 'amplifier-transport-wasm'"
    ):
        await loader.load(module_id)


async def test_a_lone_wasm_file_is_no_module(workshop: Any) -> None:
    """The transport is what ``amplifier.toml`` says; files are not guessed at."""
    folder = workshop.root / "lone"
    folder.mkdir()
    (folder / "module.wasm").write_bytes(b"\0asm")
    _, loader = resolving(lone=folder)
    with pytest.raises(ModuleLoadError, match="has no valid Python package") as caught:
        await loader.load("lone")
    assert caught.value.reason_code == "invalid_package_layout"


async def test_clean_up_of_one_loader_leaves_the_paths_of_another(workshop: Any) -> None:
    """``sys.path`` entries are counted; the last loader that needs one removes it."""
    module_id, folder = workshop.module()
    (_, first), (_, second) = resolving(**{module_id: folder}), resolving(**{module_id: folder})
    await first.load(module_id)
    await second.load(module_id)
    first.cleanup()
    assert str(folder) in sys.path
    second.cleanup()
    assert str(folder) not in sys.path


def test_a_source_is_whatever_has_resolve() -> None:
    """``ModuleSource`` need not be subclassed."""
    assert isinstance(SimpleNamespace(resolve=lambda: Path()), ModuleSource)
    assert not isinstance(FileSystemModuleSource(), ModuleSource)


async def test_a_resolver_may_have_any_of_the_published_signatures(workshop: Any) -> None:
    """It may take the id alone, or one or both hints, and be async; the hint is what the plan gives as source."""
    module_id, folder = workshop.module()
    hints: list[Any] = []

    class Asynchronous:
        async def async_resolve(self, module_id: str, profile_hint: Any) -> Any:
            hints.append(profile_hint)
            return SimpleNamespace(resolve=lambda: folder)

    coordinator, loader = resolving(**{module_id: folder})
    await loader.load(module_id, source_hint="git+x")
    coordinator.mount("module-source-resolver", Asynchronous())
    await loader.load(module_id, source_hint="git+x")
    await loader.load(module_id, profile_source="git+y")
    assert hints == ["git+x", "git+y"]


async def test_an_unknown_config_key_is_told_and_a_wrong_value_refused(workshop: Any) -> None:
    """A module that declares its config has it checked before ``mount()``."""
    source = "from pydantic import BaseModel\nclass C(BaseModel):\n    limit: int = 1\n__amplifier_config__ = C\n"
    module_id, folder = workshop.module(f"{source}{MOUNT}pass\n")
    coordinator, loader = resolving(**{module_id: folder})
    await (await loader.load(module_id, {"limt": 3}))(coordinator)
    assert [str(key) for key in coordinator.report.unknown_keys] == [
        f"{module_id}: nobody reads config key 'limt' (did you mean 'limit'?)"
    ]
    with pytest.raises(ModuleLoadError, match=r"key 'limit': .* \(given: str\)"):
        await (await loader.load(module_id, {"limit": "many"}))(coordinator)


async def test_mount_may_return_the_instance() -> None:
    """A tool, provider, orchestrator or context that ``mount()`` returns is mounted, not taken for a clean-up."""
    tool = SimpleNamespace(name="mine", description="", execute=print)

    async def mount(coordinator: ModuleCoordinator) -> Any:
        return tool

    coordinator = await started({"tool-x": mount})
    assert (coordinator.get("tools"), coordinator.pending_cleanups) == ({"mine": tool}, 0)


async def test_an_object_that_does_not_fit_is_taken_out_again() -> None:
    """What a module mounts is checked against its kind; all it did is undone if it does not fit."""

    async def mount(coordinator: ModuleCoordinator) -> None:
        coordinator.register_capability("x.y", 1)
        coordinator.hooks.register("x:y", print)
        coordinator.mount("tools", SimpleNamespace(name="half"))

    coordinator = await started({"tool-x": mount})
    (problem,) = coordinator.report.failed
    assert "mounted SimpleNamespace at 'tools' as 'half', which is no tool: it lacks description, execute" in str(
        problem
    )
    left = (coordinator.get("tools"), coordinator.get_capability("x.y"), coordinator.hooks.list_handlers("x:y"))
    assert left == ({}, None, {"x:y": []})


async def test_any_failed_module_is_rolled_back() -> None:
    """Tools and hooks that fail half-way leave nothing behind, as it was with providers."""

    async def mount(coordinator: ModuleCoordinator) -> None:
        coordinator.mount("tools", SimpleNamespace(name="t", description="", execute=print))
        raise LookupError("no licence")

    coordinator = await started({"tool-x": mount})
    assert coordinator.get("tools") == {}
    assert [str(problem) for problem in coordinator.report.failed] == ["tool tool-x: LookupError: no licence"]


async def test_a_module_that_installs_nothing_is_reported_as_skipped() -> None:
    """A missing key is no crash; the report says which module stayed away."""

    async def mount(coordinator: ModuleCoordinator) -> None:
        return None

    coordinator = await started({"tool-x": mount}, providers=["provider-x"])
    assert [str(problem).partition(";")[0] for problem in coordinator.report.skipped] == [
        "provider provider-x: Provider mount did not install a new provider instance",
        "tool tool-x: mount() installed nothing: no tool, no handler, no capability, no contributor",
    ]

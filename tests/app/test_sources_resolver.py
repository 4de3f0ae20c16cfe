"""The resolver in the kernel: modules by source and as installed, with what they need, and what cannot be had."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.app.source_world import MODULE, Repository, places_in, sources_in_folder

from amplifier.sources import SourceResolver, Sources, lock_path, sources_in, write_lock
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.module_sources import ModuleNotFoundError as NotFoundError
from amplifier_core.testing import TestCoordinator


def _loader(sources: Sources) -> tuple[ModuleLoader, TestCoordinator]:
    coordinator = TestCoordinator()
    coordinator.mount_points["module-source-resolver"] = SourceResolver(sources)
    return ModuleLoader(coordinator), coordinator


@pytest.mark.slow
async def test_a_module_comes_from_its_repository(tmp_path: Path) -> None:
    """Frozen and offline too, when it is locked and in the cache."""
    repository = Repository(tmp_path / "r")
    repository.commit({"modules/tool-far/amplifier_module_tool_far/__init__.py": MODULE.format(text="from afar")})
    hint = f"{repository.source}@main#subdirectory=modules/tool-far"
    sources = sources_in_folder(tmp_path)
    write_lock(lock_path(places_in(tmp_path)), {hint: sources.pin_of(sources.find(hint))})
    loader, coordinator = _loader(sources_in_folder(tmp_path, is_frozen=True, is_offline=True))
    mount = await loader.load("tool-far", source_hint=hint)
    await mount(coordinator)
    assert coordinator.get_capability("greeting") == "from afar"
    loader.cleanup()


async def test_installed_modules_are_found_as_without_a_resolver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By package, by folder and by entry point; sys.path stays as it was."""
    folder = tmp_path / "modules" / "amplifier-module-tool-near"
    folder.mkdir(parents=True)
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path / "modules"))
    resolver = SourceResolver(sources_in_folder(tmp_path))
    import amplifier_core

    loop = await resolver.async_resolve("loop-basic")
    assert (loop.resolve() / "amplifier_module_loop_basic" / "__init__.py").is_file()
    assert str(loop.resolve()) in sys.path
    assert resolver.resolve("tool-near", "installed").resolve() == folder

    class Entry:
        module = "amplifier_core.session"

    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [Entry()])
    assert resolver.resolve("tool-by-entry").resolve() == Path(str(amplifier_core.__file__)).parent
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    with pytest.raises(NotFoundError) as caught:
        resolver.resolve("tool-nowhere")
    assert str(caught.value) == (
        "The module 'tool-nowhere' is not installed, and nobody names a source for it. "
        "Install its package, or name one: amplifier source add tool-nowhere SOURCE"
    )
    assert "no identifier" not in sys.modules
    with pytest.raises(NotFoundError):
        resolver.resolve("no identifier")


async def test_a_session_mounts_modules_of_both_kinds(tmp_path: Path) -> None:
    """The loop and the memory as they are installed, and a tool from a folder."""
    folder = places_in(tmp_path).project_dir / "mine"
    (folder / "amplifier_module_hooks_mine").mkdir(parents=True)
    (folder / "amplifier_module_hooks_mine" / "__init__.py").write_text(MODULE.format(text="hello"))
    session = AmplifierSession(
        {
            "session": {"orchestrator": "loop-basic", "context": "context-simple"},
            "providers": [{"module": "provider-mock"}],
            "hooks": [{"module": "hooks-mine", "source": "./mine"}],
        }
    )
    await session.coordinator.mount("module-source-resolver", SourceResolver(sources_in_folder(tmp_path)))
    before = list(sys.path)
    try:
        await session.initialize()
        assert (session.report.failed, session.coordinator.get_capability("greeting")) == ([], "hello")
        assert [each for each in sys.path if each not in before] == [str(folder)]
    finally:
        await session.cleanup()
    assert sys.path == before


async def test_what_cannot_be_had_is_told_as_the_kernel_wants_it(tmp_path: Path) -> None:
    """With the place that was tried, and what to do."""
    resolver = SourceResolver(sources_in_folder(tmp_path, is_frozen=True))
    with pytest.raises(NotFoundError) as caught:
        await resolver.async_resolve("tool-x", "./x")
    assert (str(caught.value), caught.value.tried) == (
        "The module 'tool-x' cannot be had: The source ./x is not locked, and nothing else may be used. "
        "Lock it with: amplifier lock",
        ("./x",),
    )


def test_what_a_module_needs_is_offered_behind_everything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once; a package that is installed is loaded from the folder around it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = places_in(tmp_path).project_dir / "mine"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\ndependencies = ["needed-x"]\n')
    sources = sources_in_folder(tmp_path, is_offline=True)
    resolver = SourceResolver(sources)
    overlay = sources.cache.overlay("k")
    monkeypatch.setattr("amplifier.sources.dependencies._key", lambda wanted: "k")
    with pytest.raises(NotFoundError, match="needs needed-x, and nothing may be fetched"):
        resolver.resolve("tool-mine", "./mine")
    about = overlay / "needed_x-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: needed_x\nVersion: 1.0\n")
    for _ in range(2):
        assert resolver.resolve("tool-mine", {"path": "./mine"}).resolve() == folder
    assert (sys.path[-1], sys.path.count(str(overlay))) == (str(overlay), 1)
    assert resolver.requires_of(sources.find("./mine")) == ("needed-x==1.0",)
    click = resolver.resolve("tool-click", "package:click").resolve()
    assert (click / "click" / "__init__.py").is_file()
    assert resolver.requires_of(sources.find("click")) == ()


def test_a_module_beside_its_bundle_is_locked_with_it(tmp_path: Path) -> None:
    """What is inside a source that is there already needs no entry of its own."""
    from tests.app.source_world import zip_bytes

    file = places_in(tmp_path).project_dir / "b.zip"
    file.write_bytes(zip_bytes({"bundle.md": b"", "modules/tool-x/a.py": b"1"}))
    sources = sources_in_folder(tmp_path)
    whole = sources.find("./b.zip")
    write_lock(lock_path(places_in(tmp_path)), {whole.name: sources.pin_of(whole)})
    frozen = sources_in_folder(tmp_path, is_frozen=True)
    root = frozen.find("./b.zip").root
    part = frozen.find(str(root / "modules" / "tool-x"))
    assert (part.name, part.state, part.folder, part.pin) == ("./b.zip", "locked", root / "modules/tool-x", whole.pin)
    assert frozen.find(str(root / "modules" / "tool-x")) is part


def test_the_sources_of_a_plan_are_listed() -> None:
    """Those of the session, of all lists, and of agents."""
    plan: dict[str, Any] = {
        "session": {"orchestrator": {"module": "loop-a", "source": "./a"}, "context": "context-simple"},
        "tools": [
            {"module": "tool-b", "source": {"path": "./b"}},
            "tool-c",
            {"module": "tool-d", "source": "installed"},
        ],
        "agents": {"one": {"tools": [{"module": "tool-e", "source": "./e"}]}, "dirs": ["./agents"]},
    }
    assert list(sources_in(plan)) == [("loop-a", "./a"), ("tool-b", {"path": "./b"}), ("tool-e", "./e")]
    assert list(sources_in({})) == []

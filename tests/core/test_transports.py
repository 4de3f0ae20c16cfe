"""Transports: what ``amplifier.toml`` asks for, and who can load it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_core._entry_points import EntryPointIndex
from amplifier_core._transports import PYTHON, TRANSPORT_GROUP, load_by_transport, read_manifest, transport_of
from amplifier_core.module_sources import ModuleLoadError

LOADERS = """
calls = []

def load(module_id, path, manifest, config):
    calls.append((module_id, path, manifest, config))
    async def mount(coordinator):
        return ("sync", coordinator)
    return mount

async def load_async(module_id, path, manifest, config):
    async def mount(coordinator):
        return ("async", coordinator)
    return mount

def broken(module_id, path, manifest, config):
    raise OSError("socket closed")

def precise(module_id, path, manifest, config):
    from amplifier_core.module_sources import ModuleLoadError
    raise ModuleLoadError("no endpoint", reason_code="invalid_module_metadata")

def rubbish(module_id, path, manifest, config):
    return 42

not_callable = "x"
"""


@pytest.fixture
def transports(workshop: Any) -> EntryPointIndex:
    """An index with one transport for each way a provider behaves."""
    targets = ("load", "load_async", "broken", "precise", "rubbish", "not_callable", "missing")
    site = workshop.installed(TRANSPORT_GROUP, {name: f"made_transports:{name}" for name in targets})
    workshop.package(site, "made_transports", LOADERS)
    return EntryPointIndex(TRANSPORT_GROUP)


async def load(index: EntryPointIndex, transport: str) -> Any:
    """Loads a module by the named transport."""
    return await load_by_transport(index, transport, "tool-x", Path("/m"), {"module": {}}, {"k": 1})


def test_without_a_manifest_a_module_is_python(tmp_path: Path) -> None:
    """No file, no manifest; a folder of that name is no manifest either."""
    assert read_manifest("tool-x", tmp_path) == {}
    (tmp_path / "amplifier.toml").mkdir()
    assert read_manifest("tool-x", tmp_path) == {}
    assert transport_of("tool-x", tmp_path, {}) == PYTHON


@pytest.mark.parametrize(
    ("text", "transport"),
    [
        ('[module]\ntype = "tool"\n', "python"),
        ('[module]\ntransport = "python"\n', "python"),
        ('[module]\ntransport = "grpc"\n[grpc]\nendpoint = "h:1"\n', "grpc"),
        ("[other]\nx = 1\n", "python"),
    ],
)
def test_the_manifest_names_the_transport(tmp_path: Path, text: str, transport: str) -> None:
    """``python`` unless ``[module] transport`` says otherwise."""
    (tmp_path / "amplifier.toml").write_text(text)
    assert transport_of("tool-x", tmp_path, read_manifest("tool-x", tmp_path)) == transport


@pytest.mark.parametrize("content", [b"[module", b"\xff\xfe\x00"])
def test_a_broken_manifest_is_an_error_with_path_and_reason(tmp_path: Path, content: bytes) -> None:
    """The module is not silently taken for a Python package."""
    (tmp_path / "amplifier.toml").write_bytes(content)
    with pytest.raises(ModuleLoadError) as caught:
        read_manifest("tool-x", tmp_path)
    message = str(caught.value)
    assert message.startswith(f"Module 'tool-x': failed to parse amplifier.toml at {tmp_path / 'amplifier.toml'}: ")
    assert type(caught.value.__cause__).__name__ in message
    assert caught.value.reason_code == "invalid_module_metadata"


@pytest.mark.parametrize("manifest", [{"module": 3}, {"module": {"transport": 3}}, {"module": {"transport": ""}}])
def test_a_manifest_of_the_wrong_shape_is_an_error(manifest: dict[str, Any]) -> None:
    """The message says where the transport is expected."""
    with pytest.raises(ModuleLoadError, match=r"tool-x.*amplifier\.toml must name its transport as text.*\[module\]"):
        transport_of("tool-x", Path("/m"), manifest)


async def test_a_provider_makes_the_mount_function(transports: EntryPointIndex, workshop: Any) -> None:
    """It gets id, folder, manifest and config, and answers an async mount function."""
    mount = await load(transports, "load")
    assert await mount("coordinator") == ("sync", "coordinator")
    import made_transports  # type: ignore[import-not-found]

    assert made_transports.calls == [("tool-x", Path("/m"), {"module": {}}, {"k": 1})]


async def test_a_provider_may_be_async(transports: EntryPointIndex) -> None:
    """What it returns is awaited."""
    mount = await load(transports, "load_async")
    assert await mount("coordinator") == ("async", "coordinator")


@pytest.mark.parametrize(
    ("transport", "package"),
    [
        ("grpc", "amplifier-transport-grpc"),
        ("wasm", "amplifier-transport-wasm"),
        ("rust", "amplifier-transport-rust"),
    ],
)
async def test_an_unknown_transport_names_the_package_that_provides_it(
    workshop: Any, transport: str, package: str
) -> None:
    """The message tells what is installed and what to install."""
    workshop.installed("group.t", {"zeta": "z:z", "alpha": "a:a", "python": "p:p"})
    with pytest.raises(ModuleLoadError) as caught:
        await load(EntryPointIndex("group.t"), transport)
    assert str(caught.value) == (
        f"Module 'tool-x' needs transport '{transport}', which is not installed (installed: python, alpha, zeta). "
        f"Install the package '{package}', which provides it."
    )


async def test_a_transport_nobody_knows_names_the_entry_point_group(workshop: Any) -> None:
    """Anyone may provide one."""
    with pytest.raises(ModuleLoadError) as caught:
        await load(EntryPointIndex("group.empty"), "carrier-pigeon")
    assert str(caught.value) == (
        "Module 'tool-x' needs transport 'carrier-pigeon', which is not installed (installed: python). "
        "Install a package with an entry point 'carrier-pigeon' in the group 'amplifier.transports'."
    )


async def test_a_transport_installed_meanwhile_is_found(workshop: Any) -> None:
    """After the message above people install the package and try again, in the same process."""
    index = EntryPointIndex(TRANSPORT_GROUP)
    with pytest.raises(ModuleLoadError):
        await load(index, "late")
    site = workshop.installed(TRANSPORT_GROUP, {"late": "made_late_transport:load"})
    workshop.package(site, "made_late_transport", LOADERS)
    assert callable(await load(index, "late"))


@pytest.mark.parametrize(
    ("transport", "message", "reason"),
    [
        (
            "broken",
            "Module 'tool-x' found at /m but failed to load: transport 'broken' raised OSError: socket closed",
            "validation_failed",
        ),
        ("precise", "no endpoint", "invalid_module_metadata"),
        (
            "rubbish",
            "Module 'tool-x' found at /m but failed to load: transport 'rubbish' answered int; "
            "expected async def mount(coordinator)",
            "validation_failed",
        ),
        (
            "not_callable",
            "Module 'tool-x' needs transport 'not_callable', whose entry point made_transports:not_callable is str; "
            "expected a callable (module_id, path, manifest, config)",
            "invalid_entry_point",
        ),
        (
            "missing",
            "Module 'tool-x' needs transport 'missing', whose entry point made_transports:missing is broken: "
            "AttributeError: module 'made_transports' has no attribute 'missing'. "
            "Reinstall the package that provides it.",
            "invalid_entry_point",
        ),
    ],
)
async def test_a_faulty_provider_is_named(
    transports: EntryPointIndex, transport: str, message: str, reason: str
) -> None:
    """Whatever a provider does wrong becomes one error that names module, transport and fault."""
    with pytest.raises(ModuleLoadError) as caught:
        await load(transports, transport)
    assert (str(caught.value), caught.value.reason_code) == (message, reason)

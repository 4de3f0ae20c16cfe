"""How a module is reached: ``amplifier.toml`` names the transport, entry points name who can load it.

The kernel loads ``python`` itself. Every other transport is a callable in the entry-point group
``amplifier.transports``: ``(module_id, path, manifest, config) -> mount``, sync or async, where ``mount`` is
``async def mount(coordinator)``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from amplifier_core._awaiting import settle
from amplifier_core._entry_points import EntryPointIndex
from amplifier_core._error_text import describe_error
from amplifier_core.module_sources import ModuleLoadError

TRANSPORT_GROUP = "amplifier.transports"
PYTHON = "python"
MANIFEST_NAME = "amplifier.toml"

_KNOWN_PACKAGES = {
    "grpc": "amplifier-transport-grpc",
    "rust": "amplifier-transport-rust",
    "wasm": "amplifier-transport-wasm",
}


def read_manifest(module_id: str, path: Path) -> dict[str, Any]:
    """What ``amplifier.toml`` in ``path`` says; empty when there is none. A broken one is a ``ModuleLoadError``."""
    manifest_file = path / MANIFEST_NAME
    if not manifest_file.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(manifest_file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModuleLoadError(
            f"Module '{module_id}': failed to parse {MANIFEST_NAME} at {manifest_file}: {describe_error(error)}. "
            "Correct the file, or remove it if the module is a plain Python package.",
            reason_code="invalid_module_metadata",
        ) from error


def transport_of(module_id: str, path: Path, manifest: dict[str, Any]) -> str:
    """The transport that a manifest asks for; ``python`` when it asks for none."""
    section: Any = manifest.get("module", {})
    transport: Any = cast(dict[str, Any], section).get("transport", PYTHON) if isinstance(section, dict) else None
    if isinstance(transport, str) and transport:
        return transport
    raise ModuleLoadError(
        f"Module '{module_id}': {path / MANIFEST_NAME} must name its transport as text in a table [module], "
        f'such as transport = "{PYTHON}".',
        reason_code="invalid_module_metadata",
    )


async def load_by_transport(
    installed: EntryPointIndex,
    transport: str,
    module_id: str,
    path: Path,
    manifest: dict[str, Any],
    config: dict[str, Any],
) -> Callable[[Any], Awaitable[Any]]:
    """The mount function that the provider of ``transport`` makes for the module at ``path``."""
    load = _require_transport(installed, transport, module_id)
    try:
        mount: Any = await settle(load(module_id, path, manifest, config))
    except ModuleLoadError:
        raise
    except Exception as error:
        raise ModuleLoadError(
            f"Module '{module_id}' found at {path} but failed to load: "
            f"transport '{transport}' raised {describe_error(error)}"
        ) from error
    if not callable(mount):
        raise ModuleLoadError(
            f"Module '{module_id}' found at {path} but failed to load: transport '{transport}' answered "
            f"{type(mount).__name__}; expected async def mount(coordinator)"
        )
    return cast("Callable[[Any], Awaitable[Any]]", mount)


def _require_transport(installed: EntryPointIndex, transport: str, module_id: str) -> Callable[..., Any]:
    entry = installed.find_even_if_new(transport)
    if entry is None:
        raise ModuleLoadError(_unknown_transport(installed, transport, module_id))
    try:
        load = entry.load()
    except (Exception, SystemExit) as error:
        raise ModuleLoadError(
            f"Module '{module_id}' needs transport '{transport}', whose entry point {entry.value} is broken: "
            f"{describe_error(error)}. Reinstall the package that provides it.",
            reason_code="invalid_entry_point",
        ) from error
    if not callable(load):
        raise ModuleLoadError(
            f"Module '{module_id}' needs transport '{transport}', whose entry point {entry.value} is "
            f"{type(load).__name__}; expected a callable (module_id, path, manifest, config)",
            reason_code="invalid_entry_point",
        )
    return load


def _unknown_transport(installed: EntryPointIndex, transport: str, module_id: str) -> str:
    others = sorted(entry.name for entry in installed.all() if entry.name != PYTHON)
    package = _KNOWN_PACKAGES.get(transport)
    way_out = (
        f"Install the package '{package}', which provides it."
        if package
        else f"Install a package with an entry point '{transport}' in the group '{TRANSPORT_GROUP}'."
    )
    return (
        f"Module '{module_id}' needs transport '{transport}', which is not installed "
        f"(installed: {', '.join([PYTHON, *others])}). {way_out}"
    )

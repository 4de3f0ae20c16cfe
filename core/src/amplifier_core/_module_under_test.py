"""One module while a test runs: loaded from its file afresh, mounted on a coordinator, cleaned up afterwards."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from amplifier_core._awaiting import settle
from amplifier_core._discovery import TYPE_TO_MOUNT_POINT
from amplifier_core._installed import Checkpoint
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.interfaces import implements


class UntestableModuleError(Exception):
    """A module broke a promise before or after its test: it did not mount, or its clean-up raised."""


@asynccontextmanager
async def mounted_for_test(
    path: Path, kind: str, coordinator: ModuleCoordinator, config: dict[str, Any]
) -> AsyncGenerator[Any]:
    """Mounts the module at ``path`` for the time of the block and gives what it mounted first, of ``kind``.

    For a hook it gives the clean-up function that ``mount`` returned, or ``None``. A test may call that one itself, so
    its second run, at the end, may fail; that of any other module may not.
    """
    with loaded_by_file(path) as module:
        checkpoint, returned = Checkpoint(coordinator), None
        try:
            returned = await _mount(path, module, coordinator, config)
            yield _cleanup_in(kind, returned) if kind == "hook" else _instance(path, kind, checkpoint, returned, config)
        finally:
            await _clean_up(coordinator, _cleanup_in(kind, returned))
        problems = coordinator.report.cleanup_errors
        if problems and kind != "hook":
            raise UntestableModuleError(
                f"Cleaning up after {path} failed: {'; '.join(problems)}. A clean-up must not raise: it runs at the "
                "end of every session, also when the module was never used."
            )


@contextmanager
def loaded_by_file(path: Path) -> Generator[ModuleType]:
    """A new module object made from the package folder or ``.py`` file at ``path``, for the time of the block.

    Where the same file is imported already, as by the test itself, its submodules are shared, so that what a test has
    replaced in them stays replaced. Otherwise the package has the place of its name in ``sys.modules`` to itself, and
    leaves it at the end as it was.
    """
    name, file = (path.name, path / "__init__.py") if path.is_dir() else (path.stem, path)
    folders = [str(path)] if path.is_dir() else None
    spec = spec_from_file_location(name, file, submodule_search_locations=folders)
    if not file.is_file() or spec is None or spec.loader is None:
        raise UntestableModuleError(f"There is no module at {path}: expected a folder with __init__.py, or a .py file")
    module = module_from_spec(spec)
    if _is_loaded_from(name, file):
        spec.loader.exec_module(module)
        yield module
        return
    before = _take_out(name)
    sys.modules[name] = module
    # The cached listing of a folder that has just been written may miss a submodule.
    sys.path_importer_cache.pop(str(path), None)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        _take_out(name)
        sys.modules.update(before)


async def _mount(path: Path, module: ModuleType, coordinator: ModuleCoordinator, config: dict[str, Any]) -> Any:
    mount = getattr(module, "mount", None)
    if not callable(mount):
        raise UntestableModuleError(
            f"{path} has no mount() function; write: async def mount(coordinator, config) in its __init__.py"
        )
    try:
        return await settle(mount(coordinator, config))
    except SystemExit as error:
        raise UntestableModuleError(
            f"mount() of {path} called sys.exit({error.code!r}); raise an error that says what is missing, or return "
            "None to mount nothing"
        ) from error


def _instance(path: Path, kind: str, checkpoint: Checkpoint, returned: Any, config: dict[str, Any]) -> Any:
    mounted = checkpoint.installation().modules.at(TYPE_TO_MOUNT_POINT[kind])
    if mounted:
        return mounted[0].value
    if implements(kind, returned):
        return returned
    raise UntestableModuleError(
        f"mount(coordinator, {config!r}) of {path} mounted no {kind}, nor did it return one. Call "
        f"coordinator.mount({TYPE_TO_MOUNT_POINT[kind]!r}, …) in it. If it mounts nothing without a key or a setting, "
        "give it one in conftest.py: set the environment variable in an autouse fixture, or define a fixture "
        "'amplifier_module_config' that returns the config."
    )


def _cleanup_in(kind: str, returned: Any) -> Callable[[], Any] | None:
    is_instance = kind != "hook" and implements(kind, returned)
    return returned if callable(returned) and not is_instance else None


async def _clean_up(coordinator: ModuleCoordinator, cleanup: Callable[[], Any] | None) -> None:
    if cleanup is not None and not coordinator.has_cleanup(cleanup):
        coordinator.register_cleanup(cleanup)
    await coordinator.cleanup()


def _is_loaded_from(name: str, file: Path) -> bool:
    origin = getattr(sys.modules.get(name), "__file__", None)
    return origin is not None and Path(origin).resolve() == file.resolve()


def _take_out(name: str) -> dict[str, ModuleType]:
    """Removes a package and its submodules from ``sys.modules`` and gives them."""
    names = [each for each in sys.modules if each == name or each.startswith(name + ".")]
    return {each: sys.modules.pop(each) for each in names}

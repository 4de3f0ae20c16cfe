"""Where modules come from: the two protocols of module sources and the errors of finding and loading a module.

Strategies (workspace, git, packages, …) belong to applications; the kernel only defines what they look like.

    Exception
    ├── ValueError
    │   └── ModuleNotFoundError      nobody knows the module
    └── ModuleValidationError        the module is there and not right
        └── ModuleLoadError          … and cannot be loaded (also a ValueError)
            └── SecondSourceError    … because it is loaded from elsewhere already (also an ImportError)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

__all__ = [
    "MODULE_FAILURE_REASONS",
    "FileSystemModuleSource",
    "ModuleLoadError",
    "ModuleNotFoundError",
    "ModuleSource",
    "ModuleSourceResolver",
    "ModuleValidationError",
    "module_failure_reason",
]

MODULE_FAILURE_REASONS = frozenset(
    {
        "invalid_package_layout",
        "missing_source",
        "invalid_entry_point",
        "invalid_module_metadata",
        "validation_failed",
        "unknown",
    }
)


class ModuleNotFoundError(ValueError):
    """Nobody knows the module; ``tried`` tells the places that were looked at, in order.

    Unrelated to the builtin of the same name.
    """

    reason_code = "missing_source"

    def __init__(self, message: object = "", *args: object, tried: Iterable[str] = ()) -> None:
        super().__init__(message, *args)
        self.tried = tuple(tried)


class ModuleValidationError(Exception):
    """The module was found and is not what a module must be; ``reason_code`` is one of ``MODULE_FAILURE_REASONS``."""

    def __init__(self, message: object = "", *args: object, reason_code: str = "validation_failed") -> None:
        super().__init__(message, *args)
        self.reason_code = reason_code


class ModuleLoadError(ModuleValidationError, ValueError):
    """The module was found and cannot be loaded: it does not import, has no ``mount``, refuses its config, …"""


class SecondSourceError(ModuleLoadError, ImportError):
    """The module, or its package, is already loaded from another place, and one process can hold only one."""


@runtime_checkable
class ModuleSource(Protocol):
    """One place a module can be had from. Any object with ``resolve()`` is one; subclassing works as well."""

    @abstractmethod
    def resolve(self) -> Path:
        """The folder that holds the importable package.

        Raises ``ModuleNotFoundError`` when the source has no such module, ``OSError`` when it cannot be read.
        """
        ...


@runtime_checkable
class ModuleSourceResolver(Protocol):
    """An application's way from a module id to a source; mounted at ``module-source-resolver``.

    The loader also takes ``resolve(module_id)`` and ``resolve(module_id, profile_hint)``, and prefers ``async_resolve``
    with the same arguments where there is one.
    """

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> ModuleSource:
        """The source of ``module_id``; raises ``ModuleNotFoundError`` when there is none."""
        ...


class FileSystemModuleSource:
    """A plain list of folders that hold modules."""

    def __init__(self, paths: list[str] | None = None) -> None:
        self._paths = list(paths or [])

    def get_module_paths(self) -> list[str]:
        """The folders, as a copy."""
        return list(self._paths)

    def get_mention_mappings(self) -> dict[str, str]:
        """Names that users may mention, with their folders; a plain list of folders has none."""
        return {}


def module_failure_reason(error: BaseException) -> str:
    """The stable reason code of a failure to load a module: one of ``MODULE_FAILURE_REASONS``."""
    code = error.reason_code if isinstance(error, ModuleNotFoundError | ModuleValidationError) else "unknown"
    return code if code in MODULE_FAILURE_REASONS else "unknown"

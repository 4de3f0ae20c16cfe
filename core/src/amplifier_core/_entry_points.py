"""Installed entry points of one group, read once and again on demand."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from amplifier_core._error_text import describe_error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

logger = logging.getLogger(__name__)


class EntryPointIndex:
    """The entry points of ``group`` by name; lives as long as the loader that owns it.

    Reading walks over every installed distribution, so it happens once, and once more only through ``refresh``.
    ``problem`` says why the last reading failed, if it did.
    """

    def __init__(self, group: str) -> None:
        self.group = group
        self.problem: str | None = None
        self._by_name: dict[str, EntryPoint] | None = None

    @property
    def is_read(self) -> bool:
        """Whether the index was read already, so that what was installed since is missing."""
        return self._by_name is not None

    def find(self, name: str) -> EntryPoint | None:
        """The entry point of that name, or ``None``."""
        return self._entries().get(name)

    def find_even_if_new(self, name: str) -> EntryPoint | None:
        """Like ``find``, but looks a second time when the name is missing from an earlier reading."""
        was_read = self.is_read
        entry = self.find(name)
        if entry is None and was_read:
            self.refresh()
            entry = self.find(name)
        return entry

    def all(self) -> list[EntryPoint]:
        """Every entry point, in the order of the import path; of two with one name only the first."""
        return list(self._entries().values())

    def refresh(self) -> None:
        """Forgets what was read, here and in the import system, so that freshly installed packages are seen."""
        import importlib

        importlib.invalidate_caches()
        self._by_name = None

    def _entries(self) -> dict[str, EntryPoint]:
        if self._by_name is None:
            self._by_name = self._read()
        return self._by_name

    def _read(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points

        self.problem = None
        try:
            found = list(entry_points(group=self.group))
        except Exception as error:  # one damaged distribution makes the whole listing raise
            self.problem = describe_error(error)
            logger.warning("Cannot read the entry points of group '%s': %s", self.group, self.problem)
            return {}
        by_name: dict[str, EntryPoint] = {}
        for entry in found:
            first = by_name.setdefault(entry.name, entry)
            if first.value != entry.value:
                logger.warning(
                    "Two packages provide '%s' in '%s': using %s, ignoring %s",
                    entry.name,
                    self.group,
                    first.value,
                    entry.value,
                )
        return by_name

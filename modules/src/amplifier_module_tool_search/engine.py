"""What an engine is: it searches files that were chosen before, and tells which of their lines match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from amplifier_module_tool_search.dialect import Expression

EVERY_LINE = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for."""

    expression: Expression
    ignores_case: bool = False
    is_multiline: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """The files that are searched: paths below ``root`` with slashes between their names."""

    root: Path
    names: Sequence[str]
    max_bytes: int
    """None of them was larger when they were chosen."""


class Engine(Protocol):
    """Searches files; ended when the task that waits for it is cancelled.

    A line belongs to a match if any part of it does. Files that cannot be read have no matches.
    """

    async def files(self, query: Query, files: Files) -> dict[str, int]:
        """The files that match, each with 1 at least."""
        ...

    async def counts(self, query: Query, files: Files) -> dict[str, int]:
        """The files that match, each with the count of its lines that do."""
        ...

    async def lines(self, query: Query, files: Files, most: int) -> dict[str, list[int]]:
        """The files that match, each with the numbers of its lines that do, from 1; ``most`` of them at least."""
        ...

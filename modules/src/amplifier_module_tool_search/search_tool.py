"""What both tools have in common: a time limit, and whatever goes wrong becomes a result that tells what to do."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from amplifier_core.models import ToolResult
from amplifier_modkit.paths.errors import InvalidPathError, PathDeniedError, shown
from amplifier_module_tool_search.place import SearchPlace
from amplifier_module_tool_search.problems import ProblemError, TooLongError

MOST_CHARS = 262_144
"""The most that one result has, whatever limit was asked for."""


class SearchTool(ABC):
    """A tool of this module, for one session."""

    name: str
    description: str
    input_schema: dict[str, Any]

    def __init__(self, place: SearchPlace, timeout_s: float) -> None:
        self.place = place
        self._timeout_s = timeout_s

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Searches; a failure is a result as well, with ``type`` and ``message`` in its error."""
        try:
            return ToolResult(output=await self._search_in_time(input))
        except ProblemError as problem:
            return _failure(str(problem), problem.kind)
        except PathDeniedError as error:
            return _failure(str(error), "denied")
        except InvalidPathError as error:
            return _failure(str(error), "invalid_input")
        except OSError as error:
            at = f" at {shown(str(error.filename))}" if error.filename else ""
            return _failure(f"The search could not go on{at}: {error.strerror or error}. Check 'path'.", "io_error")

    @abstractmethod
    async def search(self, given: dict[str, Any]) -> dict[str, Any]:
        """What was found; or raises ``ProblemError`` or ``OSError``."""

    async def _search_in_time(self, given: dict[str, Any]) -> dict[str, Any]:
        scope = asyncio.timeout(self._timeout_s)
        try:
            async with scope:
                return await self.search(given)
        except TimeoutError as error:
            if scope.expired():
                raise TooLongError(self._timeout_s) from error
            raise


class Page:
    """What of a list goes into one result: after ``offset``, ``limit`` entries at most (0 for all), and bounded."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset = offset
        self.limit = limit
        self._room = MOST_CHARS

    def of(self, entries: list[str]) -> list[str]:
        """The entries that fit."""
        end = self.offset + self.limit if self.limit else None
        return [entry for entry in entries[self.offset : end] if self.takes(entry)]

    def takes(self, *texts: str) -> bool:
        """Whether an entry with these texts fits as well; once one does not, none does."""
        # What stands around them in JSON costs as well.
        self._room = self._room - sum(map(len, texts)) - 40 if self._room >= 0 else self._room
        return self._room >= 0

    def ending(self, total: int, count: int) -> dict[str, Any]:
        """How a result with ``count`` of ``total`` entries ends."""
        following = self.offset + count
        if following >= total:
            return {"results_capped": False}
        return {"results_capped": True, "next_offset": following}


def _failure(message: str, kind: str) -> ToolResult:
    return ToolResult(success=False, error={"message": message, "type": kind})

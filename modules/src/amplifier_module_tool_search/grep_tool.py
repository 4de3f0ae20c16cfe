"""The tool ``grep``: which files hold a pattern, in which lines, how often."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import Any

from amplifier_module_tool_search.choosing import Choice, Chooser, told_of
from amplifier_module_tool_search.config import SearchConfig
from amplifier_module_tool_search.engine import Engine
from amplifier_module_tool_search.excerpts import Excerpts, Window, windows
from amplifier_module_tool_search.place import IsStopped, SearchPlace
from amplifier_module_tool_search.python_engine import PythonEngine
from amplifier_module_tool_search.ripgrep import Ripgrep
from amplifier_module_tool_search.search_tool import MOST_CHARS, Page, SearchTool
from amplifier_module_tool_search.walking import Scope, StoppedError
from amplifier_module_tool_search.wishes import GREP_SCHEMA, GrepWish

# No line of a result takes less.
_MOST_LINES = MOST_CHARS // 40


class GrepTool(SearchTool):
    """Searches in files."""

    name = "grep"
    description = (
        "Searches the text of files for a regular expression. Gives the paths of the files that match; with "
        "output_mode 'content' the lines, with 'count' how many lines of each file match. Hidden, git-ignored and "
        "excluded files (node_modules, build, …) are left out unless include_ignored is true; binary files always. "
        "Results are in the order of their paths; when results_capped is true, go on with offset = next_offset."
    )
    input_schema = GREP_SCHEMA

    def __init__(self, place: SearchPlace, config: SearchConfig) -> None:
        super().__init__(place, config.grep.timeout)
        self._config = config

    async def search(self, given: dict[str, Any]) -> dict[str, Any]:
        """What was found, in the form that the mode asks for."""
        wish = GrepWish.from_input(given, self._config)
        grep = self._config.grep
        scope = Scope(grep.exclusions, wish.includes_ignored)
        choice = await self.place.work(Chooser(self.place, wish.path, scope, wish.filters, grep.max_file_size).chosen)
        engine = await self.place.work(lambda is_stopped: engine_for(grep.timeout))
        search = engine.files if wish.mode == "files_with_matches" else engine.counts
        counts = await search(wish.query, choice.files)
        names = await self.place.work(told_of(self.place, choice.root, counts))
        told = [(name, counts[name]) for name in names]
        page = Page(wish.offset, wish.limit)
        if wish.mode == "content":
            found = await self._content(wish, choice, engine, told, page)
        else:
            found = self._listing(wish, choice, told, page)
        return {"pattern": wish.pattern, "output_mode": wish.mode, **found, **self._notes(choice)}

    def _listing(self, wish: GrepWish, choice: Choice, told: list[tuple[str, int]], page: Page) -> dict[str, Any]:
        paths = {self.place.told(choice.root, name): count for name, count in told}
        files = page.of(list(paths))
        found: dict[str, Any] = {"total_matches": len(paths), "matches_count": len(files)}
        if wish.mode == "count":
            found |= {"total_lines": sum(paths.values()), "counts": {file: paths[file] for file in files}}
        else:
            found["files"] = files
        return found | page.ending(len(paths), len(files))

    async def _content(
        self, wish: GrepWish, choice: Choice, engine: Engine, told: list[tuple[str, int]], page: Page
    ) -> dict[str, Any]:
        limit = min(wish.limit or _MOST_LINES, _MOST_LINES)
        shown = windows(told, wish.offset, limit)
        files = replace(choice.files, names=[window.name for window in shown])
        most = max((window.skip + window.take for window in shown), default=0)
        lines = await engine.lines(wish.query, files, most) if shown else {}
        excerpts = Excerpts(self.place, choice.root, wish, page, choice.files.max_bytes)

        def collect(is_stopped: IsStopped) -> None:
            _collect(excerpts, shown, lines, is_stopped)

        await self.place.work(collect)
        total = sum(count for _, count in told)
        found = {"total_matches": total, "matches_count": excerpts.count, "results": excerpts.results}
        return found | page.ending(total, excerpts.count)

    def _notes(self, choice: Choice) -> dict[str, Any]:
        if not choice.too_large:
            return {}
        most = self._config.grep.max_file_size
        return {"note": f"Not searched: {choice.too_large} files of more than {most:,} bytes."}


def engine_for(timeout_s: float) -> Engine:
    """ripgrep if it is installed, otherwise Python."""
    found = shutil.which("rg")
    # What is found in the current directory may have been put there by anybody.
    return Ripgrep(found) if found and os.path.isabs(found) else PythonEngine(timeout_s)  # noqa: PTH117


def _collect(excerpts: Excerpts, shown: list[Window], lines: dict[str, list[int]], is_stopped: IsStopped) -> None:
    for window in shown:
        if is_stopped():
            raise StoppedError("The search was stopped.")
        if not excerpts.add(window, lines.get(window.name, ())):
            return

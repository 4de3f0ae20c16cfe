"""The lines that a search shows, with what is around them. They are read here, through the path policy: an engine tells
numbers only, so whatever somebody does to a file meanwhile, nothing is shown that may not be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amplifier_module_tool_search.place import Root, SearchPlace
from amplifier_module_tool_search.search_tool import Page
from amplifier_module_tool_search.texts import content_of, lines_of, shown
from amplifier_module_tool_search.wishes import GrepWish


@dataclass(frozen=True, slots=True)
class Window:
    """Which of the matching lines of one file are shown: the first ``skip`` are not, then ``take`` are."""

    name: str
    skip: int
    take: int


def windows(counts: Sequence[tuple[str, int]], offset: int, limit: int) -> list[Window]:
    """What of each file is on a page of matching lines, of files with these counts."""
    found: list[Window] = []
    for name, count in counts:
        skip = min(offset, count)
        take = min(count - skip, limit)
        offset, limit = offset - skip, limit - take
        if take:
            found.append(Window(name, skip, take))
    return found


class Excerpts:
    """Collects the lines of one result."""

    def __init__(self, place: SearchPlace, root: Root, wish: GrepWish, page: Page, max_bytes: int) -> None:
        self._place = place
        self._root = root
        self._wish = wish
        self._page = page
        self._max_bytes = max_bytes
        self.results: list[dict[str, Any]] = []
        self.count = 0
        """How many of them match."""

    def add(self, window: Window, numbers: Sequence[int]) -> bool:
        """Adds the lines of one file; returns whether there is room for more."""
        matching = numbers[window.skip : window.skip + window.take]
        try:
            lines = self._lines(window.name)
        except OSError:  # gone or denied meanwhile
            return True
        wanted: dict[int, bool] = {}
        for number in matching:
            for each in range(max(1, number - self._wish.before), min(len(lines), number + self._wish.after) + 1):
                wanted.setdefault(each, False)
        wanted.update((number, True) for number in matching if number <= len(lines))
        file = self._place.told(self._root, window.name)
        return all(self._add_line(file, number, lines[number - 1], wanted[number]) for number in sorted(wanted))

    def _lines(self, name: str) -> list[bytes]:
        with self._place.policy.open_read(self._root.folder.joinpath(*name.split("/"))) as file:
            data = bytearray()
            while len(data) < self._max_bytes and (piece := file.stream.read(self._max_bytes - len(data))):
                data += piece
        return lines_of(content_of(bytes(data)))

    def _add_line(self, file: str, number: int, line: bytes, is_match: bool) -> bool:
        content = shown(line)
        if not self._page.takes(file, content):
            return False
        entry: dict[str, Any] = {"file": file}
        if self._wish.has_numbers:
            entry["line_number"] = number
        entry["content"] = content
        if not is_match:
            entry["is_context"] = True
        self.results.append(entry)
        self.count += is_match
        return True

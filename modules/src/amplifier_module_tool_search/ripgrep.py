"""ripgrep as an engine: it is given the files by name, and tells counts or the numbers of lines, never their text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from amplifier_module_tool_search.children import run
from amplifier_module_tool_search.engine import Files, Query
from amplifier_module_tool_search.problems import EngineError

_ALWAYS = (
    "--no-config",
    "--no-messages",
    "--no-mmap",
    "--text",
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--null",
    "--regex-size-limit=100M",
)
_IN_FRONT = "./"
# Less than what systems take as the words of a program: 2 MB, of which the environment has its share, and 32 kB.
_MOST_WORDS_BYTES = 1_000_000 if os.name == "posix" else 24_000
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\n")
_NAME = re.compile(rb"([^\0]+)\0()")
_LINE = re.compile(rb"([^\0]+)\0(\d+):[^\n]*\n")
_ENVIRONMENT = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")


class Ripgrep:
    """Searches with the ``rg`` at ``program``."""

    def __init__(self, program: str) -> None:
        self._program = program

    async def files(self, query: Query, files: Files) -> dict[str, int]:
        """The files that match."""
        if query.is_multiline:
            # An empty match at the end of a file counts for the other modes only.
            return dict.fromkeys(await self.lines(query, files, 0), 1)
        return dict.fromkeys([name for name, _ in await self._told(query, files, ["--files-with-matches"], _NAME)], 1)

    async def counts(self, query: Query, files: Files) -> dict[str, int]:
        """The files that match with their counts of lines."""
        if query.is_multiline:
            return {name: len(lines) for name, lines in (await self.lines(query, files, 0)).items()}
        return {name: int(count) for name, count in await self._told(query, files, ["--count"], _COUNT)}

    async def lines(self, query: Query, files: Files, most: int) -> dict[str, list[int]]:
        """The numbers of the lines that match."""
        # A line that is longer than one byte is left out of the output, which is for numbers only.
        options = ["--line-number", "--max-columns=1"]
        if not query.is_multiline:
            options.append(f"--max-count={most}")
        lines: dict[str, list[int]] = {}
        for name, number in await self._told(query, files, options, _LINE):
            lines.setdefault(name, []).append(int(number))
        return lines

    async def _told(
        self, query: Query, files: Files, options: Sequence[str], form: re.Pattern[bytes]
    ) -> list[tuple[str, bytes]]:
        told: list[tuple[str, bytes]] = []
        for names in _batches(files.names):
            told += await self._run(query, replace(files, names=names), options, form)
        return told

    async def _run(
        self, query: Query, files: Files, options: Sequence[str], form: re.Pattern[bytes]
    ) -> list[tuple[str, bytes]]:
        told: list[tuple[str, bytes]] = []
        rest = bytearray()

        def take(data: bytes) -> None:
            rest.extend(data)
            end = 0
            while found := form.match(rest, end):
                told.append((_name(found[1]), found[2]))
                end = found.end()
            del rest[:end]

        words = [self._program, *_ALWAYS, *options, *_flags(query), "-e", query.expression.ripgrep, "--"]
        words += [_IN_FRONT + name for name in files.names]
        env = {key: value for key in _ENVIRONMENT if (value := os.environ.get(key)) is not None}
        code, complaints = await run(words, cwd=files.root, env=env, told=b"", take=take)
        if code not in (0, 1) and (complaints or code != 2):
            raise EngineError(f"ripgrep could not search (exit code {code}): {complaints or 'it does not say why'}")
        return told


def _flags(query: Query) -> list[str]:
    of_lines = ["--multiline", "--multiline-dotall"] if query.is_multiline else []
    return [*of_lines, "--ignore-case" if query.ignores_case else "--case-sensitive"]


def _name(told: bytes) -> str:
    return os.fsdecode(told).replace(os.sep, "/").removeprefix(_IN_FRONT)


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        # Each word costs its bytes, their end, and the pointer to them.
        cost = len(os.fsencode(name)) + 11
        if batch and size + cost > _MOST_WORDS_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += cost
    if batch:
        yield batch

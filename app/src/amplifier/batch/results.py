"""The results of a batch: a line of JSON per item, written whole when the item is done, read again after a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

from amplifier.batch.items import Item
from amplifier.console.results import result_of
from amplifier.problems import SettingsProblem, StorageProblem
from amplifier.runtime.outcome import TurnOutcome
from amplifier.settings.files import locked


class Results:
    """One file of results, open for one batch."""

    def __init__(self, path: Path, descriptor: int, done: dict[str, tuple[str, bool]]) -> None:
        self.path = path
        self._descriptor = descriptor
        self._done = done

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Generator[Self]:
        """The results in ``path``, nobody else's for the time of the block; a line that a kill cut off is taken away.

        Raises ``StorageProblem`` for a file that another batch is writing, or that cannot be written.
        """
        try:
            with locked(path, timeout_s=0) as target:
                _cut_torn_line(target)
                descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
                try:
                    yield cls(path, descriptor, _done_in(target))
                finally:
                    os.close(descriptor)
        except SettingsProblem as problem:
            raise StorageProblem(problem.message, "Is another batch writing it? Choose another file with -o.") from None
        except OSError as error:
            raise _cannot_write(path, error) from None

    def is_done(self, item: Item, *, retries_failed: bool) -> bool:
        """Whether there is a result of this very item; a failed one counts unless failed ones are tried again."""
        digest, is_error = self._done.get(item.id, ("", False))
        return digest == item.digest and not (is_error and retries_failed)

    def append(self, item: Item, outcome: TurnOutcome) -> None:
        """Writes the result of an item as one line, at once."""
        more = {"metadata": item.metadata} if item.metadata else {}
        line = {"id": item.id, "digest": item.digest, "line": item.line, **result_of(outcome), **more}
        data = json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace") + b"\n"
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            raise _cannot_write(self.path, error) from None
        if written != len(data):  # the disk is full; the rest of the line is cut off at the next start
            raise StorageProblem(f"{self.path} cannot be written: the disk is full.", "Make room, and start it again.")


def _done_in(path: Path) -> dict[str, tuple[str, bool]]:
    """By id: the digest of the item that was run last, and whether it failed."""
    return {
        str(line["id"]): (str(line.get("digest", "")), bool(line.get("is_error")))
        for line in _lines(path)
        if "id" in line
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line: Any = json.loads(raw)
            except ValueError:
                raise StorageProblem(
                    f"{path}:{number}: is no line of results.", "Is it the right file? Choose another one with -o."
                ) from None
            if isinstance(line, dict):
                yield cast("dict[str, Any]", line)


def _cut_torn_line(path: Path) -> None:
    """Takes away what stands behind the last line end: the line that a killed process was writing."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = size = file.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - 65536)
            file.seek(begin)
            newline = file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
        if end != size:
            file.truncate(end)


def _cannot_write(path: Path, error: OSError) -> StorageProblem:
    return StorageProblem(f"{path} cannot be written: {error.strerror}.", "Choose another file with -o.")

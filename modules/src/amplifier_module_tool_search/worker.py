"""The process that searches where there is no ripgrep: one job from its input, one line of JSON for each file that
matches to its output.

A pattern can be made to run for ever, and Python does not let go of it. Here it costs one process, which whoever has
started it can end, and which ends by itself when its time is over.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from amplifier_module_tool_search.texts import content_of


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Reads a line of JSON that describes the job, and behind it the names of the files, each ended by a NUL.

    Writes the number of each file that matches, and its count of lines, or the lines if the job wants them.
    """
    job = json.loads(source.readline())
    _end_in_time(job["max_seconds"])
    flags = _flags(job)
    patterns = re.compile(job["pattern"], flags), re.compile(job["careful_pattern"], flags)
    for number, name in enumerate(source.read().split(b"\0")[:-1]):
        found = list(islice(matching_lines(patterns, _read(name, job["max_bytes"]), job), job["most_lines"]))
        if found:
            answer = [number, found if job["wants_lines"] else len(found)]
            sink.write(json.dumps(answer).encode("ascii") + b"\n")
    sink.flush()


def matching_lines(
    patterns: tuple[re.Pattern[str], re.Pattern[str]], data: bytes, job: dict[str, Any]
) -> Iterator[int]:
    """The numbers of the lines that match, from 1; with ``is_multiline``, of those that belong to a match.

    The second pattern is for what is not all text.
    """
    content = content_of(data)
    try:
        text, pattern = content.decode("utf-8"), patterns[0]
    except UnicodeDecodeError:
        text, pattern = content.decode("utf-8", "surrogateescape"), patterns[1]
    if job["is_multiline"]:
        yield from _spanned_lines(pattern, text)
        return
    lines = text.split("\n")
    last = len(lines) - (not lines[-1])
    for number, line in enumerate(islice(lines, last), 1):
        if pattern.search(line):
            yield number


def _spanned_lines(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    at, counted_to, line, told = 0, 0, 1, 0
    # Behind the last line end there is no line.
    end = len(text) - text.endswith("\n")
    while at < len(text) and (match := pattern.search(text, at)) and match.start() <= end:
        line += text.count("\n", counted_to, match.start())
        counted_to = max(match.start(), match.end() - 1)
        first, line = line, line + text.count("\n", match.start(), counted_to)
        yield from range(max(first, told + 1), line + 1)
        told = line
        at = match.end() + (match.end() == match.start())


def _read(name: bytes, max_bytes: int) -> bytes:
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # gone meanwhile, or not ours to see: there is nothing to find
        return b""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(max_bytes)


def _flags(job: dict[str, Any]) -> int:
    of_lines = re.MULTILINE | re.DOTALL if job["is_multiline"] else 0
    return of_lines | (re.IGNORECASE if job["ignores_case"] else 0)


def _end_in_time(max_seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max_seconds)

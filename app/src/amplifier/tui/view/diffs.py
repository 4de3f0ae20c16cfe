"""What an edit changes, as lines with a sign: from the arguments of the tools that write files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

Sign = Literal["+", "-", " ", "@"]
Former = Callable[[str], str | None]
"""What a file holds before it is written; ``None`` if it is not there or nobody may know."""

_MOST_COMPARED = 2_000
_CONTEXT = 2
_NOISE = ("diff --git ", "index ", "old mode ", "new mode ", "similarity index ", "*** Begin Patch", "*** End Patch")
_HEADERS = ("--- ", "+++ ", "@@", "*** ", "rename ", "deleted file", "new file")


@dataclass(frozen=True, slots=True)
class Diff:
    """Changed lines and what stands around them; ``@`` marks a line about the place."""

    lines: tuple[tuple[Sign, str], ...]

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(sign == "+" for sign, _ in self.lines)

    @property
    def removed(self) -> int:
        """How many lines went."""
        return sum(sign == "-" for sign, _ in self.lines)


def diff_of(tool_name: str, given: Any, former: Former = lambda path: None) -> Diff | None:
    """The diff of a call that edits files; ``None`` for every other call."""
    if not isinstance(given, Mapping):
        return None
    arguments = cast("Mapping[str, Any]", given)
    maker = _MAKERS.get(tool_name)
    lines = () if maker is None else tuple(maker(arguments, former))
    return Diff(lines) if lines else None


def _edited(given: Mapping[str, Any], former: Former) -> Iterator[tuple[Sign, str]]:
    several = given.get("edits")
    edits = cast("list[object]", several) if isinstance(several, list) else [cast("object", given)]
    for number, each in enumerate(edits):
        if isinstance(each, Mapping):
            edit = cast("Mapping[str, Any]", each)
            if number:
                yield "@", "…"
            # Places are counted from the beginning of the quoted text, and mean nothing in the file.
            compared = _compared(_lines(edit.get("old_string")), _lines(edit.get("new_string")))
            yield from (line for line in compared if line[0] != "@")


def _written(given: Mapping[str, Any], former: Former) -> Iterator[tuple[Sign, str]]:
    before = former(str(given.get("file_path")))
    yield from _compared(_lines(before), _lines(given.get("content")))


def _patched(given: Mapping[str, Any], former: Former) -> Iterator[tuple[Sign, str]]:
    for line in _lines(given.get("patch")):
        if line.startswith(_HEADERS) and not line.startswith(_NOISE):
            yield "@", line
        elif line.startswith("+"):
            yield "+", line[1:]
        elif line.startswith("-"):
            yield "-", line[1:]
        elif not line.startswith(_NOISE):
            yield " ", line[1:]


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Sign, str]]:
    if max(len(before), len(after)) > _MOST_COMPARED:
        # Comparing takes time that grows with the square, while the chat waits.
        for line in before:
            yield "-", line
        for line in after:
            yield "+", line
        return
    is_first = True
    for line in difflib.unified_diff(before, after, lineterm="", n=_CONTEXT):
        if line.startswith(("--- ", "+++ ")) and is_first:
            is_first = line.startswith("--- ")
        elif line.startswith("@@"):
            is_first = False
            if before:
                yield "@", line
        else:
            yield cast("Sign", line[0]), line[1:]


def _lines(text: Any) -> list[str]:
    return text.splitlines() if isinstance(text, str) else []


_MAKERS = {"edit_file": _edited, "write_file": _written, "apply_patch": _patched}

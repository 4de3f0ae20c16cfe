"""What an edit changes, as lines with a sign: from the arguments of the tools that write files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from amplifier.console.proposal import edited

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
    before = former(str(given.get("file_path")))
    after = edited(before, given)
    if before is not None and after is not None:
        yield from _compared(_lines(before), _lines(after))
    else:
        yield from _quoted(given)


def _quoted(given: Mapping[str, Any]) -> Iterator[tuple[Sign, str]]:
    """Edits of a file that nobody knows: what is quoted of it."""
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
    skipped = _common(before, after)
    before, after = before[skipped:], after[skipped:]
    left = _common(before[::-1], after[::-1])
    before, after = before[: len(before) - left], after[: len(after) - left]
    if max(len(before), len(after)) > _MOST_COMPARED:
        # Comparing takes time that grows with the square, while the chat waits.
        yield from _signed("-", before)
        yield from _signed("+", after)
        return
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT):
        if before:
            first, last = group[0], group[-1]
            places = _place(skipped + first[1], last[2] - first[1]), _place(skipped + first[3], last[4] - first[3])
            yield "@", f"@@ -{places[0]} +{places[1]} @@"
        for kind, start, end, other_start, other_end in group:
            if kind == "equal":
                yield from _signed(" ", before[start:end])
            else:
                yield from _signed("-", before[start:end])
                yield from _signed("+", after[other_start:other_end])


def _signed(sign: Sign, lines: Sequence[str]) -> Iterator[tuple[Sign, str]]:
    return ((sign, line) for line in lines)


def _common(before: Sequence[str], after: Sequence[str]) -> int:
    """How many lines are the same at the beginning, but for those that are shown around a change."""
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    return max(0, same - _CONTEXT)


def _place(start: int, count: int) -> str:
    """Where lines stand, as programs write it."""
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def _lines(text: Any) -> list[str]:
    return text.splitlines() if isinstance(text, str) else []


_MAKERS = {"edit_file": _edited, "write_file": _written, "apply_patch": _patched}

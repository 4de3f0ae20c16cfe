"""Puts hunks into a text: each where its lines are, with the lines that stay as the file has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from amplifier_module_tool_filesystem.nearness import near_lines
from amplifier_module_tool_filesystem.patches import Hunk
from amplifier_module_tool_filesystem.problems import PatchError
from amplifier_module_tool_filesystem.texts import newline_of

_MOST_LINES_TOLD = 5


def apply_hunks(text: str, hunks: Iterable[Hunk], name: str) -> str:
    """The text after all hunks; raises ``PatchError`` that names the hunk which does not fit, and says what is near.

    A hunk is looked for behind the one before: as near as possible to the line it tells, else where its lines come
    first. White space at the end of a line may differ.
    """
    lines = _split(text)
    contents = [_content(line) for line in lines]
    newline = newline_of(text)
    made: list[str] = []
    after = 0
    for number, hunk in enumerate(hunks, 1):
        start = _place(contents, hunk, after)
        if start is None:
            raise _misfit(contents, hunk, number, name, after)
        made += lines[after:start]
        made += _filled(lines, hunk, start, newline)
        after = start + len(hunk.old)
    return "".join(_joined([*made, *lines[after:]], newline))


def _split(text: str) -> list[str]:
    """The lines with their ends."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _content(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _place(contents: Sequence[str], hunk: Hunk, after: int) -> int | None:
    """The index at which the hunk's lines are."""
    old = hunk.old
    for anchor in hunk.anchors:
        found = _anchor(contents, anchor, after)
        if found is None:
            return None
        after = found + 1
    if not old:
        return _insertion(contents, hunk, after)
    for alike in (_same, _same_but_for_trailing_space):
        starts = _starts(contents, old, after, alike)
        if hunk.is_at_end:
            starts = [start for start in starts if start + len(old) == len(contents)] or starts
        if starts:
            wanted = None if hunk.start is None else hunk.start - 1
            return starts[0] if wanted is None else min(starts, key=lambda start: abs(start - wanted))
    return None


def _insertion(contents: Sequence[str], hunk: Hunk, after: int) -> int | None:
    """Where a hunk goes that takes nothing away: at the line it tells, behind its anchor, or at the end."""
    if hunk.start is not None:
        start = max(hunk.start - 1, 0)
        return start if after <= start <= len(contents) else None
    return after if hunk.anchors else len(contents)


def _anchor(contents: Sequence[str], anchor: str, after: int) -> int | None:
    behind = range(after, len(contents))
    exact = [index for index in behind if contents[index].strip() == anchor]
    return next(iter(exact or (index for index in behind if anchor in contents[index])), None)


def _starts(contents: Sequence[str], old: Sequence[str], after: int, alike: Callable[[str, str], bool]) -> list[int]:
    return [
        start
        for start in range(after, len(contents) - len(old) + 1)
        if all(alike(contents[start + step], line) for step, line in enumerate(old))
    ]


def _same(one: str, other: str) -> bool:
    return one == other


def _same_but_for_trailing_space(one: str, other: str) -> bool:
    return one.rstrip() == other.rstrip()


def _filled(lines: Sequence[str], hunk: Hunk, start: int, newline: str) -> list[str]:
    made: list[str] = []
    index = start
    for sign, text in hunk.lines:
        if sign == "+":
            made.append(text + newline)
            continue
        if sign == " ":
            made.append(lines[index])
        index += 1
    if hunk.ends_without_newline and made and index == len(lines):
        made[-1] = _content(made[-1])
    return made


def _joined(lines: Sequence[str], newline: str) -> list[str]:
    """The lines, each but the last with an end: the former last line may have had none."""
    return [
        line if line.endswith("\n") or index == len(lines) - 1 else line + newline for index, line in enumerate(lines)
    ]


def _misfit(contents: Sequence[str], hunk: Hunk, number: int, name: str, after: int) -> PatchError:
    old = hunk.old
    told = "\n".join(f"  {line[:200]}" for line in (old or list(hunk.anchors))[:_MOST_LINES_TOLD])
    where = f" after line {after}" if after else ""
    near = near_lines("\n".join(contents), "\n".join(old))
    return PatchError(
        f"Hunk {number} of {name} ({hunk.header[:200]}) does not fit, so nothing was changed: these lines are not "
        f"there{where}:\n{told}\n{near.strip()}".rstrip()
    )

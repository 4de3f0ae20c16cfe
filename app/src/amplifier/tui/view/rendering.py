"""A finished change as lines: a function of the change, the width and the theme, and of nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from amplifier.tui.view.call_words import duration, given_of, summary_of
from amplifier.tui.view.changes import Begun, Call, Change, Code, Note, Prompt, Prose, Speaker, Thought
from amplifier.tui.view.code import code_lines
from amplifier.tui.view.diffs import Diff
from amplifier.tui.view.painting import cleaned, flat, folded, line_of, lines_of, one_line
from amplifier.tui.view.prose import prose_lines
from amplifier.tui.view.theme import Theme

_MOST_PROMPT_LINES = 40
_MOST_UNFOLDED_LINES = 2_000
_MOST_CHARS = 100_000
"""What is longer is not laid out as a whole even where it is to be seen whole: the chat would stand still."""
_MOST_DIFF_LINES = 24
_MOST_OUTPUT_LINES = 5
_MOST_ERROR_LINES = 5
_MOST_DEPTH = 3
_LEAST_INDENTED = 20
_INDENT = "  "
_LIVELY = ("bash",)
"""Tools whose output is worth a look even where all went well."""


def render(change: Change, width: int, theme: Theme) -> list[str]:
    """The lines of ``change``, none wider than ``width``; those of an agent stand behind a gutter."""
    gutter, room = gutter_of(change.speaker, width, theme)
    lines = _RENDERERS[type(change)](change, room, theme)
    return [f"{gutter}{line}" for line in lines] if gutter else lines


def gutter_of(speaker: Speaker, width: int, theme: Theme) -> tuple[str, int]:
    """What stands before the lines of a speaker, and the columns that are left for them."""
    sign = theme.sign("gutter")
    depth = min(speaker.depth, _MOST_DEPTH, max(0, (width - 16) // len(sign)))
    if not depth:
        return "", width
    painted = lines_of(Text(sign.strip(), theme.style("gutter")), width, theme)[0]
    return f"{painted}{' ' * (len(sign) - len(sign.strip()))}" * depth, width - depth * len(sign)


def render_diff(diff: Diff, width: int, theme: Theme, most: int | None = None) -> list[str]:
    """A diff in colours; with ``most``, no more lines than that."""
    shown = diff.lines if most is None or len(diff.lines) <= most else diff.lines[:most]
    styles = {"+": theme.style("added"), "-": theme.style("removed"), "@": theme.style("quiet"), " ": ""}
    lines: list[str] = []
    for sign, text in shown:
        mark = "" if sign == "@" else f"{sign} "
        line = f"{mark}{cleaned(text[: _MOST_CHARS // 10])}"
        lines += lines_of(Text(line, styles[sign], overflow="fold"), width, theme) or [mark]
    return [*lines, *_left_out(len(diff.lines) - len(shown), width, theme)]


def question_lines(text: str, kind: str, width: int, theme: Theme) -> list[str]:
    """A part of a question, whole. A ``diff`` is left as it is; words are wrapped, and stay indented as they are."""
    if kind == "diff":
        return _painted_diff(text.split("\n"), theme)
    return [each for line in text.split("\n") for each in _wrapped(line, width, theme)]


def _painted_diff(lines: list[str], theme: Theme) -> list[str]:
    """A diff as programs write it, in its colours; names of files and places are quiet."""
    styles = [{"+": "added", "-": "removed", "@": "quiet"}.get(line[:1], "") for line in lines]
    for number, trio in enumerate(zip(lines, lines[1:], lines[2:], strict=False)):
        if all(line.startswith(begin) for line, begin in zip(trio, ("--- ", "+++ ", "@@"), strict=True)):
            styles[number : number + 2] = ["quiet", "quiet"]
    return [
        line_of([Segment(line, Style.parse(theme.style(style)))], theme) if style else line
        for line, style in zip(lines, styles, strict=True)
    ]


def _wrapped(line: str, width: int, theme: Theme) -> list[str]:
    indent = _INDENT if line.startswith(_INDENT) and width >= _LEAST_INDENTED else ""
    if not line or (indent and cell_len(line) <= width):
        return [line]
    first, *others = folded(line.removeprefix(indent), "", width - 2 * len(indent), theme)
    return [f"{indent}{first}", *(f"{indent * 2}{other}" for other in others)]


def call_line(sign: Text, name: str, summary: str, facts: list[str], width: int, theme: Theme) -> str:
    """A call on one line: what it is about gives way, so that name and facts stay."""
    tail = Text("".join(f"{theme.sign('between')}{fact}" for fact in facts), theme.style("quiet"))
    head = Text.assemble(sign, (flat(name, 60), theme.style("strong")))
    about = Text(f" {summary}" if summary else "")
    about.truncate(max(0, width - head.cell_len - tail.cell_len), overflow="ellipsis")
    return one_line(Text.assemble(head, about, tail), width, theme)


def _prompt(change: Prompt, width: int, theme: Theme) -> list[str]:
    sign = theme.sign("prompt")
    style = theme.style("prompt")
    most = _MOST_UNFOLDED_LINES if theme.is_unfolded else _MOST_PROMPT_LINES
    lines = _beginning(change.text.strip("\n"), style, width - len(sign), theme, most)
    first = lines_of(Text(sign.rstrip(), style), width, theme)[0]
    indent = " " * (len(sign) if not theme.is_plain else 2)
    return [f"{indent}{line}" if number else f"{first} {line}" for number, line in enumerate(lines)]


def _prose(change: Prose, width: int, theme: Theme) -> list[str]:
    lines = prose_lines(change.source, width, theme)
    # What Markdown keeps to itself, such as where links lead, is shown as it was written.
    return lines or folded(change.source, theme.style("quiet"), width, theme)


def _code(change: Code, width: int, theme: Theme) -> list[str]:
    lines = [_fence(change.language, width, theme)] if change.is_first else []
    if change.lines:
        lines += code_lines(change.lines, change.context, change.language, width, theme)
    return [*lines, _fence("", width, theme)] if change.is_last else lines


@lru_cache(maxsize=32)
def _fence(language: str, width: int, theme: Theme) -> str:
    return one_line(Text(f"```{flat(language, 40)}", theme.style("quiet")), width, theme)


def _thought(change: Thought, width: int, theme: Theme) -> list[str]:
    style = theme.style("thought")
    if theme.is_unfolded:
        lines = _beginning(f"{theme.sign('thought')}{change.text.strip()}", style, width - 2, theme)
        return [f"  {line}" if number else line for number, line in enumerate(lines)]
    seconds = "" if change.seconds is None else f"({duration(change.seconds)}) "
    return [one_line(Text(f"{theme.sign('thought')}{seconds}{flat(change.text)}", style), width, theme)]


def _call(change: Call, width: int, theme: Theme) -> list[str]:
    facts = [] if change.diff is None else [f"+{change.diff.added} −{change.diff.removed}"]
    count = len(_lines_in(change.output))
    if change.found:
        facts.append(change.found)
    elif not facts and count > 1:
        facts.append(f"{count} lines")
    if change.seconds is not None:
        facts.append(duration(change.seconds))
    sign = Text(theme.sign(change.ending), theme.style(change.ending))
    first = call_line(sign, change.name, summary_of(change.given), facts, width, theme)
    return [first, *_details(change, width, theme)]


def _details(change: Call, width: int, theme: Theme) -> list[str]:
    detail = theme.sign("detail") if width >= _LEAST_INDENTED else ""
    room = width - len(detail)
    lines: list[str] = []
    if change.error:
        told = _beginning(change.error.strip(), theme.style("bad"), room, theme)
        most = len(told) if theme.is_unfolded else _MOST_ERROR_LINES
        lines += [*told[:most], *_left_out(len(told) - most, room, theme)]
    if change.diff is not None and change.ending == "good":
        lines += render_diff(change.diff, room, theme, _MOST_UNFOLDED_LINES if theme.is_unfolded else _MOST_DIFF_LINES)
    elif theme.is_unfolded:
        for text, style in ((given_of(change.given), theme.style("quiet")), (change.output, "")):
            lines += _beginning(text.strip("\n"), style, room, theme) if text.strip() else []
    elif change.output and (change.name in _LIVELY or change.ending == "bad"):
        lines += _last_lines(change.output, room, theme)
    indent = " " * len(detail)
    return [f"{indent if number else detail}{line}" for number, line in enumerate(lines)]


def _beginning(text: str, style: str, width: int, theme: Theme, most: int = _MOST_UNFOLDED_LINES) -> list[str]:
    """The lines of a text, or of as much of it as can be laid out at once."""
    told = text[:_MOST_CHARS].split("\n")
    left = text.count("\n") + 1 - min(len(told), most)
    return [*folded("\n".join(told[:most]), style, width, theme), *_left_out(left, width, theme)]


def _last_lines(text: str, width: int, theme: Theme) -> list[str]:
    """The last lines of what a tool gave, each cut where the terminal ends."""
    told = _lines_in(text)
    style = theme.style("quiet")
    shown = [one_line(Text(line.expandtabs(4), style), width, theme) for line in told[-_MOST_OUTPUT_LINES:]]
    return [*_left_out(len(told) - _MOST_OUTPUT_LINES, width, theme), *shown]


def _lines_in(text: str) -> list[str]:
    """The lines as they are to be seen: what overwrites itself is one."""
    return cleaned(text.strip("\n")).splitlines()


def _left_out(count: int, width: int, theme: Theme) -> list[str]:
    if count <= 0:
        return []
    word = "line" if count == 1 else "lines"
    return [one_line(Text(f"{theme.sign('more')} {count} more {word}", theme.style("quiet")), width, theme)]


def _begun(change: Begun, width: int, theme: Theme) -> list[str]:
    return [one_line(Text(f"Running: {flat(change.name, 60)} {summary_of(change.given)}"), width, theme)]


def _note(change: Note, width: int, theme: Theme) -> list[str]:
    sign, style = theme.sign(change.level), theme.style(change.level)
    indent = "" if theme.is_plain or width < _LEAST_INDENTED else " " * len(sign)
    text = change.text.strip()[:_MOST_CHARS]
    lines = folded(f"{sign}{text}", style, width, theme)
    if len(lines) == 1 or not indent:
        return lines
    first, *others = folded(text, style, width - len(indent), theme)
    return [f"{lines_of(Text(sign.strip(), style), width, theme)[0]} {first}", *(f"{indent}{each}" for each in others)]


_RENDERERS: dict[type[Any], Any] = {
    Prompt: _prompt,
    Prose: _prose,
    Code: _code,
    Thought: _thought,
    Call: _call,
    Begun: _begun,
    Note: _note,
}

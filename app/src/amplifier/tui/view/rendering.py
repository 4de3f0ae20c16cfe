"""A finished change as lines: a function of the change, the width and the theme, and of nothing else."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from amplifier.tui.view.call_words import duration, given_of, summary_of
from amplifier.tui.view.changes import Begun, Call, Change, Code, Note, Prompt, Prose, Speaker, Thought
from amplifier.tui.view.code import code_lines
from amplifier.tui.view.diffs import Diff
from amplifier.tui.view.painting import cleaned, flat, folded, lines_of, one_line
from amplifier.tui.view.prose import markdown
from amplifier.tui.view.theme import Theme

_MOST_DIFF_LINES = 24
_MOST_OUTPUT_LINES = 5
_MOST_ERROR_LINES = 5
_MOST_DEPTH = 3
_LEAST_INDENTED = 20
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
        lines += lines_of(Text(f"{mark}{cleaned(text)}", styles[sign], overflow="fold"), width, theme) or [mark]
    return [*lines, *_left_out(len(diff.lines) - len(shown), width, theme)]


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
    lines = folded(change.text.strip("\n"), style, width - len(sign), theme)
    first = lines_of(Text(sign.rstrip(), style), width, theme)[0]
    indent = " " * (len(sign) if not theme.is_plain else 2)
    return [f"{indent}{line}" if number else f"{first} {line}" for number, line in enumerate(lines)]


def _prose(change: Prose, width: int, theme: Theme) -> list[str]:
    lines = lines_of(markdown(change.source), width, theme)
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    # What Markdown keeps to itself, such as where links lead, is shown as it was written.
    return lines or folded(change.source, theme.style("quiet"), width, theme)


def _code(change: Code, width: int, theme: Theme) -> list[str]:
    fence = theme.style("quiet")
    lines = [one_line(Text(f"```{flat(change.language, 40)}", fence), width, theme)] if change.is_first else []
    if change.lines:
        lines += code_lines(change.lines, change.context, change.language, width, theme)
    return [*lines, one_line(Text("```", fence), width, theme)] if change.is_last else lines


def _thought(change: Thought, width: int, theme: Theme) -> list[str]:
    style = theme.style("thought")
    if theme.is_unfolded:
        lines = folded(f"{theme.sign('thought')}{change.text.strip()}", style, width - 2, theme)
        return [f"  {line}" if number else line for number, line in enumerate(lines)]
    seconds = "" if change.seconds is None else f"({duration(change.seconds)}) "
    return [one_line(Text(f"{theme.sign('thought')}{seconds}{flat(change.text)}", style), width, theme)]


def _call(change: Call, width: int, theme: Theme) -> list[str]:
    facts = [] if change.diff is None else [f"+{change.diff.added} −{change.diff.removed}"]
    count = len(change.output.splitlines())
    if not facts and count > 1:
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
        told = folded(change.error.strip(), theme.style("bad"), room, theme)
        most = len(told) if theme.is_unfolded else _MOST_ERROR_LINES
        lines += [*told[:most], *_left_out(len(told) - most, room, theme)]
    if change.diff is not None and change.ending == "good":
        lines += render_diff(change.diff, room, theme, None if theme.is_unfolded else _MOST_DIFF_LINES)
    elif theme.is_unfolded:
        for text, style in ((given_of(change.given), theme.style("quiet")), (change.output, "")):
            lines += folded(text.strip("\n"), style, room, theme) if text.strip() else []
    elif change.output and (change.name in _LIVELY or change.ending == "bad"):
        lines += _last_lines(change.output, room, theme)
    indent = " " * len(detail)
    return [f"{indent if number else detail}{line}" for number, line in enumerate(lines)]


def _last_lines(text: str, width: int, theme: Theme) -> list[str]:
    """The last lines of what a tool gave, each cut where the terminal ends."""
    told = cleaned(text.strip("\n")).splitlines()
    style = theme.style("quiet")
    shown = [one_line(Text(line.expandtabs(4), style), width, theme) for line in told[-_MOST_OUTPUT_LINES:]]
    return [*_left_out(len(told) - _MOST_OUTPUT_LINES, width, theme), *shown]


def _left_out(count: int, width: int, theme: Theme) -> list[str]:
    if count <= 0:
        return []
    word = "line" if count == 1 else "lines"
    return [one_line(Text(f"{theme.sign('more')} {count} more {word}", theme.style("quiet")), width, theme)]


def _begun(change: Begun, width: int, theme: Theme) -> list[str]:
    return [one_line(Text(f"Running: {flat(change.name, 60)} {summary_of(change.given)}"), width, theme)]


def _note(change: Note, width: int, theme: Theme) -> list[str]:
    sign = theme.sign(change.level)
    return folded(f"{sign}{change.text.strip()}", theme.style(change.level), width, theme)


_RENDERERS: dict[type[Any], Any] = {
    Prompt: _prompt,
    Prose: _prose,
    Code: _code,
    Thought: _thought,
    Call: _call,
    Begun: _begun,
    Note: _note,
}

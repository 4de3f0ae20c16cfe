"""The region that lives above the input: what is being said, thought and done right now, in few lines."""

from __future__ import annotations

from rich.text import Text

from amplifier.tui.view.call_words import duration, summary_of
from amplifier.tui.view.calls import RunningCall
from amplifier.tui.view.changes import Prose, Speaker
from amplifier.tui.view.painting import cleaned, flat, one_line
from amplifier.tui.view.rendering import call_line, gutter_of, render
from amplifier.tui.view.speech import OpenBlock, Speech
from amplifier.tui.view.theme import Theme
from amplifier.tui.view.transcript import Transcript

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_PER_S = 10
_MOST_ROWS = 16
_MOST_CALLS = 6


def live_region(transcript: Transcript, size: tuple[int, int], theme: Theme, now: float) -> list[str]:
    """The lines of all that is open: no wider than the terminal and no higher than half of it."""
    width, rows = size
    most = max(3, min(_MOST_ROWS, rows // 2))
    calls = _calls(list(transcript.calls), width, theme, now, most)
    said: list[str] = []
    for speech in transcript.speeches:
        said += _open_lines(speech, width, theme, now)
    room = most - len(calls)
    return [*(said[-room:] if room > 0 else []), *calls]


def working_line(width: int, theme: Theme, now: float) -> str:
    """The line for a turn in which nothing is said or done at the moment: the model has not answered yet."""
    return one_line(Text.assemble((spinner(now), theme.style("busy")), ("Working", theme.style("quiet"))), width, theme)


def spinner(now: float) -> str:
    """The sign of something at work."""
    return f"{_FRAMES[int(now * _FRAMES_PER_S) % len(_FRAMES)]} "


def _calls(calls: list[RunningCall], width: int, theme: Theme, now: float, most: int) -> list[str]:
    shown = calls[: min(_MOST_CALLS, most - 1)]
    # A line for each call comes first; what they write shares the rest.
    per_call = max(0, min(3, (most - len(shown) - 1) // max(1, len(shown))))
    lines: list[str] = []
    for call in shown:
        lines += _call_lines(call, width, theme, now, per_call)
    left = len(calls) - len(shown)
    return [*lines, f"{theme.sign('more')} {left} more running"] if left else lines


def _call_lines(call: RunningCall, width: int, theme: Theme, now: float, most: int) -> list[str]:
    gutter, room = gutter_of(call.speaker, width, theme)
    sign = Text(spinner(now), theme.style("busy"))
    facts = [*_whose(call.speaker), duration(now - call.began)]
    lines = [call_line(sign, call.name, summary_of(call.given), facts, room, theme)]
    detail = theme.sign("detail")
    tail = call.last_lines()[-most:] if most else []
    lines += [one_line(Text(f"{detail}{flat(text)}", theme.style("quiet")), room, theme) for text in tail]
    return [f"{gutter}{line}" for line in lines]


def _open_lines(speech: Speech, width: int, theme: Theme, now: float) -> list[str]:
    block = speech.open
    assert block is not None
    gutter, room = gutter_of(speech.speaker, width, theme)
    if block.kind == "text":
        return _text_lines(speech, block, width, theme)
    if block.kind == "thinking":
        words = cleaned(block.end_of_text()).strip().rpartition("\n")[2]
        told = f"{theme.sign('thought')}{_named(speech.speaker)}({duration(now - block.began)}) {flat(words)}"
        return [f"{gutter}{one_line(Text(told, theme.style('thought')), room, theme)}"]
    sign = Text(spinner(now), theme.style("busy"))
    facts = [*_whose(speech.speaker), f"{block.size} characters"]
    return [f"{gutter}{call_line(sign, block.name or 'tool', '', facts, room, theme)}"]


def _text_lines(speech: Speech, block: OpenBlock, width: int, theme: Theme) -> list[str]:
    """What is not finished of a text; of an agent's only its last line, as its blocks are printed whole."""
    rest = block.cutter.rest
    if rest is None:
        return []
    if not speech.speaker.depth:
        return render(rest, width, theme)
    gutter, room = gutter_of(speech.speaker, width, theme)
    last = (rest.source if isinstance(rest, Prose) else "\n".join(rest.lines)).strip().rpartition("\n")[2]
    return [f"{gutter}{one_line(Text(f'{_named(speech.speaker)}{flat(last)}', theme.style('quiet')), room, theme)}"]


def _whose(speaker: Speaker) -> list[str]:
    return [flat(speaker.label, 30)] if speaker.label else []


def _named(speaker: Speaker) -> str:
    return f"{flat(speaker.label, 30)}: " if speaker.label else ""

"""The region that lives above the input: what is being said, thought and done right now, in few lines."""

from __future__ import annotations

from functools import lru_cache

from rich.text import Text

from amplifier.tui.view.call_words import duration, summary_of
from amplifier.tui.view.calls import RunningCall
from amplifier.tui.view.changes import Begun, Call, Change, Prose, Speaker, Thought
from amplifier.tui.view.painting import cleaned, flat, one_line
from amplifier.tui.view.pieces import Piece
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
    calls = _calls(transcript.calls.in_order(), width, theme, now, most)
    said: list[str] = []
    for speech in transcript.speeches:
        said += _open_lines(speech, width, theme, now)
    room = most - len(calls)
    return [*(said[-room:] if room > 0 else []), *calls]


def first_open(transcript: Transcript) -> Change:
    """What the region begins with, as a change: what is above tells by it whether that stands apart."""
    for speech in transcript.speeches:
        block = speech.open
        assert block is not None
        if block.kind == "thinking":
            return Thought("", None, speech.speaker)
        if block.kind != "text":
            return Call(block.name, None, "good", speaker=speech.speaker)
        if (rest := block.cutter.rest) is not None:
            return rest
    calls = transcript.calls.in_order()
    return Call(calls[0].name, None, "good", speaker=calls[0].speaker) if calls else Begun("")


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
    for number, text in enumerate(call.last_lines()[-most:] if most else []):
        begin = " " * len(detail) if number else detail
        lines.append(one_line(Text(f"{begin}{flat(text)}", theme.style("quiet")), room, theme))
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
        return _laid_out(rest, width, theme).copy()
    gutter, room = gutter_of(speech.speaker, width, theme)
    last = (rest.source if isinstance(rest, Prose) else "\n".join(rest.lines)).strip().rpartition("\n")[2]
    return [f"{gutter}{one_line(Text(f'{_named(speech.speaker)}{flat(last)}', theme.style('quiet')), room, theme)}"]


@lru_cache(maxsize=1)
def _laid_out(rest: Piece, width: int, theme: Theme) -> list[str]:
    """What is not finished stays as it is for many frames when a model takes its time."""
    return render(rest, width, theme)


def _whose(speaker: Speaker) -> list[str]:
    return [flat(speaker.label, 30)] if speaker.label else []


def _named(speaker: Speaker) -> str:
    return f"{flat(speaker.label, 30)}: " if speaker.label else ""

"""A look at a terminal as an SVG picture: nothing in it comes from outside, and the same screen is the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from tests.app.guide_stage import Frame

FRAME_S = 2.5
_CELL, _LINE, _MARGIN, _TOP = 8.4, 19, 14, 40
_PAPER, _INK, _EDGE, _FAINT = "#161b22", "#d6dde6", "#3d444d", "#8b949e"
_THEME = TerminalTheme(
    (0x16, 0x1B, 0x22),
    (0xD6, 0xDD, 0xE6),
    [
        (0x48, 0x4F, 0x58), (0xFF, 0x7B, 0x72), (0x56, 0xD3, 0x64), (0xE3, 0xB3, 0x41),
        (0x79, 0xC0, 0xFF), (0xD2, 0xA8, 0xFF), (0x56, 0xD4, 0xDD), (0xB1, 0xBA, 0xC4),
    ],
    [
        (0x6E, 0x76, 0x81), (0xFF, 0xA1, 0x98), (0x7E, 0xE7, 0x87), (0xF2, 0xCC, 0x60),
        (0xA5, 0xD6, 0xFF), (0xE2, 0xC5, 0xFF), (0x7C, 0xE6, 0xEC), (0xF0, 0xF6, 0xFC),
    ],
)  # fmt: skip
_SVG = "http://www.w3.org/2000/svg"
_HEAD = """\
<svg xmlns="{ns}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>{title}</title>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: {ink} }}
rect {{ shape-rendering: crispEdges }}
#window {{ fill: {paper}; stroke: {edge}; shape-rendering: auto }}
{rules}</style>
<rect x=".5" y=".5" width="{inner_width}" height="{inner_height}" rx="9" id="window"/>
<g fill="{edge}"><circle cx="20" cy="19" r="5.5"/><circle cx="38" cy="19" r="5.5"/><circle cx="56" cy="19" r="5.5"/></g>
<text x="{middle}" y="24" text-anchor="middle" style="fill: {faint}">{title}</text>
"""


class Run(NamedTuple):
    """Some characters of one style, and the column they begin at."""

    column: int
    text: str
    style: Style


class Styles:
    """The classes of one picture, in the order in which their rules are first used."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, style: Style) -> str:
        """The class for characters of that style."""
        ink, paper = _colours(style)
        if style.dim:
            ink = blend_rgb(_rgb(ink), _rgb(paper), 0.35).hex
        wishes = {
            f"fill: {ink}": ink != _INK,
            "font-weight: bold": style.bold,
            "font-style: italic": style.italic,
            "text-decoration: underline": style.underline,
        }
        rule = "; ".join(css for css, is_wanted in wishes.items() if is_wanted)
        return self._names.setdefault(rule, f"c{len(self._names)}") if rule else ""

    def rules(self) -> str:
        """The rules of all classes."""
        return "".join(f".{name} {{ {rule} }}\n" for rule, name in self._names.items())


def picture(frames: Sequence[Frame], title: str, columns: int) -> str:
    """The picture of some looks at a terminal, one after another; who wants no motion sees the last one."""
    rows = max(len(frame.lines) for frame in frames)
    width, height = round(columns * _CELL) + 2 * _MARGIN, rows * _LINE + _TOP + _MARGIN
    styles = Styles()
    drawn = [list(_drawn(frame, styles)) for frame in frames]
    parts = [
        f'<g class="frame" id="frame-{number}">\n' + "".join(f"{line}\n" for line in lines) + "</g>\n"
        for number, lines in enumerate(drawn)
    ]
    head = _HEAD.format(
        ns=_SVG, title=escape(title), width=width, height=height, inner_width=width - 1, inner_height=height - 1,
        middle=width / 2, ink=_INK, paper=_PAPER, edge=_EDGE, faint=_FAINT, rules=styles.rules() + _motion(len(frames)),
    )  # fmt: skip
    return f"{head}{''.join(parts)}</svg>\n"


def texts_of(svg: str) -> list[list[str]]:
    """What is to be read in each frame of a picture, line by line."""
    return [list(_lines_in(frame)) for frame in ElementTree.fromstring(svg).iter(f"{{{_SVG}}}g") if frame.get("id")]


def _lines_in(frame: ElementTree.Element) -> Iterator[str]:
    lines: dict[float, str] = {}
    for text in frame.iter(f"{{{_SVG}}}text"):
        y, column = float(text.attrib["y"]), round((float(text.attrib["x"]) - _MARGIN) / _CELL)
        before = lines.get(y, "")
        lines[y] = f"{before}{' ' * (column - cell_len(before))}{text.text or ''}"
    return (lines[y] for y in sorted(lines))


def _motion(count: int) -> str:
    """Each frame in its turn, the last one longer; without motion only the last one."""
    if count == 1:
        return ""
    share = 100 / (count + 1)
    lines = [".frame { visibility: hidden }", f"#frame-{count - 1} {{ visibility: visible }}"]
    lines.append("@media (prefers-reduced-motion: no-preference) {")
    for number in range(count):
        begin, end = number * share, 100 if number == count - 1 else (number + 1) * share
        steps = [f"{begin:g}%, {end:g}% {{ visibility: visible }}"]
        if begin:
            steps.insert(0, f"0%, {begin - 0.01:g}% {{ visibility: hidden }}")
        if end < 100:
            steps.append(f"{end + 0.01:g}%, 100% {{ visibility: hidden }}")
        lines.append(f"@keyframes show-{number} {{ {' '.join(steps)} }}")
        lines.append(f"#frame-{number} {{ animation: show-{number} {(count + 1) * FRAME_S:g}s step-end infinite }}")
    return "".join(f"{line}\n" for line in [*lines, "}"])


def _drawn(frame: Frame, styles: Styles) -> Iterator[str]:
    lines = Text.from_ansi("\n".join(frame.lines), no_wrap=True, end="").split("\n", allow_blank=True)
    for row, line in enumerate(lines):
        y = _TOP + row * _LINE
        runs = list(_runs(line))
        yield from (
            _box(run.column, cell_len(run.text), y, _colours(run.style)[1])
            for run in runs
            if _colours(run.style)[1] != _PAPER
        )
        if frame.cursor is not None and frame.cursor[1] == row:
            yield _box(frame.cursor[0], 1, y, _FAINT)
        yield from (_characters(word, y, styles) for run in runs for word in _words(run))


def _runs(line: Text) -> Iterator[Run]:
    column = 0
    for segment in line.render(Console(width=400, color_system=None)):
        yield Run(column, segment.text, segment.style or Style.null())
        column += cell_len(segment.text)


def _words(run: Run) -> Iterator[Run]:
    """The run without its wide gaps, so that nothing has to be stretched across them."""
    for words in re.finditer(r"\S+(?: \S+)*", run.text):
        yield Run(run.column + cell_len(run.text[: words.start()]), words.group(), run.style)


def _box(column: int, cells: int, y: float, colour: str) -> str:
    return f'<rect x="{_x(column)}" y="{y:g}" width="{cells * _CELL:g}" height="{_LINE}" fill="{colour}"/>'


def _characters(run: Run, y: float, styles: Styles) -> str:
    name = styles.name(run.style)
    named = f' class="{name}"' if name else ""
    length = f"{cell_len(run.text) * _CELL:g}"
    return f'<text{named} x="{_x(run.column)}" y="{y + 14:g}" textLength="{length}">{escape(run.text)}</text>'


def _x(column: int) -> str:
    return f"{_MARGIN + column * _CELL:g}"


def _colours(style: Style) -> tuple[str, str]:
    """Ink and paper of a style."""
    ink, paper = _colour(style.color, _INK), _colour(style.bgcolor, _PAPER)
    return (paper, ink) if style.reverse else (ink, paper)


def _colour(colour: Color | None, otherwise: str) -> str:
    return otherwise if colour is None or colour.is_default else colour.get_truecolor(_THEME).hex


def _rgb(colour: str) -> ColorTriplet:
    return Color.parse(colour).get_truecolor()

"""The chat's view: what 100,000 pieces of an answer cost to take, lay out and print, and whether the end costs more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from amplifier.tui.view.module_events import LLM_STREAM_BLOCK_DELTA
from amplifier.tui.view.theme import Theme
from amplifier.tui.view.view import View
from bench.figure import Figure
from bench.measure import Effort, quiet_heap

DELTAS = 100_000
LIMIT_S = 10.0
GROWTH_LIMIT = 1.5
DELTAS_PER_FRAME = 10
"""A model gives a hundred pieces a second, and the live lines are drawn ten times a second."""

_SECTION = """## Section {number}

The answer goes on with **strong words**, `code`, and a [link](https://example.org/{number}) in a paragraph that is as
long as paragraphs of models are, so that it must be wrapped, and that has 日本語 in it.

- an item of a list
- another, with *emphasis*
  1. and one inside

```python
def section_{number}(values: list[int]) -> int:
    total = 0
    for value in values:  # each of them
        total += value
    return total
```

| key | value |
|-----|-------|
| number | {number} |

"""
_CHARACTERS = 4


def figures(effort: Effort) -> Iterator[Figure]:
    """CPU time of the whole stream, and of its last tenth against its first."""
    count = effort.size(DELTAS, smoke=1_000)
    with quiet_heap():
        _drawn(1_000)  # so that what is made once is not counted to the beginning
        tenths = _drawn(count)
    what = f"chat: {count:,} pieces of Markdown taken, laid out and printed, live lines every {DELTAS_PER_FRAME}"
    yield Figure("chat_render", what, sum(tenths), LIMIT_S, "s", note=f"{sum(tenths) / count * 1e6:.0f} µs per piece")
    growth = sum(tenths[-3:]) / sum(tenths[:3])
    note = "the last three tenths of the stream against the first three"
    yield Figure("chat_render_growth", "chat: a piece late in a long conversation", growth, GROWTH_LIMIT, note=note)


def _drawn(count: int) -> list[float]:
    """CPU seconds of each tenth of the stream."""
    printed = 0

    def write(text: str) -> None:
        nonlocal printed
        printed += len(text)

    view = View(write, lambda: (100, 40), Theme())
    pieces = _pieces(count)
    tenths: list[float] = []
    for start in range(0, count, count // 10):
        begin = time.process_time()
        for number, data in enumerate(pieces[start : start + count // 10]):
            view.event(LLM_STREAM_BLOCK_DELTA, data)
            if number % DELTAS_PER_FRAME == 0 and view.tick():
                view.live_lines()
                view.status_line()
        tenths.append(time.process_time() - begin)
    assert printed > count
    return tenths


def _pieces(count: int) -> list[dict[str, Any]]:
    texts: list[str] = []
    number = 0
    while len(texts) < count:
        number += 1
        section = _SECTION.format(number=number)
        texts += [section[at : at + _CHARACTERS] for at in range(0, len(section), _CHARACTERS)]
    about = {"session_id": "s", "parent_id": None, "block_type": "text", "block_index": 0}
    return [{**about, "sequence": number, "text": text} for number, text in enumerate(texts[:count])]

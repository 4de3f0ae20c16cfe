"""The status line: model, mode, tokens, how full the context is, cost and time; what matters least gives way first."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from rich.text import Text

from amplifier.tui.view.call_words import duration
from amplifier.tui.view.painting import flat, one_line
from amplifier.tui.view.theme import Theme
from amplifier_core.events import EXECUTION_END, EXECUTION_START, LLM_REQUEST, LLM_RESPONSE

# In the order of the line; the number says who stays longest when the terminal is narrow.
_ORDER = (("mode", 9), ("model", 7), ("context", 6), ("tokens", 3), ("cost", 5), ("elapsed", 4))
_KNOWN = {"mode", "model", "context_window", "tokens", "cost_usd", "elapsed_s"}
_NEARLY_FULL = 0.8


class Status:
    """What the line tells: from events, and from what the chat says beside; the latter counts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._facts: dict[str, Any] = {}
        self.begin()

    def begin(self) -> None:
        """Another session: nothing is counted yet. What the chat says beside stays."""
        self._model = ""
        self._tokens = 0
        self._context_tokens = 0
        self._cost: Decimal | None = None
        self._began: float | None = None
        self._elapsed: float | None = None

    @property
    def is_working(self) -> bool:
        """Whether a turn is going on."""
        return self._began is not None

    def state(self, **facts: Any) -> None:
        """Takes facts from the chat; ``None`` takes one back. What is not known by name is shown as it is."""
        for key, value in facts.items():
            if value is None:
                self._facts.pop(key, None)
            else:
                self._facts[key] = value

    def event(self, event: str, data: dict[str, Any]) -> None:
        """Counts what an event tells."""
        is_root = not data.get("parent_id")
        if event == LLM_RESPONSE:
            self._count(data, is_root)
        elif is_root and event == LLM_REQUEST:
            self._model = str(data.get("model") or self._model)
        elif is_root and event == EXECUTION_START:
            self._began = self._clock()
        elif is_root and event == EXECUTION_END and self._began is not None:
            self._elapsed = self._clock() - self._began
            self._began = None

    def line(self, width: int, theme: Theme, *, has_time: bool = True) -> str:
        """The line, no wider than ``width``; without the time where nothing is to count."""
        between = theme.sign("between")
        parts = [(weight, Text(text, style)) for weight, text, style in self._parts(theme, has_time)]
        while len(parts) > 1 and sum(part.cell_len + len(between) for _, part in parts) - len(between) > width:
            parts.remove(min(parts, key=lambda part: part[0]))
        joined = Text()
        for _, part in parts:
            joined.append(between if joined else "", theme.style("quiet"))
            joined.append_text(part)
        return one_line(joined, width, theme) if parts else ""

    def _parts(self, theme: Theme, has_time: bool) -> list[tuple[int, str, str]]:
        told = {
            "mode": flat(str(self._facts.get("mode") or ""), 40),
            "model": flat(str(self._facts.get("model") or self._model), 60),
            "context": self._context(),
            "tokens": self._total(),
            "cost": self._spent(),
            "elapsed": self._time() if has_time else "",
        }
        styles = {"mode": theme.style("strong"), "context": theme.style("warning") if self._is_nearly_full() else ""}
        quiet = theme.style("quiet")
        known = [(weight, told[key], styles.get(key) or quiet) for key, weight in _ORDER if told[key]]
        others = [f"{flat(key, 20)} {flat(str(value), 40)}" for key, value in self._facts.items() if key not in _KNOWN]
        return [*known, *((2, text, quiet) for text in others)]

    def _count(self, data: dict[str, Any], is_root: bool) -> None:
        usage = data.get("usage")
        if not isinstance(usage, dict):
            return
        counted = cast("dict[str, Any]", usage)
        used = _number(counted.get("input_tokens")) + _number(counted.get("output_tokens"))
        self._tokens += used
        if is_root:
            self._context_tokens = used
        cost = _money(counted.get("cost_usd"))
        if cost is not None:
            self._cost = cost + (self._cost or 0)

    def _share(self) -> float | None:
        window = _number(self._facts.get("context_window"))
        return self._context_tokens / window if window else None

    def _is_nearly_full(self) -> bool:
        return (self._share() or 0) >= _NEARLY_FULL

    def _context(self) -> str:
        share = self._share()
        return "" if share is None or not self._context_tokens else f"context {share:.0%}"

    def _total(self) -> str:
        tokens = _number(self._facts.get("tokens")) or self._tokens
        return f"{thousands(tokens)} tokens" if tokens else ""

    def _spent(self) -> str:
        cost = _money(self._facts.get("cost_usd"))
        cost = self._cost if cost is None else cost
        return "" if cost is None else f"${cost:.4f}" if 0 < cost < 1 else f"${cost:.2f}"

    def _time(self) -> str:
        elapsed = self._facts.get("elapsed_s")
        if elapsed is None:
            elapsed = self._elapsed if self._began is None else self._clock() - self._began
        return "" if elapsed is None else duration(elapsed)


def thousands(count: int) -> str:
    """A count of tokens, short."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _money(value: Any) -> Decimal | None:
    try:
        return None if value is None else Decimal(str(value))
    except InvalidOperation:
        return None

"""Questions about what the agent wants to do, in the chat: shown whole, one at a time, answered in the input line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from amplifier.console.approval import chosen
from amplifier.console.plain import harmless, one_line
from amplifier.console.proposal import Key, Kind, Proposals

_WITHDRAWN = "Deny: the user has interrupted"
CALM_S = 0.4
"""For so long after a question has come up, a single key does not answer it: it was meant for something else."""

Show = Callable[[str, Kind], None]
"""Shows a part of a question."""


class ChatApproval:
    """The approval system of the chat; lives as long as the chat, whatever becomes of its sessions."""

    def __init__(
        self,
        show: Show,
        changed: Callable[[], None],
        working_dir: Callable[[], Path],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self._changed = changed
        self._clock = clock
        self.proposals = Proposals(working_dir)
        """Is to be told of the calls that are asked about."""
        self._turn = asyncio.Lock()
        self._withdrawals = 0
        self._waiting = 0
        self._options: list[str] = []
        self._answer: asyncio.Future[str] | None = None
        self._asked_at = 0.0
        self._limit_s = 0.0

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._answer is not None and not self._answer.done()

    def lines(self, width: int = 80) -> list[str]:
        """The choices, for below the conversation, no wider than it is; none without a question."""
        if not self.is_asking:
            return []
        options = [f"{number} {one_line(option)}" for number, option in enumerate(self._options, 1)]
        left = max(0, round(self._limit_s - (self._clock() - self._asked_at)))
        hints = ["a number, y, n, or why not", f"{_told(left)} left"]
        hints += [f"{self._waiting - 1} more"] if self._waiting > 1 else []
        return [*_beside(options, "   ", width), *_beside(hints, " · ", width)]

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """The option that was chosen; time counts from when the question is seen."""
        from amplifier_core.approval import ApprovalTimeoutError

        about = self.proposals.subject()
        before = self._withdrawals
        self._waiting += 1
        try:
            async with self._turn:
                if before != self._withdrawals:
                    return _WITHDRAWN
                return await asyncio.wait_for(self._ask(prompt, options, timeout, about), timeout)
        except TimeoutError:
            raise ApprovalTimeoutError(f"no answer in {timeout:g} s") from None
        finally:
            self._waiting -= 1
            self._changed()

    def answer(self, text: str) -> None:
        """Takes what was typed: a number, a word of an option, or a reason to refuse. Nothing typed is no answer."""
        if self._answer is not None and not self._answer.done() and text.strip():
            self._answer.set_result(chosen(text, self._options))

    def press(self, digit: str) -> bool:
        """Takes a single key as the answer; whether it was one."""
        is_number = 1 <= int(digit) <= len(self._options)
        if not self.is_asking or not is_number or self._clock() - self._asked_at < CALM_S:
            return False
        self.answer(digit)
        return True

    def withdraw(self) -> None:
        """Refuses the question and those that wait behind it: the turn is being stopped."""
        self._withdrawals += 1
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(_WITHDRAWN)

    async def _ask(self, prompt: str, options: list[str], timeout: float, about: Key | None) -> str:
        self._options, self._limit_s, self._asked_at = list(options), timeout, self._clock()
        self._answer = asyncio.get_running_loop().create_future()
        for text, kind in self.proposals.parts(prompt, about):
            self._show(text, kind)
        self._changed()
        try:
            answer = await self._answer
        finally:
            self._answer = None
        self._show(f"→ {harmless(answer)}", "plain")
        return answer


def _beside(parts: list[str], between: str, width: int) -> list[str]:
    """As many parts on a line as fit; none is lost on a narrow terminal."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(between) + len(part) <= width:
            lines[-1] += between + part
        else:
            lines.append(part)
    return lines


def _told(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"

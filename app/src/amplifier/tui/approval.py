"""Questions about what the agent wants to do, in the chat: shown whole, one at a time, answered in the input line."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

from amplifier.console.approval import chosen
from amplifier.console.plain import harmless
from amplifier.tui.proposal import proposed_diff

_WITHDRAWN = "Deny: the user has interrupted"
_SUBJECT = re.compile(r"\A(?P<head>[^\n]*\n\n)(?:  [^\n]*(?:\n|\Z))+", re.MULTILINE)
_MOST_CALLS = 200
CALM_S = 0.4
"""For so long after a question has come up, a single key does not answer it: it was meant for something else."""

Show = Callable[[str, str], None]
"""Shows a text; the second argument is ``plain`` or ``diff``."""


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
        self._working_dir = working_dir
        self._clock = clock
        self._turn = asyncio.Lock()
        self._withdrawals = 0
        self._waiting = 0
        self._options: list[str] = []
        self._answer: asyncio.Future[str] | None = None
        self._asked_at = 0.0
        self._limit_s = 0.0
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self._about: str | None = None

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._answer is not None and not self._answer.done()

    def lines(self) -> list[str]:
        """The choices, for below the conversation; none without a question."""
        if not self.is_asking:
            return []
        listed = "   ".join(f"{number} {option}" for number, option in enumerate(self._options, 1))
        left = max(0, round(self._limit_s - (self._clock() - self._asked_at)))
        more = f" · {self._waiting - 1} more" if self._waiting > 1 else ""
        return [listed, f"a number, y, n, or why not · {_told(left)} left{more}"]

    async def on_call(self, event: str, data: dict[str, Any]) -> None:
        """``tool:pre``, before it is judged: keeps what the call is about."""
        call_id, tool_input = data.get("tool_call_id"), data.get("tool_input")
        if isinstance(call_id, str) and isinstance(tool_input, dict):
            self._calls[call_id] = (str(data.get("tool_name")), cast("dict[str, Any]", tool_input))
            if len(self._calls) > _MOST_CALLS:
                del self._calls[next(iter(self._calls))]

    async def on_required(self, event: str, data: dict[str, Any]) -> None:
        """``approval:required``: the question that comes next is about this call."""
        self._about = str(data.get("tool_call_id"))

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """The option that was chosen; time counts from when the question is seen."""
        from amplifier_core.approval import ApprovalTimeoutError

        about, self._about = self._about, None
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

    async def _ask(self, prompt: str, options: list[str], timeout: float, about: str | None) -> str:
        self._options, self._limit_s, self._asked_at = list(options), timeout, self._clock()
        self._answer = asyncio.get_running_loop().create_future()
        self._show_question(prompt, about)
        self._changed()
        try:
            answer = await self._answer
        finally:
            self._answer = None
        self._show(f"→ {harmless(answer)}", "plain")
        return answer

    def _show_question(self, prompt: str, about: str | None) -> None:
        name, tool_input = self._calls.get(about or "", ("", {}))
        diff = proposed_diff(name, tool_input, self._working_dir())
        subject = _SUBJECT.match(prompt)
        if diff is None or subject is None:
            self._show(harmless(prompt), "plain")
            return
        self._show(harmless(subject["head"]).strip(), "plain")
        self._show(harmless(diff), "diff")
        self._show(harmless(prompt[subject.end() :]).strip(), "plain")


def _told(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"

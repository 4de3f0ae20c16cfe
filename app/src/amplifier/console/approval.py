"""Questions about what an agent wants to do: asked on the terminal, and refused where nobody is there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from amplifier.console.display import note
from amplifier.console.lines import typed_line
from amplifier.console.plain import harmless
from amplifier.console.proposal import Proposals

Ask = Callable[[str], Awaitable[str]]
_INTERRUPTED = "Deny: interrupted"
_HEADLESS = (
    "Deny: nobody is there to ask. It can be allowed with --allowed-tools 'Tool(specifier)', with permissions.allow in "
    "the settings, or with --permission-mode"
)


class Refusal:
    """For runs that nobody watches: every question is answered with no, and with what would have allowed it."""

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """Refuses."""
        return _HEADLESS


class TerminalApproval:
    """Asks on standard error and reads a line from the terminal; a number, a word of an option, or a reason.

    There is one question at a time. ``withdraw`` answers it with no, as when the work is to stop.
    """

    def __init__(self, ask: Ask | None = None) -> None:
        self._ask = ask or _ask_on_terminal
        self._folder = Path()
        self._proposals = Proposals(lambda: self._folder)
        self._turn = asyncio.Lock()
        self._withdrawn = asyncio.Event()

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """The option that was chosen; a text that is none of them refuses, with the text as reason."""
        from amplifier_core.approval import ApprovalTimeoutError

        about = self._proposals.subject()
        async with self._turn:
            self._withdrawn.clear()
            parts = [text for text, _ in self._proposals.parts(prompt, about)]
            asking = asyncio.ensure_future(self._ask(_question("\n\n".join(parts), options)))
            stopping = asyncio.ensure_future(self._withdrawn.wait())
            try:
                await asyncio.wait({asking, stopping}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if asking.done():
                    return chosen(asking.result(), options)
            except EOFError:
                return _HEADLESS
            finally:
                asking.cancel()
                stopping.cancel()
        if self._withdrawn.is_set():
            return _INTERRUPTED
        raise ApprovalTimeoutError(f"no answer in {timeout:g} s")

    def attend(self, coordinator: Any) -> None:
        """Has a session tell of its calls, so that an edit is shown as the change that it makes."""
        self._folder = Path(coordinator.get_capability("session.working_dir"))
        self._proposals.listen(coordinator.hooks, "amplifier-questions")

    def withdraw(self) -> None:
        """Answers the question that is asked now, if there is one, with no."""
        self._withdrawn.set()


def approval_system() -> Refusal | TerminalApproval:
    """Whoever answers questions in this process."""
    streams = (sys.stdin, sys.stderr)
    return TerminalApproval() if all(each is not None and each.isatty() for each in streams) else Refusal()


def chosen(answer: str, options: Sequence[str]) -> str:
    """The option that an answer means: its number, its beginning, ``y`` for the first, ``n`` for a refusal."""
    said = answer.strip()
    folded = said.casefold()
    if folded.isdecimal() and 1 <= int(folded) <= len(options):
        return options[int(folded) - 1]
    if folded in ("y", "yes"):
        return options[0]
    if folded in ("", "n", "no"):
        return "Deny"
    named = [option for option in options if option.casefold().startswith(folded)]
    return named[0] if len(named) == 1 else f"Deny: {said}"


def _question(prompt: str, options: Sequence[str]) -> str:
    listed = "\n".join(f"  {number}. {harmless(option)}" for number, option in enumerate(options, 1))
    return f"\n{prompt.rstrip()}\n\n{listed}\n(a number, or why not) > "


async def _ask_on_terminal(question: str) -> str:
    note(question)
    return await typed_line(sys.stdin.fileno())

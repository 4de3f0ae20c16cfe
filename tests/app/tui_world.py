"""A chat without a terminal for tests: a scripted model, a home of its own, and a terminal that writes down."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.app.store_world import StoreWorld

from amplifier.bundles.plan import MountPlan
from amplifier.problems import Problem
from amplifier.runtime.runtime import Setting
from amplifier.settings import Settings
from amplifier.store import StoredSession
from amplifier.tui.chat import Chat
from amplifier.tui.picker import Choice
from amplifier.tui.talk import Opening
from amplifier.tui.view.theme import Theme

FILES: dict[str, Any] = {"tools": [{"module": "tool-filesystem"}], "hooks": [{"module": "hooks-approval"}]}


async def until(condition: Callable[[], bool]) -> None:
    """Lets everything go on until something is the case; fails if that takes long."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for is seen from outside only
            await asyncio.sleep(0)


class FakeTerminal:
    """Keeps what is shown; runs until it is left."""

    def __init__(self) -> None:
        self.shown = ""
        self.filled: list[str] = []
        self.copied: list[str] = []
        self.edited: list[Path] = []
        self.offered: list[tuple[str, list[Choice]]] = []
        """Every picker that was opened: its title, and what could be chosen."""
        self.chosen: list[int | None] = []
        """What is chosen in the pickers that come; without any, nothing is."""
        self.asides: list[str] = []
        self.cleared = 0
        self.refreshed = 0
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        await self.left

    def leave(self, error: BaseException | None = None) -> None:
        if self.left.done():
            return
        if error is None:
            self.left.set_result(None)
        else:
            self.left.set_exception(error)

    def write(self, text: str) -> None:
        self.shown += text

    def refresh(self) -> None:
        self.refreshed += 1

    def prefill(self, text: str) -> None:
        self.filled.append(text)

    async def choose(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        self.offered.append((title, list(choices)))
        return self.chosen.pop(0) if self.chosen else None

    def put_aside(self) -> None:
        self.asides.append("aside")

    def take_back(self) -> None:
        self.asides.append("back")

    def copy(self, text: str) -> str:
        self.copied.append(text)
        return "with the terminal"

    async def edit(self, path: Path) -> None:
        self.edited.append(path)

    def switch_keys(self) -> str:
        return "vi"

    def clear_screen(self) -> None:
        self.cleared += 1

    def size(self) -> tuple[int, int]:
        return 100, 40


class ChatWorld(StoreWorld):
    """One user's home, and a chat in it."""

    def __init__(self, root: Path, script: list[Any], **sections: Any) -> None:
        super().__init__(root)
        self.script = script
        self.sections: dict[str, Any] = {"tools": [], "hooks": [], **sections}
        self.context = "context-persistent"
        self.orchestrator = "loop-streaming"
        self.is_kept = True
        self.agents: dict[str, Any] = {}
        self.opened: list[tuple[str | None, dict[str, str]]] = []
        self.refused: set[str] = set()
        self.now_s = 100.0
        self.terminal = FakeTerminal()
        self.chat = Chat(
            self.open, self.places, lambda chat: self.terminal, Theme(has_colour=False), lambda: self.now_s
        )

    def open(self, resumed: StoredSession | None, **changes: str) -> Opening:
        """Prepares a session on the scripted model."""
        self.opened.append((None if resumed is None else resumed.id, changes))
        if changes.get("model") in self.refused:
            raise Problem(f"no model {changes['model']}", "Choose.")
        provider = {"module": "provider-mock", "config": {"script": self.script}}
        plan: dict[str, Any] = {
            "session": {"orchestrator": {"module": self.orchestrator}, "context": {"module": self.context}},
            "providers": [provider],
            **self.sections,
        }
        if changes.get("model") == "broken":
            plan["providers"] = []
        stored = resumed or (self.store.create() if self.is_kept else None)
        store = self.store if self.is_kept else None
        setting = Setting(self.places.working_dir, store, stored, is_resumed=resumed is not None)
        mounted = MountPlan("test", "test", plan, "You help.", self.agents, {}, [], frozenset())
        return Opening(mounted, setting, Settings.load(self.places, {}, {}), self.places)

    async def say(self, *lines: str) -> str:
        """Sends lines one after another, each when the one before is done.

        Gives what was shown meanwhile, without the commands themselves.
        """
        begin = len(self.terminal.shown)
        for line in lines:
            self.chat.submit(line)
            await self.until(lambda: self.chat.is_idle)
        shown = self.terminal.shown[begin:]
        for line in lines:
            if line.startswith(("/", "#")):
                shown = re.sub(rf"\n?❯ {re.escape(line)}\n", "", shown, count=1)
        return shown

    async def until(self, condition: Callable[[], bool]) -> None:
        """Lets everything go on until something is the case."""
        await until(condition)

    async def __aenter__(self) -> ChatWorld:
        self._run = asyncio.create_task(self.chat.run())
        await self.until(lambda: "/help" in self.terminal.shown or self._run.done())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.chat.leave()
        await self._run

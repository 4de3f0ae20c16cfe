"""All servers of a session: found, allowed, connected in parallel, and their tools mounted while the session runs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Coroutine
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.models import HookResult
from amplifier_module_tool_mcp.callbacks import ELICIT, Callbacks
from amplifier_module_tool_mcp.config import McpConfig
from amplifier_module_tool_mcp.connection import Line, Offer, connected, load_sdk
from amplifier_module_tool_mcp.errors import InvalidEntryError, ServerError, UnreachableError
from amplifier_module_tool_mcp.files import Written, find_servers
from amplifier_module_tool_mcp.link import Observer, ServerLink
from amplifier_module_tool_mcp.names import NameBook
from amplifier_module_tool_mcp.permission import Permissions
from amplifier_module_tool_mcp.plans import ServerPlan, is_disabled, to_plan
from amplifier_module_tool_mcp.server_log import ServerLog, log_path
from amplifier_module_tool_mcp.telling import (
    AUTHORIZATION_REQUIRED,
    PROGRESS,
    SERVER_FAILED,
    SERVER_READY,
    TOOLS_CHANGED,
)
from amplifier_module_tool_mcp.texts import error_line, name_line
from amplifier_module_tool_mcp.tools import Desk, McpTool, tools_of
from amplifier_module_tool_mcp.visibility import Sight

logger = logging.getLogger(__name__)

OPEN_URL = "mcp.open_url"
"""The capability that opens a URL in the user's browser: ``open_url(url)``."""
_USUAL_PRIORITY = 100


@dataclass
class Member:
    """One server of the session; without a link as long as it is not known how to connect, or that is impossible."""

    name: str
    link: ServerLink | None = None
    problem: str | None = None
    tools: dict[str, McpTool] = field(default_factory=dict[str, "McpTool"])
    is_decided: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there is a link, or a problem."""

    def sight(self) -> Sight:
        """The server as the model is shown it."""
        if self.link is not None:
            return Sight(self.name, self.link.state, tuple(sorted(self.tools)), self.link.problem)
        return Sight(self.name, "failed" if self.problem else "connecting", (), self.problem)


class Fleet(Observer):
    """The servers of one session, from ``start`` to ``close``."""

    def __init__(self, coordinator: ModuleCoordinator, config: McpConfig, working_dir: Path) -> None:
        self._coordinator = coordinator
        self._config = config
        self._working_dir = working_dir
        self._permissions = Permissions(config.project_servers, working_dir, lambda: coordinator.approval_system)
        self._names = NameBook(())
        self._members: dict[str, Member] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._starting: asyncio.Task[None] | None = None
        self._has_waited = False

    def start(self) -> None:
        """Begins to connect, in the background."""
        self._starting = _watched(self._start(), "mcp")

    async def settled(self) -> None:
        """Waits until each server is connected, or known not to be."""
        assert self._starting is not None
        await asyncio.wait((self._starting,))
        for member in self._members.values():
            await member.is_decided.wait()
            if member.link is not None:
                await member.link.settled()

    def sights(self) -> list[Sight]:
        """The servers as the model is shown them."""
        return [member.sight() for member in self._members.values()]

    async def reconnect(self, server: str) -> None:
        """Waits until a server is connected, and tries it again for that; raises ``ServerError`` if it is not."""
        member = self._members.get(server)
        if member is None:
            known = ", ".join(map(name_line, self._members)) or "none"
            raise InvalidEntryError(f"there is no MCP server '{name_line(server)}'; known are: {known}")
        if member.link is None:
            raise UnreachableError(f"it cannot be connected: {member.problem or 'it is not known yet how'}")
        await member.link.connect()

    async def hold_first_turn(self, event: str, data: dict[str, Any]) -> HookResult:
        """Gives servers that are still connecting a moment, before the first turn only."""
        if not self._has_waited:
            self._has_waited = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._config.startup_wait):
                    await self.settled()
        return HookResult()

    async def close(self) -> None:
        """Takes the tools away and ends all connections and servers."""
        assert self._starting is not None
        tasks = [*self._tasks, self._starting]
        for task in tasks:
            task.cancel()
        for member in self._members.values():
            self._mount(member, {})
        await asyncio.gather(*tasks, return_exceptions=True)

    async def on_ready(self, link: ServerLink, offer: Offer) -> None:
        """Mounts the tools of a server that is there."""
        member = self._members[link.plan.name]
        self._offer(member, link, offer)
        facts = {
            "server": member.name,
            "transport": link.plan.transport,
            "protocol_version": link.protocol_version,
            "tools": sorted(member.tools),
            "resources": len(offer.resources) + len(offer.templates),
            "prompts": len(offer.prompts),
        }
        await self._coordinator.hooks.emit(SERVER_READY, facts)

    async def on_changed(self, link: ServerLink, offer: Offer) -> None:
        """Mounts what was added, and takes away what is offered no more."""
        member = self._members[link.plan.name]
        before = set(member.tools)
        self._offer(member, link, offer)
        after = set(member.tools)
        facts = {"server": member.name, "added": sorted(after - before), "removed": sorted(before - after)}
        await self._coordinator.hooks.emit(TOOLS_CHANGED, facts)

    async def on_failed(self, link: ServerLink, retry_s: float | None) -> None:
        """Tells that a server is not connected; what it offered stays mounted, and a call tries again."""
        await self._tell_failure(link.plan.name, link.problem or "", retry_s)

    async def _start(self) -> None:
        found = await asyncio.to_thread(find_servers, self._config.servers, self._working_dir, os.environ)
        for problem in found.problems:
            logger.warning("MCP: %s", problem)
        wanted = {name: written for name, written in found.servers.items() if self._is_wanted(written)}
        self._names = NameBook(wanted)
        self._members = {name: Member(name) for name in wanted}
        for name, written in wanted.items():
            self._tasks.append(_watched(self._run(self._members[name], written), f"mcp {name}"))

    def _is_wanted(self, written: Written) -> bool:
        is_ignored = written.is_from_project and self._config.project_servers == "ignore"
        return not is_disabled(written.entry) and not is_ignored

    async def _run(self, member: Member, written: Written) -> None:
        try:
            await self._permissions.require(member.name, written)
            plan = to_plan(member.name, written.entry, os.environ, self._working_dir)
            await load_sdk()
        except ServerError as error:
            member.problem = error_line(error)
            member.is_decided.set()
            await self._tell_failure(member.name, member.problem, None)
            return
        member.link = self._link(plan)
        member.is_decided.set()
        await member.link.run()

    def _link(self, plan: ServerPlan) -> ServerLink:
        config = self._config
        log = ServerLog(
            log_path(config.log_dir, plan.name),
            plan.mask,
            max_bytes=config.max_log_bytes,
            is_verbose=config.is_verbose,
        )
        line = Line(
            plan,
            log,
            self._callbacks(plan),
            functools.partial(self._ask_to_open, plan.name),
            timeout_s=config.connect_timeout,
            max_message_bytes=config.max_message_bytes,
        )
        return ServerLink(plan, functools.partial(connected, line), self, wait_s=config.connect_timeout)

    def _callbacks(self, plan: ServerPlan) -> Callbacks:
        return Callbacks(
            plan.name,
            self._working_dir,
            elicit=self._coordinator.get_capability(ELICIT),
            require_provider=self._require_provider if self._config.sampling else None,
        )

    def _require_provider(self) -> Any:
        providers: dict[str, Any] = self._coordinator.get("providers")
        if not providers:
            raise LookupError("the session has no provider")
        return min(providers.values(), key=lambda each: getattr(each, "priority", _USUAL_PRIORITY))

    def _offer(self, member: Member, link: ServerLink, offer: Offer) -> None:
        config, plan = self._config, link.plan
        tell = functools.partial(self._coordinator.hooks.emit, PROGRESS)
        desk = Desk(link, config.max_content_size, plan.timeout_s or config.call_timeout, tell)
        self._mount(member, tools_of(offer, desk, functools.partial(self._names.name_of, member.name)))

    def _mount(self, member: Member, tools: dict[str, McpTool]) -> None:
        """Puts the tools of a server in the place of those it had; tools of others stay where they are."""
        mounted: dict[str, Any] = self._coordinator.get("tools")
        for name, tool in member.tools.items():
            if name not in tools and mounted.get(name) is tool:
                self._coordinator.unmount("tools", name=name)
        for name in [name for name in tools if mounted.get(name) is not member.tools.get(name)]:
            logger.warning(
                "MCP server %s: there is another tool called '%s', so its own is left out", member.name, name
            )
            del tools[name]
        for name, tool in tools.items():
            self._coordinator.mount("tools", tool, name=name)
        member.tools = tools

    async def _tell_failure(self, server: str, problem: str, retry_s: float | None) -> None:
        again = "" if retry_s is None else f"; it is tried again in {retry_s:g} s"
        logger.warning("MCP server %s is not connected: %s%s", name_line(server), problem, again)
        await self._coordinator.hooks.emit(
            SERVER_FAILED,
            {"server": server, "error": problem, "retry_in_s": retry_s, "will_retry": retry_s is not None},
        )

    async def _ask_to_open(self, server: str, url: str) -> None:
        told = f"The MCP server '{name_line(server)}' wants you to agree; open this in a browser: {url}"
        logger.warning("%s", told)
        await self._coordinator.hooks.emit(AUTHORIZATION_REQUIRED, {"server": server, "url": url})
        if self._coordinator.display_system is not None:
            self._coordinator.display_system.show_message(told, "warning", "tool-mcp")
        open_url = self._coordinator.get_capability(OPEN_URL)
        if open_url is not None:
            opened = open_url(url)
            if isawaitable(opened):
                await opened


def _watched(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    """Begins ``work`` in the background; what it should never raise is logged."""

    def note(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("The task '%s' of tool-mcp has failed: %s: %s", name, type(error).__name__, error_line(error))

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(note)
    return task

"""One server over the life of a session: connected in the background, connected again when it was lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, TypeVar

from amplifier_module_tool_mcp.connection import Connection, Offer
from amplifier_module_tool_mcp.errors import ForgottenError, LostError, ServerError, TimedOutError, UnreachableError
from amplifier_module_tool_mcp.plans import ServerPlan
from amplifier_module_tool_mcp.texts import error_line

logger = logging.getLogger(__name__)

State = Literal["connecting", "ready", "failed"]
Result = TypeVar("Result")

TRIES = 3
_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 60.0
# One that lives that long was not broken from the start.
_STABLE_S = 60.0
# A server that cries "changed" all the time is asked now and then.
_BETWEEN_LISTS_S = 0.5


class Observer:
    """Who is told what becomes of a server; made once for all of them."""

    async def on_ready(self, link: ServerLink, offer: Offer) -> None:
        """It is connected, again perhaps, and offers this."""
        raise NotImplementedError

    async def on_changed(self, link: ServerLink, offer: Offer) -> None:
        """It offers something else than before."""
        raise NotImplementedError

    async def on_failed(self, link: ServerLink, retry_s: float | None) -> None:
        """It is not connected, for its ``problem``; it is tried again in so many seconds, or not by itself."""
        raise NotImplementedError


class ServerLink:
    """Keeps the connection to one server; ``run`` is its life, in a task of its own.

    When all tries have failed it waits until somebody wants to call the server again.
    """

    def __init__(
        self,
        plan: ServerPlan,
        connect: Callable[[], AbstractAsyncContextManager[Connection]],
        observer: Observer,
        *,
        wait_s: float,
        pause: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self.plan = plan
        self.state: State = "connecting"
        self.problem: str | None = None
        """Why it is not connected."""
        self._open = connect
        self._observer = observer
        self._wait_s = wait_s
        self._pause = pause
        self._connection: Connection | None = None
        self._moved = asyncio.Event()
        """Set when the state changes; each state has one of its own."""
        self._is_wanted = asyncio.Event()

    @property
    def protocol_version(self) -> str | None:
        """What was agreed on, while connected."""
        return self._connection.protocol_version if self._connection is not None else None

    async def settled(self) -> None:
        """Waits until it is known whether the server can be reached."""
        while self._is_pending:
            await self._moved.wait()

    async def run(self) -> None:
        """Connects, and keeps connected, for ever."""
        failures = 0
        while True:
            started = asyncio.get_running_loop().time()
            error = await self._live()
            if asyncio.get_running_loop().time() - started > _STABLE_S:
                failures = 0
            failures += 1
            if error.is_lasting or failures > TRIES:
                failures = 0
                await self._give_up(error)
            else:
                delay_s = min(_FIRST_DELAY_S * 2 ** (failures - 1), _LONGEST_DELAY_S)
                self.problem = self._told(error)
                await self._observer.on_failed(self, delay_s)
                await self._pause(delay_s)

    async def use(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """Does something with the connection; waits for it if there is none now. Raises ``ServerError``."""
        try:
            return await self._use_once(work)
        except ForgottenError:
            # Nothing has happened yet: a server that does not know us does nothing for us.
            return await self._use_once(work)

    async def connect(self) -> None:
        """Waits until there is a connection; raises ``ServerError`` if there is none."""
        await self._require_connection()

    async def _use_once(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        connection = await self._require_connection()
        try:
            return await work(connection)
        except ForgottenError:
            raise
        except LostError as error:
            raise LostError(
                f"the connection to the MCP server '{self.plan.name}' was lost during the call. Whether the call had "
                "its effect is not known; look before you repeat it"
            ) from error

    async def _require_connection(self) -> Connection:
        if self.state == "failed":
            self._move("connecting")
            self._is_wanted.set()
        try:
            async with asyncio.timeout(self._wait_s):
                await self.settled()
        except TimeoutError:
            raise TimedOutError(
                f"the MCP server '{self.plan.name}' is not connected, and was not within {self._wait_s:g} s"
            ) from None
        if self._connection is None:
            raise UnreachableError(f"the MCP server '{self.plan.name}' is not connected: {self.problem}")
        return self._connection

    @property
    def _is_pending(self) -> bool:
        # A connection that is lost is on its way out.
        is_lost = self._connection is not None and self._connection.lost.is_set()
        return self.state == "connecting" or is_lost

    def _move(self, state: State) -> None:
        moved, self._moved, self.state = self._moved, asyncio.Event(), state
        moved.set()

    def _told(self, error: ServerError) -> str:
        return self.plan.mask(error_line(error))

    async def _live(self) -> ServerError:
        """One connection from its beginning to its end; gives what ended it."""
        try:
            async with self._open() as connection:
                offer = await connection.offer()
                await self._begin(connection, offer)
                await self._follow(connection)
        except ServerError as error:
            return error
        finally:
            self._leave()
        return LostError("the server has ended")

    async def _begin(self, connection: Connection, offer: Offer) -> None:
        self._connection, self.problem = connection, None
        # First, since whoever hears of it may call the server at once. Those who wait for it run no earlier than the
        # observer does.
        self._move("ready")
        await self._observer.on_ready(self, offer)

    def _leave(self) -> None:
        self._connection = None
        self._move("connecting")

    async def _follow(self, connection: Connection) -> None:
        """Waits for the end of a connection; meanwhile, what the server offers is looked at again when it changes."""
        helpers = [asyncio.create_task(connection.listen()), asyncio.create_task(self._keep_up(connection))]
        try:
            await connection.lost.wait()
        finally:
            self._leave()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def _keep_up(self, connection: Connection) -> None:
        while True:
            await connection.changed.wait()
            connection.changed.clear()
            try:
                await self._observer.on_changed(self, await connection.offer())
            except ServerError as error:
                logger.warning("MCP server %s: its tools cannot be listed: %s", self.plan.name, self._told(error))
            await self._pause(_BETWEEN_LISTS_S)

    async def _give_up(self, error: ServerError) -> None:
        """Waits until somebody wants to call the server."""
        self.problem = self._told(error)
        self._is_wanted.clear()
        await self._observer.on_failed(self, None)
        self._move("failed")
        await self._is_wanted.wait()

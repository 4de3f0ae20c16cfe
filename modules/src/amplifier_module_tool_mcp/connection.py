"""A connection to one server, by either transport: what it offers, and calls. Errors come out as ``ServerError``."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amplifier_module_tool_mcp.callbacks import Callbacks
from amplifier_module_tool_mcp.clock import PatientClock
from amplifier_module_tool_mcp.errors import (
    AnsweredError,
    AuthorizationError,
    DeniedError,
    ForgottenError,
    LostError,
    NotInstalledError,
    ServerError,
    TimedOutError,
    UnreachableError,
)
from amplifier_module_tool_mcp.http import Statuses, open_http
from amplifier_module_tool_mcp.oauth import AskToOpen, authentication
from amplifier_module_tool_mcp.plans import ServerPlan
from amplifier_module_tool_mcp.server_log import ServerLog
from amplifier_module_tool_mcp.stdio import open_stdio
from amplifier_module_tool_mcp.texts import error_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT

logger = logging.getLogger(__name__)

_MOST_PAGES = 50
_MOST_LISTED = 1_000
_RELISTEN_S = (1.0, 5.0, 30.0, 60.0)
# What servers answer to those whose session they have forgotten; the body's words differ.
_FORGETTING = (400, 404)
_DENYING = (401, 403, 404, 405)
_GOOD_BYE_S = 5.0


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers now, as the SDK has it."""

    tools: list[Any] = field(default_factory=list[Any])
    resources: list[Any] = field(default_factory=list[Any])
    templates: list[Any] = field(default_factory=list[Any])
    prompts: list[Any] = field(default_factory=list[Any])


@dataclass(frozen=True, slots=True)
class Line:
    """How to connect to a server, and what to do on the way."""

    plan: ServerPlan
    log: ServerLog
    callbacks: Callbacks
    ask_to_open: AskToOpen
    timeout_s: float
    max_message_bytes: int


async def load_sdk() -> None:
    """Imports the SDK in a thread: it takes most of a second, which the event loop has better use for."""
    try:
        await asyncio.to_thread(_import_sdk)
    except ImportError as error:
        raise NotInstalledError from error


def _import_sdk() -> None:
    importlib.import_module("mcp")
    importlib.import_module("mcp.client.auth")


class Connection:
    """An open connection; made by ``connected``."""

    def __init__(
        self, client: Client, lost: asyncio.Event, changed: asyncio.Event, statuses: Statuses, list_s: float = 30.0
    ) -> None:
        self._client = client
        self._list_s = list_s
        self._statuses = statuses
        self.lost = lost
        """Set when the server is gone."""
        self.changed = changed
        """Set when the server says that it offers something else."""

    @property
    def protocol_version(self) -> str:
        """What both have agreed on."""
        return self._client.protocol_version

    async def offer(self) -> Offer:
        """Everything the server offers; raises ``ServerError``."""
        try:
            async with asyncio.timeout(self._list_s):
                return await self._offer()
        except TimeoutError as error:
            raise TimedOutError(f"it has not said within {self._list_s:g} s what it offers") from error

    async def _offer(self) -> Offer:
        able, client = self._client.server_capabilities, self._client
        with self._told_errors():
            return Offer(
                await _all(client.list_tools, "tools") if able.tools else [],
                await _all(client.list_resources, "resources") if able.resources else [],
                await _all(client.list_resource_templates, "resource_templates") if able.resources else [],
                await _all(client.list_prompts, "prompts") if able.prompts else [],
            )

    async def call_tool(self, name: str, arguments: dict[str, Any], progress: ProgressFnT) -> Any:
        """Calls a tool; a cancellation tells the server and passes at once."""
        with self._told_errors():
            return await self._client.call_tool(name, arguments, progress_callback=progress)

    async def read_resource(self, uri: str) -> Any:
        """The contents of a resource."""
        with self._told_errors():
            return await self._client.read_resource(uri)

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> Any:
        """A prompt, filled in."""
        with self._told_errors():
            return await self._client.get_prompt(name, arguments)

    async def listen(self) -> None:
        """Sets ``changed`` whenever the server says so, on connections where that has to be asked for."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        able = self._client.server_capabilities
        wanted: dict[str, Any] = {
            "tools_list_changed": bool(able.tools and able.tools.list_changed),
            "prompts_list_changed": bool(able.prompts and able.prompts.list_changed),
            "resources_list_changed": bool(able.resources and able.resources.list_changed),
        }
        for delay_s in (*_RELISTEN_S, None) if any(wanted.values()) else ():
            try:
                async with self._client.listen(**wanted) as events:
                    async for _ in events:
                        self.changed.set()
                return
            except SubscriptionLost:
                if delay_s is not None:
                    await asyncio.sleep(delay_s)
                    self.changed.set()
            except (ListenNotSupportedError, MCPError) as error:
                logger.debug("An MCP server tells no changes: %s", error_line(error))
                return

    @contextlib.contextmanager
    def _told_errors(self) -> Generator[None]:
        try:
            yield
        except Exception as error:
            told = told_error(error, self._statuses.refusal)
            if isinstance(told, LostError):
                self.lost.set()
            raise told from error


@asynccontextmanager
async def connected(line: Line) -> AsyncGenerator[Connection]:
    """Connects to a server; to be entered and left in the same task.

    Raises ``ServerError`` if that does not work, and also when the connection breaks while the block runs.
    """
    lost, changed, statuses = asyncio.Event(), asyncio.Event(), Statuses()
    clock, leaving = PatientClock(line.timeout_s), asyncio.timeout(None)
    try:
        async with leaving, contextlib.AsyncExitStack() as stack:
            try:
                async with clock:
                    client = await stack.enter_async_context(await _client(line, clock, lost, changed, statuses))
                yield Connection(client, lost, changed, statuses, line.timeout_s)
            finally:
                # A server is told good-bye, and may be too far gone to hear it.
                leaving.reschedule(asyncio.get_running_loop().time() + _GOOD_BYE_S)
    except ServerError:
        raise
    except TimeoutError as error:
        if leaving.expired():
            raise LostError("the server has ended the connection") from error
        raise TimedOutError(f"no connection within {line.timeout_s:g} s (connect_timeout)") from error
    except Exception as error:
        raise told_error(error, statuses.refusal) from error


async def _client(
    line: Line, clock: PatientClock, lost: asyncio.Event, changed: asyncio.Event, statuses: Statuses
) -> Client:
    from mcp import Client
    from mcp_types import Implementation

    async def note_change(message: Any) -> None:
        if str(getattr(message, "method", "")).endswith("/list_changed"):
            changed.set()

    async def write_log(params: Any) -> None:
        line.log.add(f"[{params.level}] {params.data}\n".encode("utf-8", "replace"))

    if line.plan.transport == "stdio":
        transport: Any = open_stdio(line.plan, line.log, lost, max_message_bytes=line.max_message_bytes)
    else:
        auth = await authentication(line.plan, line.ask_to_open, clock)
        transport = open_http(line.plan, auth, statuses, max_message_bytes=line.max_message_bytes)
    callbacks: dict[str, Any] = {**line.callbacks.to_arguments()}
    return Client(
        transport,
        client_info=Implementation(name="amplifier", version=importlib.metadata.version("amplifier-core")),
        message_handler=note_change,
        logging_callback=write_log,
        cache=None,
        **callbacks,
    )


async def _all(list_page: Callable[..., Awaitable[Any]], key: str) -> list[Any]:
    """All pages of a list, as far as a sane server has them."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await list_page(cursor=cursor)
        found += getattr(page, key)
        cursor = page.next_cursor
        if cursor is None or len(found) >= _MOST_LISTED:
            break
    return found[:_MOST_LISTED]


def told_error(error: BaseException, refusal: int | None = None) -> ServerError:
    """What went wrong between us and a server; ``refusal`` is the HTTP status that came with it."""
    from mcp.client.auth import OAuthFlowError
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    root = _root_of(error)
    if isinstance(root, ServerError):
        return root
    text = error_line(root)
    if isinstance(root, OAuthFlowError):
        return AuthorizationError(f"the authorization failed: {text}")
    if not isinstance(root, MCPError):
        return UnreachableError(f"{type(root).__name__}: {text}")
    if root.code == CONNECTION_CLOSED:
        return LostError("the server has ended the connection")
    if refusal in _FORGETTING and "session" in root.message.lower():
        return ForgottenError("the server has forgotten this session")
    if root.code == REQUEST_TIMEOUT:
        return TimedOutError(text)
    if refusal is None:
        return AnsweredError(text)
    told = f"{text} (HTTP status {refusal})"
    return DeniedError(told) if refusal in _DENYING else AnsweredError(told)


def _root_of(error: BaseException) -> BaseException:
    """The error in a group that says most: the first that is none of a group."""
    parts: tuple[BaseException, ...] | None = getattr(error, "exceptions", None)
    return _root_of(parts[0]) if parts else error

"""Servers as child processes: messages over stdin and stdout, one per line, and nothing left behind.

The SDK has such a transport as well. It does not bound a message, needs a file for stderr, and leaves alone what a
server has started when the server itself ends politely; this one can go when that is so no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from amplifier_modkit.turns.stopping import finish
from amplifier_module_tool_mcp.errors import NotStartedError
from amplifier_module_tool_mcp.plans import ServerPlan
from amplifier_module_tool_mcp.server_log import ServerLog
from amplifier_module_tool_mcp.texts import error_line

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    Incoming = MemoryObjectSendStream[SessionMessage | Exception]
    Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

logger = logging.getLogger(__name__)

_READ_BYTES = 65_536
# A call that is cancelled does not wait until a busy server has read that.
_MOST_QUEUED = 256
_LEAVE_S = 1.0
"""How long a server has to end by itself when its stdin is closed."""
_TERM_S = 1.0
"""Between the polite signal and the one that cannot be refused."""
_POLL_S = 0.01


@asynccontextmanager
async def open_stdio(
    plan: ServerPlan, log: ServerLog, lost: asyncio.Event, *, max_message_bytes: int
) -> AsyncGenerator[Streams]:
    """Starts the server and connects to it; sets ``lost`` when it is gone.

    When the block is left, the server and all it has started are ended, also when that is cancelled.
    Raises ``NotStartedError`` when there is nothing to start.
    """
    import anyio

    process = await _started(plan, max_message_bytes)
    incoming, read = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    write, outgoing = anyio.create_memory_object_stream["SessionMessage"](_MOST_QUEUED)
    tasks = [
        asyncio.create_task(_until_lost(work, lost))
        for work in (_receive(process, incoming, log), _send(process, outgoing), _log(process, log))
    ]
    try:
        yield read, write
    finally:
        await finish(_end(process, tasks))
        for stream in (incoming, read, write, outgoing):
            stream.close()
        await log.close()


async def _started(plan: ServerPlan, max_message_bytes: int) -> asyncio.subprocess.Process:
    from mcp.client.stdio import get_default_environment

    try:
        return await asyncio.create_subprocess_exec(
            plan.command,
            *plan.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**get_default_environment(), **plan.env},
            cwd=plan.cwd,
            limit=max_message_bytes,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NotStartedError(f"the command '{plan.command}' cannot be started: {error}") from error


async def _until_lost(work: Coroutine[Any, Any, None], lost: asyncio.Event) -> None:
    try:
        await work
    except Exception as error:
        logger.debug("A pipe to an MCP server broke: %s", error_line(error))
    finally:
        lost.set()


async def _receive(process: asyncio.subprocess.Process, incoming: Incoming, log: ServerLog) -> None:
    """Passes messages on until there are no more; what is no message goes to the log."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    async with incoming:
        while line := await _line(process.stdout, log):
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                log.add(b"[no message on stdout: %s]\n" % line[:200].strip())
                continue
            await incoming.send(SessionMessage(message))


async def _line(stdout: asyncio.StreamReader, log: ServerLog) -> bytes:
    try:
        return await stdout.readline()
    except ValueError:
        log.add(b"[the connection is ended: a message on stdout is larger than max_message_bytes]\n")
        return b""


async def _send(process: asyncio.subprocess.Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    async with outgoing:
        async for each in outgoing:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()


async def _log(process: asyncio.subprocess.Process, log: ServerLog) -> None:
    assert process.stderr is not None
    while data := await process.stderr.read(_READ_BYTES):
        log.add(data)
    # A server may close its stderr and go on.
    await process.wait()


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    """Ends the server and everything in its group, politely first."""
    assert process.stdin is not None
    process.stdin.close()
    await _wait_for(lambda: process.returncode is not None, _LEAVE_S)
    if _signal_group(process.pid, signal.SIGTERM):
        await _wait_for(lambda: not _signal_group(process.pid, 0), _TERM_S)
        _signal_group(process.pid, signal.SIGKILL)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await _wait_for(lambda: process.returncode is not None, _TERM_S)
    # Pipes that a survivor outside of the group holds open would keep ``wait`` waiting.
    process._transport.close()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportAttributeAccessIssue]


async def _wait_for(condition: Callable[[], bool], limit_s: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    # Neither the end of a group nor that of a process whose pipes somebody else holds is told by an event.
    while not condition() and loop.time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)


def _signal_group(pid: int, number: int) -> bool:
    """Sends a signal to a server's group; says whether there is anybody left in it."""
    kill_group = getattr(os, "killpg", None)
    if kill_group is None:  # pragma: no cover - Windows has no such groups
        return False
    try:
        kill_group(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True

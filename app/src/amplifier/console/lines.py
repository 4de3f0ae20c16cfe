"""Lines of standard input, awaited: nobody who waits for one keeps the process from ending.

Python's own readers hold a lock while they wait, and a thread that waits in one must be waited for at the end. So the
descriptor is read here as it is, by a thread that is left behind when the process ends.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

_CHUNK = 65_536


async def lines_from(descriptor: int) -> AsyncIterator[bytes]:
    """The lines of a descriptor as they come, without their ends, until there are no more."""
    rest = b""
    while chunk := await _read(descriptor):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


async def _read(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def deliver(data: bytes) -> None:
        if not arrived.done():
            arrived.set_result(data)

    def wait() -> None:
        try:
            data = os.read(descriptor, _CHUNK)
        except OSError:
            data = b""
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, data)

    threading.Thread(target=wait, daemon=True, name="amplifier-stdin").start()
    return await arrived


async def typed_line(descriptor: int) -> str:
    """One line that is typed on a terminal, without its end; raises ``EOFError`` where there will be no more.

    It is taken only when it is there: what is typed after somebody has stopped waiting is left for others.
    """
    line = await _typed(descriptor)
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\r\n")


async def _typed(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    is_there = asyncio.Event()
    try:
        loop.add_reader(descriptor, is_there.set)
    except (NotImplementedError, OSError):
        # Loops of some platforms watch sockets alone.
        return await _read(descriptor)
    try:
        await is_there.wait()
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
    finally:
        loop.remove_reader(descriptor)

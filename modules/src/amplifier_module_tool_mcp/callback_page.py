"""The place on this machine to which a browser comes back with an authorization code."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from amplifier_module_tool_mcp.errors import AuthorizationError
from amplifier_module_tool_mcp.texts import error_line

HOST = "127.0.0.1"
PATH = "/callback"
_MOST_BYTES = 16_384
_READ_S = 10.0
_PAGE = "<!doctype html><meta charset=utf-8><title>Amplifier</title><p>{}"


@dataclass(frozen=True, slots=True)
class Returned:
    """What the browser brought back."""

    code: str
    state: str | None
    iss: str | None


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def callback_page(port: int) -> AsyncGenerator[asyncio.Future[Returned]]:
    """Listens as long as the block runs; the future gets what the first proper visit brings, or the refusal.

    Raises ``AuthorizationError`` when the port is taken.
    """
    arrived: asyncio.Future[Returned] = asyncio.get_running_loop().create_future()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_READ_S):
                head = await reader.readuntil(b"\r\n\r\n")
            status, words = _judge(head.split(b"\r\n", 1)[0].decode("latin-1"), arrived)
            body = _PAGE.format(words).encode()
            writer.write(
                b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                % (status, len(body), body)
            )
            await writer.drain()
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError):
            pass  # whoever that was, it was no browser with an answer
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(visit, HOST, port, limit=_MOST_BYTES)
    except OSError as error:
        raise AuthorizationError(
            f"port {port} of this machine, to which the browser would come back, is taken: {error_line(error)}"
        ) from error
    try:
        yield arrived
    finally:
        server.close()
        arrived.cancel()


def _judge(request_line: str, arrived: asyncio.Future[Returned]) -> tuple[bytes, str]:
    """Reads a visit; gives the status and the words of the page."""
    _, target, *_ = [*request_line.split(" "), "", ""]
    address = urlsplit(target)
    query = {key: values[0] for key, values in parse_qs(address.query).items()}
    if address.path != PATH or not ("code" in query or "error" in query):
        return b"404 Not Found", "Nothing is here."
    if arrived.done():
        return b"200 OK", "This was answered before. You can close this page."
    if "error" in query:
        why = error_line(query.get("error_description") or query["error"])
        arrived.set_exception(AuthorizationError(f"the authorization was refused: {why}"))
        return b"200 OK", "The authorization was refused. You can close this page."
    arrived.set_result(Returned(query["code"], query.get("state"), query.get("iss")))
    return b"200 OK", "Authorized. You can close this page and go back."

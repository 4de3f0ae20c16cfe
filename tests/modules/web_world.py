"""A small web for tests: servers on loopback that say what a test tells them to, and names that lead where it says."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_module_tool_web.config import WebConfig
from amplifier_module_tool_web.fetch_tool import WebFetchTool
from amplifier_module_tool_web.guard import Resolver
from amplifier_module_tool_web.mounting import fetch_tool, search_tool
from amplifier_module_tool_web.search_tool import WebSearchTool

PUBLIC = "127.0.0.9"
"""Where servers are that tests take for public; everything else on loopback is private."""

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Seen:
    """A request as a server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass
class WebServer:
    """Answers each path with bytes or by playing; remembers what it was asked, and when a client went away."""

    routes: Mapping[str, bytes | Play] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    _serving: set[asyncio.Task[Any]] = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def on(
        self, host: str = PUBLIC, port: int = 0, tls: ssl.SSLContext | None = None
    ) -> AsyncIterator[WebServer]:
        """Serves while the block runs."""
        server = await asyncio.start_server(self._serve, host, port, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._answer(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self.hung_up.set()
            self._serving.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            seen = await _read_request(reader)
            self.seen.append(seen)
            answer = self.routes.get(seen.path, answered(status=404, body=b"nothing here"))
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(reader, writer)
            await writer.drain()


async def _read_request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Seen(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def answered(
    body: bytes = b"", content_type: str | None = "text/plain; charset=utf-8", *, status: int = 200, **headers: str
) -> bytes:
    """A whole answer; header names are written with underscores."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", "Connection: close"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def redirect(location: str, status: int = 302) -> bytes:
    """An answer that sends the client elsewhere."""
    return answered(status=status, Location=location)


def pdf(*pages: str, title: str | None = None) -> bytes:
    """A PDF with a line of text on each page, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids: list[str] = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        resources = f"/Resources << /Font << /F1 3 0 R >> >> /Contents {len(objects)} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} >>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    info = ""
    if title is not None:
        objects.append(f"<< /Title ({title}) >>")
        info = f"/Info {len(objects)} 0 R"
    data, places = "%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"trailer\n<< /Size {size} /Root 1 0 R {info} >>\nstartxref\n{len(data)}\n%%EOF"
    return f"{data}xref\n0 {size}\n0000000000 65535 f \n{table}{tail}".encode("latin-1")


class Names:
    """A resolver whose answers are written down; each is given once, the last one for ever."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]] | None = None) -> None:
        self._answers = {name: [list(each) for each in given] for name, given in (answers or {}).items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        given = self._answers.get(host)
        if given is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return given.pop(0) if len(given) > 1 else given[0]


class Web:
    """The tools of a session as a test configures them, and what they told."""

    def __init__(
        self, coordinator: TestCoordinator, fetch: WebFetchTool, search: WebSearchTool, told: EventRecorder
    ) -> None:
        self.coordinator = coordinator
        self.fetch = fetch
        self.search = search
        self.told = told

    async def get(self, url: str, **arguments: Any) -> Any:
        """What ``web_fetch`` says about a URL."""
        return await self.fetch.execute({"url": url, **arguments})

    async def find(self, given: dict[str, Any]) -> Any:
        """What ``web_search`` says to its arguments."""
        return await self.search.execute(given)


async def web(names: Resolver | None = None, **config: Any) -> Web:
    """Tools for which ``PUBLIC`` is public and every port is open; ``site.test`` leads there."""
    names = names or Names({"site.test": [[PUBLIC]]})
    settings = WebConfig.read({"allow_private": [f"{PUBLIC}/32"], "allowed_ports": [], **config})
    coordinator, told = TestCoordinator(), EventRecorder()
    coordinator.hooks.register("artifact:write", told)
    return Web(coordinator, await fetch_tool(coordinator, settings, names), search_tool(settings, names), told)

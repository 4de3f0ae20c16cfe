"""A scripted service on a loopback socket: plays HTTP answers, whole or in pieces, and every way to fail at it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Frame = tuple[str | None, Any]
"""One server-sent event: its name, and its data as text or as what becomes JSON."""

Ending = Literal["end", "stall", "drop"]


@dataclass(frozen=True)
class Answer:
    """One answer: sent piece by piece, then ended, left hanging, or dropped; ``silent`` hangs before the first byte."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Sequence[bytes] = ()
    ending: Ending = "end"
    silent: bool = False

    @property
    def body(self) -> bytes:
        """All pieces."""
        return b"".join(self.pieces)

    def cut(self, size: int) -> Answer:
        """The same in pieces of ``size`` bytes, in the middle of whatever that hits."""
        body = self.body
        return replace(self, pieces=[body[start : start + size] for start in range(0, len(body), size)])

    def first(self, count: int, ending: Ending = "drop") -> Answer:
        """Only its first ``count`` pieces, and then trouble."""
        return replace(self, pieces=self.pieces[:count], ending=ending)


def json_answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A whole answer in JSON."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {"content-type": "application/json", **(headers or {})}, [text])


def sse_answer(frames: Iterable[Frame], headers: Mapping[str, str] | None = None) -> Answer:
    """A stream with one piece per frame."""
    pieces = [frame_bytes(event, data) for event, data in frames]
    return Answer(200, {"content-type": "text/event-stream", **(headers or {})}, pieces)


def frame_bytes(event: str | None, data: Any) -> bytes:
    """One frame as it is sent; characters beyond ASCII stay as they are, so that cuts can hit them."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    name = "" if event is None else f"event: {event}\n"
    return f"{name}data: {text}\n\n".encode()


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class LlmServer:
    """Answers requests from its script, in order; beyond its end, with status 500."""

    def __init__(self, answers: Iterable[Answer], paths: Mapping[str, Answer]) -> None:
        self.answers = list(answers)
        self.paths = dict(paths)
        """Answers for paths beside the script, given as often as asked."""
        self.requests: list[Seen] = []
        self.connections = 0
        self.hang_ups = 0
        """How often a client closed while an answer was left hanging."""
        self.arrived = asyncio.Event()
        """Set with each request."""
        self.left = asyncio.Event()
        """Set with the first hang-up."""
        self.url = ""

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests."""
        return [seen.body for seen in self.requests]

    async def until_asked(self, times: int) -> None:
        """Waits until so many requests have come."""
        while len(self.requests) < times:
            self.arrived.clear()
            await self.arrived.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection until either side ends it."""
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._serve_one(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        sent = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(Seen(method, path, headers, json.loads(sent) if sent else None))
        answer = self._answer_for(path)
        self.arrived.set()
        return await self._play(answer, reader, writer)

    def _answer_for(self, path: str) -> Answer:
        if path.partition("?")[0] in self.paths:
            return self.paths[path.partition("?")[0]]
        return self.answers.pop(0) if self.answers else json_answer({"error": {"message": "the script is over"}}, 500)

    async def _play(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if answer.silent:
            return False if answer.ending == "drop" else await self._hang(reader)
        lines = [f"HTTP/1.1 {answer.status} Told", *(f"{name}: {value}" for name, value in answer.headers.items())]
        writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode("latin-1"))
        for piece in filter(None, answer.pieces):
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)  # lets the client, on the same loop, read this piece on its own
        if answer.ending == "stall":
            return await self._hang(reader)
        if answer.ending == "drop":
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _hang(self, reader: asyncio.StreamReader) -> bool:
        with suppress(ConnectionError):
            await reader.read()
        self.hang_ups += 1
        self.left.set()
        return False


@asynccontextmanager
async def serving(*answers: Answer, paths: Mapping[str, Answer] | None = None) -> AsyncGenerator[LlmServer]:
    """A server that plays ``answers``, for as long as the test needs it."""
    service = LlmServer(answers, paths or {})
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await service.serve(reader, writer)
        except asyncio.CancelledError:
            return  # the test is over
        finally:
            running.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

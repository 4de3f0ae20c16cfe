"""From a URL to a document: redirects one by one, each through the guard, and a body of bounded size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from amplifier_module_tool_web.decoding import decoder_for
from amplifier_module_tool_web.dialing import Dialer, Question, Reply
from amplifier_module_tool_web.errors import BadContentError, RefusedError, TimedOutError, shown
from amplifier_module_tool_web.guard import Guard
from amplifier_module_tool_web.kinds import ContentType
from amplifier_module_tool_web.targets import Target, redirected, to_target

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "text/html, text/markdown, text/plain, application/json, application/pdf;q=0.9, image/*;q=0.8, */*;q=0.5"
# How much must be there before somebody decides whether the rest is wanted.
_HEAD_BYTES = 4096

Wanted = Callable[[ContentType, bytes], bool]
"""Says whether the body is worth reading, by its declared type and, as soon as there is any, by how it begins."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a server's answer is taken."""

    max_bytes: int = 10_000_000
    total_timeout_s: float = 60.0
    max_redirects: int = 5
    may_downgrade: bool = False
    """Whether a redirect may lead from https to http."""


@dataclass(frozen=True, slots=True)
class Body:
    """What was read of a body."""

    data: bytes
    is_cut: bool = False
    """Whether there was more than the limit allows."""
    is_skipped: bool = False
    """Whether the rest was not wanted."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a server gave in the end."""

    target: Target
    """Where it was, after all redirects."""
    status: int
    reason: str
    content_type: ContentType
    declared_bytes: int | None
    body: Body


class Fetcher:
    """Fetches documents; lives as long as the tool that uses it."""

    def __init__(self, guard: Guard, dialer: Dialer, limits: Limits) -> None:
        self._guard = guard
        self._dialer = dialer
        self._limits = limits

    async def fetch(self, url: str, wanted: Wanted) -> Document:
        """The document at ``url``, whatever its status; raises ``WebError`` if there is none to be had."""
        try:
            async with asyncio.timeout(self._limits.total_timeout_s):
                return await self._follow(to_target(url), wanted)
        except TimeoutError as error:
            raise TimedOutError(
                f"{shown(url)} took longer than {self._limits.total_timeout_s:g} s. "
                "Try again later, or use another source."
            ) from error

    async def _follow(self, target: Target, wanted: Wanted) -> Document:
        seen = [target]
        while True:
            admitted = await self._guard.admit(target)
            async with self._dialer.ask(admitted, Question(headers={"Accept": _ACCEPT})) as reply:
                location = _location(reply)
                if location is None:
                    return await self._document(target, reply, wanted)
            target = self._next(target, location, seen)
            seen.append(target)

    def _next(self, target: Target, location: str, seen: list[Target]) -> Target:
        following = redirected(target, location)
        if following in seen:
            raise RefusedError(f"{shown(seen[0].url)} redirects in a circle, back to {shown(following.url)}.")
        if len(seen) > self._limits.max_redirects:
            raise RefusedError(f"{shown(seen[0].url)} redirects more than {self._limits.max_redirects} times.")
        if (target.scheme, following.scheme) == ("https", "http") and not self._limits.may_downgrade:
            raise RefusedError(
                f"{shown(target.url)} redirects from https to {shown(following.url)}, which anybody on the way can "
                "read and change. Fetch that URL itself if it will do."
            )
        return following

    async def _document(self, target: Target, reply: Reply, wanted: Wanted) -> Document:
        content_type = ContentType.from_header(reply.header("content-type"))
        body = await read_body(reply, self._limits.max_bytes, lambda head: wanted(content_type, head))
        return Document(target, reply.status, reply.reason, content_type, _declared_bytes(reply), body)


async def read_body(reply: Reply, max_bytes: int, wanted: Callable[[bytes], bool] = lambda head: True) -> Body:
    """The body up to ``max_bytes`` after decoding; not even that where the beginning is enough to know."""
    if not wanted(b""):
        return Body(b"", is_skipped=True)
    data, is_decided = bytearray(), False
    async with aclosing(_decoded(reply, max_bytes)) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > max_bytes:
                return Body(bytes(data[:max_bytes]), is_cut=True)
            if not is_decided and len(data) >= _HEAD_BYTES:
                is_decided = True
                if not wanted(bytes(data)):
                    return Body(bytes(data), is_skipped=True)
    return Body(bytes(data))


async def _decoded(reply: Reply, max_bytes: int) -> AsyncGenerator[bytes]:
    decoder, sent = decoder_for(reply.header("content-encoding")), 0
    async with aclosing(reply.chunks()) as chunks:
        async for chunk in chunks:
            sent += len(chunk)
            for piece in decoder.feed(chunk):
                yield piece
            # What unpacks to nothing would otherwise never end.
            if sent > max_bytes:
                raise BadContentError(f"More than {max_bytes} bytes came, and hardly anything was in them.")
    decoder.finish()


def _location(reply: Reply) -> str | None:
    if reply.status not in _REDIRECTS:
        return None
    locations = reply.header_lines("location")
    if len(locations) > 1:
        raise RefusedError(f"The server redirects to {len(locations)} places at once.")
    return locations[0] if locations else None


def _declared_bytes(reply: Reply) -> int | None:
    text = reply.header("content-length") or ""
    is_plain = text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if is_plain and reply.header("content-encoding") is None else None

"""Servers over streamable HTTP: the SDK's transport, on a client that bounds what it reads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from amplifier_module_tool_mcp.plans import ServerPlan

if TYPE_CHECKING:
    import httpx2

_STEP_S = 30.0
"""For a connection, and for sending."""
_SILENCE_S = 600.0
"""How long a server may say nothing on an open stream; calls have a limit of their own."""


class Statuses:
    """The last status that says no, which the SDK does not tell; lives with a connection."""

    def __init__(self) -> None:
        self.refusal: int | None = None

    async def note(self, response: httpx2.Response) -> None:
        """Hook of the HTTP client for each response."""
        # Messages are posted; that there is no stream to listen to, or no session to end, is no refusal.
        if response.request.method == "POST":
            self.refusal = response.status_code if response.status_code >= 400 else None


@asynccontextmanager
async def open_http(
    plan: ServerPlan, auth: httpx2.Auth | None, statuses: Statuses, *, max_message_bytes: int
) -> AsyncGenerator[Any]:
    """The two streams to a server."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(
            headers=dict(plan.headers),
            auth=auth,
            timeout=httpx2.Timeout(_STEP_S, read=_SILENCE_S),
            event_hooks={"response": [statuses.note, _bounding(max_message_bytes)]},
        ) as client,
        streamable_http_client(plan.url, http_client=client, max_sse_event_size=max_message_bytes) as streams,
    ):
        yield streams


def _bounding(max_bytes: int) -> Any:
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        """A body that breaks off when it gets too long."""

        def __init__(self, body: httpx2.AsyncByteStream) -> None:
            self._body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._body:
                size += len(chunk)
                if size > max_bytes:
                    raise httpx2.StreamError(f"the answer is larger than {max_bytes:,} bytes (max_message_bytes)")
                yield chunk

        async def aclose(self) -> None:
            await self._body.aclose()

    async def bound(response: httpx2.Response) -> None:
        # The SDK bounds event streams itself, message by message.
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = Bounded(response.stream)  # pyright: ignore[reportArgumentType]

    return bound

"""One HTTP client for all vendors: JSON out, JSON or a stream of events back, every failure an error of the kernel.

The HTTP library is imported with the first call: it takes longer than everything else that a session needs to start.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amplifier_core.llm_errors import (
    ConfigurationError,
    LLMError,
    LLMTimeoutError,
    NetworkError,
    ProviderUnavailableError,
)
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.llm.errors import Blame, read_refusal
from amplifier_modkit.llm.sse import SseDecoder

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT_S = 15.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_MAX_REFUSAL_BYTES = 64 * 1024
_DRAIN_S = 0.5
_MOST_IDLE_CONNECTIONS = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service is and what every request to it says; ``headers`` has the key and is shown to nobody."""

    base_url: str
    headers: Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request: method, path, JSON body, headers of its own, and the seconds of silence that are allowed."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] | None = None
    timeout_s: float = 600.0


class Incoming:
    """An answer whose status is good, while its connection is open."""

    def __init__(self, response: httpx2.Response, blame: Blame, timeout_s: float) -> None:
        self._response = response
        self._blame = blame
        self._timeout_s = timeout_s
        self._chunks = response.aiter_bytes()

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer, by lower-case names."""
        return self._response.headers

    @property
    def is_json(self) -> bool:
        """Whether the answer is one JSON text, asked for or not."""
        return "json" in self._response.headers.get("content-type", "").partition(";")[0].lower()

    async def json(self) -> Any:
        """The whole answer; raises ``ProviderUnavailableError`` for what is no JSON."""
        text = b"".join([chunk async for chunk in self._bytes()])
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            told = f"the answer is no JSON ({error}); it begins with {text[:80].decode('utf-8', 'replace')!r}"
            raise self._blame.failed(ProviderUnavailableError, told) from error

    async def events(self) -> AsyncGenerator[tuple[str, str]]:
        """The server-sent events, as they come; raises what breaks them off."""
        decoder = SseDecoder()
        async with aclosing(self._bytes()) as chunks:
            async for chunk in chunks:
                for event in decoder.feed(chunk):
                    yield event

    async def drain(self) -> None:
        """Reads what is left behind the last event, so that the connection can be used again; not for long."""
        try:
            async with asyncio.timeout(_DRAIN_S), aclosing(self._bytes()) as chunks:
                async for _ in chunks:
                    pass
        except (TimeoutError, LLMError):
            return  # the answer is whole, and the connection is closed on the way out

    async def _bytes(self) -> AsyncGenerator[bytes]:
        size = 0
        with _Translating(self._blame, self._timeout_s):
            async for chunk in self._chunks:
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    told = f"the answer has more than {MAX_ANSWER_BYTES} bytes and was cut off"
                    raise self._blame.failed(ProviderUnavailableError, told, retryable=False)
                yield chunk


class HttpClient:
    """Connections to one service; lives as long as its provider, and opens nothing before the first request."""

    def __init__(self, place: Place, wall_clock: Callable[[], float] = time.time) -> None:
        self._place = place
        self._now = wall_clock
        self._client: httpx2.AsyncClient | None = None

    @asynccontextmanager
    async def ask(self, outgoing: Outgoing, blame: Blame) -> AsyncGenerator[Incoming]:
        """The answer while its connection is open; raises an ``LLMError`` for every answer that is a no.

        Leaving early, also by cancellation, closes the connection.
        """
        with _Translating(blame, outgoing.timeout_s):
            request = self._request(outgoing, blame)
            response = await self._opened(blame).send(request, stream=True)
        try:
            if not response.is_success:
                raise await self._refused(response, blame, outgoing.timeout_s)
            yield Incoming(response, blame, outgoing.timeout_s)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Closes all connections; the next request would open them anew."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _opened(self, blame: Blame) -> httpx2.AsyncClient:
        client = self._client
        if client is None:
            httpx2 = _require_httpx2(blame)
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=_MOST_IDLE_CONNECTIONS)
            client = self._client = httpx2.AsyncClient(limits=limits, verify=_certificates(self._place.base_url))
        return client

    def _request(self, outgoing: Outgoing, blame: Blame) -> httpx2.Request:
        httpx2 = _require_httpx2(blame)
        is_json = outgoing.body is not None
        headers = {
            "accept": "application/json",
            **({"content-type": "application/json"} if is_json else {}),
            "user-agent": "amplifier-modules/3",
            **self._place.headers(),
            **(outgoing.headers or {}),
        }
        url = self._place.base_url.rstrip("/") + outgoing.path
        try:
            return httpx2.Request(
                outgoing.method,
                url,
                headers={name: value.encode("utf-8") for name, value in headers.items()},
                content=to_json_bytes(outgoing.body) if is_json else None,
                extensions={"timeout": _timeouts(outgoing.timeout_s)},
            )
        except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
            told = f"the address {url!r} cannot be used ({error}); check 'base_url'"
            raise blame.failed(ConfigurationError, told) from error

    async def _refused(self, response: httpx2.Response, blame: Blame, timeout_s: float) -> LLMError:
        body = b""
        with _Translating(blame, timeout_s):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_REFUSAL_BYTES:
                    break
        return blame.refused(read_refusal(response.status_code, response.headers, body, self._now()))


def to_json_bytes(body: Any) -> bytes:
    """``body`` as JSON, whatever is in it: what JSON or UTF-8 cannot say becomes text that comes near it."""
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(to_jsonable(body), ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Lone surrogates, which no service takes.
        return text.encode("utf-8", "replace")


def _certificates(base_url: str) -> Any:
    if not base_url.startswith("http://"):
        return True
    import ssl

    # Loading the certificates of all authorities takes longer than a local server needs to answer. Without them no
    # encrypted connection would be trusted, and none is made.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _timeouts(silence_s: float) -> dict[str, float]:
    return {"connect": min(CONNECT_TIMEOUT_S, silence_s), "read": silence_s, "write": silence_s, "pool": silence_s}


def _require_httpx2(blame: Blame) -> Any:
    try:
        import httpx2
    except ImportError as error:
        told = "the HTTP library is missing; install it with: pip install 'amplifier-modules[http]'"
        raise blame.failed(ConfigurationError, told) from error
    return httpx2


class _Translating:
    """Turns what the HTTP library raises into the kernel's errors."""

    def __init__(self, blame: Blame, timeout_s: float) -> None:
        self._blame = blame
        self._timeout_s = timeout_s

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, LLMError) or not isinstance(error, Exception):
            return
        import httpx2

        if isinstance(error, httpx2.TimeoutException):
            told = f"nothing came for {self._timeout_s:g} s ({type(error).__name__}); raise 'timeout' to wait longer"
            raise self._blame.failed(LLMTimeoutError, told) from error
        if isinstance(error, httpx2.UnsupportedProtocol):
            raise self._blame.failed(ConfigurationError, f"{error} Check 'base_url'") from error
        if isinstance(error, httpx2.LocalProtocolError):
            # The library's own words would show the header that it complains about, which may be the key.
            told = "the request cannot be sent; is there a character in the key that does not belong there?"
            raise self._blame.failed(ConfigurationError, told) from None
        if isinstance(error, httpx2.HTTPError | httpx2.StreamError | OSError):
            told = f"the connection failed: {error or type(error).__name__}"
            raise self._blame.failed(NetworkError, told) from error

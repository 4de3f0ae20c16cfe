"""One request and its reply, over a connection to an address that the guard has judged.

The connection goes to the address; the name is told in the ``Host`` header and to TLS, whose certificate check is for
the name. Redirects, cookies and proxies of the environment are left alone. Each request has a connection of its own, so
that none is used for a host that it was not checked for.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from amplifier_module_tool_web.addresses import Address
from amplifier_module_tool_web.decoding import ACCEPTED
from amplifier_module_tool_web.errors import (
    NotConfiguredError,
    NotInstalledError,
    TimedOutError,
    UnreachableError,
    WebError,
    shown,
)
from amplifier_module_tool_web.guard import Admitted
from amplifier_module_tool_web.proxies import proxy_for

if TYPE_CHECKING:
    import ssl

    import httpx2

logger = logging.getLogger(__name__)

DEFAULT_USER_AGENT = "amplifier-tool-web/3 (a web tool of an AI agent)"
_MOST_ADDRESSES = 3


@dataclass(frozen=True, slots=True)
class Line:
    """How connections are made: time limits per step, certificates, a proxy."""

    timeout_s: float = 10.0
    user_agent: str = DEFAULT_USER_AGENT
    ca_file: str | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is sent: fixed headers, and a body only where the caller has one."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes | None = None


class Reply:
    """Status and headers of an answer, and its body as long as the connection is open."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.reason = shown(response.reason_phrase)

    def header(self, name: str) -> str | None:
        """A header's value; several of one name are joined by commas."""
        return self._response.headers.get(name)

    def header_lines(self, name: str) -> list[str]:
        """The values of a header as they came, one per line, as UTF-8 where they are."""
        wanted = name.lower().encode("ascii")
        raw = [value for key, value in self._response.headers.raw if key.lower() == wanted]
        return [_text(value) for value in raw]

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it is sent, in small pieces; raises ``WebError`` when it breaks off."""
        try:
            async with aclosing(self._response.aiter_raw()) as pieces:
                async for piece in pieces:
                    yield piece
        except require_httpx2().HTTPError as error:
            raise _told(error, "The body") from error


_Open: TypeAlias = "tuple[httpx2.AsyncHTTPTransport, httpx2.Response]"


class Dialer:
    """Sends requests to admitted targets; lives as long as the tools that use it."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._ssl_context: ssl.SSLContext | None = None

    @asynccontextmanager
    async def ask(self, admitted: Admitted, question: Question | None = None) -> AsyncGenerator[Reply]:
        """The reply, while its connection is open; leaving closes it, however it happens.

        Where no connection comes about, the other addresses are tried, or the only one once more; so is a GET whose
        connection breaks before an answer came.
        """
        transport, response = await self._open(admitted, question or Question(), _attempts(admitted))
        try:
            yield Reply(response)
        finally:
            try:
                await response.aclose()
            finally:
                await transport.aclose()

    async def _open(self, admitted: Admitted, question: Question, addresses: Sequence[Address]) -> _Open:
        httpx2 = require_httpx2()
        may_pass = (httpx2.ConnectError, httpx2.ConnectTimeout)
        if question.method == "GET":
            may_pass = (*may_pass, httpx2.NetworkError, httpx2.RemoteProtocolError)
        first, *others = addresses
        try:
            return await self._send(admitted, first, question)
        except httpx2.HTTPError as error:
            if not others or not isinstance(error, may_pass):
                raise _told(error, f"The host {admitted.target.host}") from error
            logger.debug("no answer from %s at %s: %s", admitted.target.host, first, error)
        return await self._open(admitted, question, others)

    async def _send(self, admitted: Admitted, address: Address, question: Question) -> _Open:
        # The transport alone, without a client around it that would look into redirects, cookies and the environment.
        proxy = proxy_for(admitted.target, self._line.proxy)
        transport = require_httpx2().AsyncHTTPTransport(verify=self._certificates(), proxy=proxy)
        try:
            return transport, await transport.handle_async_request(self._request(admitted, address, question))
        except BaseException:
            await transport.aclose()
            raise

    def _request(self, admitted: Admitted, address: Address, question: Question) -> httpx2.Request:
        httpx2, target = require_httpx2(), admitted.target
        # Made from parts: no text is read a second time, and so none is read differently.
        url = httpx2.URL(
            scheme=target.scheme, host=str(address), port=target.port, raw_path=target.path.encode("ascii")
        )
        fixed = {
            "Host": target.authority,
            "User-Agent": self._line.user_agent,
            "Accept-Encoding": ACCEPTED,
            "Connection": "close",
        }
        return httpx2.Request(
            question.method,
            url,
            headers={**question.headers, **fixed},
            content=question.content,
            extensions={"sni_hostname": target.host, "timeout": httpx2.Timeout(self._line.timeout_s).as_dict()},
        )

    def _certificates(self) -> ssl.SSLContext:
        if self._ssl_context is None:
            self._ssl_context = _context_of(self._line.ca_file)
        return self._ssl_context


def require_httpx2() -> Any:
    """The HTTP library, which is needed only when something is fetched."""
    try:
        import httpx2
    except ImportError as error:
        raise NotInstalledError("httpx2") from error
    return httpx2


def _context_of(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is None:
        return require_httpx2().create_ssl_context()
    import ssl

    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError) as error:
        raise NotConfiguredError(f"The certificates in 'ca_file' ({ca_file}) cannot be read: {error}.") from error


def _attempts(admitted: Admitted) -> tuple[Address, ...]:
    return admitted.addresses[:_MOST_ADDRESSES] if len(admitted.addresses) > 1 else admitted.addresses * 2


def _told(error: Exception, what: str) -> WebError:
    httpx2 = require_httpx2()
    why = shown(str(error)) or type(error).__name__
    if isinstance(error, httpx2.TimeoutException):
        return TimedOutError(f"{what} did not come in time ({type(error).__name__}). Try again later.")
    return UnreachableError(f"{what} did not come: {why}. Check the URL, or try again later.")


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")

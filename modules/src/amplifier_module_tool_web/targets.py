"""Where a URL leads, read in the one way that leaves nothing to interpretation.

Browsers, libraries and operating systems read odd URLs differently, and every difference is a way past a guard. So what
is odd is refused here, and what is passed on is made anew from the parts. No network is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote, urljoin

from amplifier_module_tool_web.addresses import Address, to_address
from amplifier_module_tool_web.errors import NotInstalledError, RefusedError, shown

MOST_URL_CHARS = 8192

DEFAULT_PORTS = {"http": 80, "https": 443}

_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
# Control characters and line ends, which some readers drop and others stop at; the backslash, which is a slash to some;
# halves of characters, which nobody can send.
_MISREAD = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029\ud800-\udfff]")
# A path to some readers, a host to others.
_AMBIGUOUS = re.compile(r"///|https?:(?!//[^/?#])", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_MOST_HOST_CHARS = 253
_LARGEST_PORT = 65535
# What may stand in a path or a query as it is; a percent sign is one only in front of two digits.
_PLAIN = "/:@!$&'()*+,;=~?%"
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL by its parts, normalised: equal targets ask for the same thing."""

    scheme: str
    host: str
    """In lower case and ASCII, without brackets and without a dot at the end."""
    port: int
    path: str
    """With the query, percent-encoded."""

    @property
    def address(self) -> Address | None:
        """The address that the host is, if it is no name."""
        return to_address(self.host)

    @property
    def authority(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole as text."""
        return f"{self.scheme}://{self.authority}{self.path}"


def to_target(url: str) -> Target:
    """Reads a URL; raises ``RefusedError`` for one that is not http or https, has credentials, or is odd."""
    if len(url) > MOST_URL_CHARS:
        raise RefusedError(f"The URL has {len(url)} characters; at most {MOST_URL_CHARS} are allowed.")
    _require_plain_characters(url)
    _require_http(url)
    match = _URL.fullmatch(url)
    if match is None:
        raise RefusedError(f"{shown(url)!r} is no URL. Write it as https://host/path.")
    scheme, authority = match["scheme"].lower(), match["authority"]
    if "@" in authority:
        # Not repeated in the message: it may be somebody's password.
        raise RefusedError("The URL has a user name or password in front of the host. Leave out what is before the @.")
    host, port = _split(authority)
    path = (match["path"] or "/") + (match["query"] or "")
    return Target(scheme, to_host(host), _port(port, scheme), quote(_STRAY_PERCENT.sub("%25", path), safe=_PLAIN))


def redirected(target: Target, location: str) -> Target:
    """Where a redirect leads that a server answered for ``target``."""
    _require_plain_characters(location)
    location = location.strip(" ")
    if _AMBIGUOUS.match(location):
        raise RefusedError(f"The server redirects to {shown(location)!r}, which programs read differently.")
    try:
        url = urljoin(target.url, location)
    except ValueError as error:
        raise RefusedError(f"The server redirects to {shown(location)!r}, which is no URL.") from error
    return to_target(url)


def to_host(text: str) -> str:
    """The name or address in its one spelling; raises ``RefusedError`` for every other spelling of an address."""
    if text.startswith("["):
        return _ipv6(text)
    host = (text if text.isascii() else _to_ascii(text)).lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > _MOST_HOST_CHARS or not all(map(_LABEL.fullmatch, labels)):
        raise RefusedError(f"The host {shown(text)!r} is no host name. Write it as in https://example.org/.")
    if _NUMBER.fullmatch(labels[-1]) and to_address(host) is None:
        raise RefusedError(
            f"The host {shown(text)!r} is a number that readers take for different addresses. "
            "Write an IPv4 address as four decimal numbers."
        )
    return host


def _require_plain_characters(text: str) -> None:
    if found := _MISREAD.search(text):
        raise RefusedError(
            f"The URL {shown(text)!r} has the character {found[0]!r} in it, which is read differently by different "
            "programs. Percent-encode it, or leave it out."
        )


def _require_http(url: str) -> None:
    scheme = _SCHEME.match(url)
    if scheme is None:
        raise RefusedError(f"{shown(url)!r} has no scheme. Begin the URL with https:// or http://.")
    if scheme[1].lower() not in DEFAULT_PORTS:
        raise RefusedError(f"URLs of the kind {shown(scheme[1])!r} are not fetched. Use https or http.")


def _split(authority: str) -> tuple[str, str]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not match["host"]:
        raise RefusedError(f"{shown(authority)!r} is no host. Write the URL as https://host:port/path.")
    return match["host"], match["port"] or ""


def _port(text: str, scheme: str) -> int:
    if not text:
        return DEFAULT_PORTS[scheme]
    number = int(text) if len(text) <= len(str(_LARGEST_PORT)) else 0
    if not 0 < number <= _LARGEST_PORT:
        raise RefusedError(f"{shown(text)!r} is no port. Ports are numbers from 1 to {_LARGEST_PORT}.")
    return number


def _ipv6(text: str) -> str:
    try:
        # Not by way of ``to_address`` alone: a mapped address would be another host in another spelling.
        address = IPv6Address(text[1:-1])
    except ValueError as error:
        raise RefusedError(f"{shown(text)!r} is no IPv6 address. Write it as in http://[2001:db8::1]/.") from error
    if address.scope_id is not None:
        raise RefusedError(f"The address {shown(text)!r} names a network interface. Leave out what follows the %.")
    return str(address.ipv4_mapped or address)


def _to_ascii(text: str) -> str:
    if len(text) > _MOST_HOST_CHARS:
        return text  # too long in every spelling, as whoever called will find
    try:
        import idna
    except ImportError as error:
        raise NotInstalledError("idna") from error
    try:
        # Full-width digits and dots, and letters in circles, become what they look like before anybody judges them.
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii")
    except idna.IDNAError as error:
        raise RefusedError(f"The host {shown(text)!r} is no host name: {error}.") from error

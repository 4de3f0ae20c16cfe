"""Where a server is: addresses as people write them, made complete."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit, urlunsplit

_ENDPOINTS = ("/chat/completions", "/models", "/completions")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


def to_base_url(address: str, *, default_path: str = "/v1", default_port: int | None = None) -> str:
    """The base URL that ``address`` means: with a scheme, and the usual path and port where it names none.

    An address of one of the endpoints means the base of that; one to listen on everywhere means this machine.
    """
    text = address.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port or (default_port if parts.scheme == "http" else None)
    except ValueError:
        return text  # told as what it is with the first request
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint)
    host = parts.hostname or "127.0.0.1"
    host = _EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    place = f"{user}{host}:{port}" if port else f"{user}{host}"
    return urlunsplit((parts.scheme, place, path or default_path, parts.query, ""))


def is_near(base_url: str) -> bool:
    """Whether a server is on this machine or in its own network, as far as its address tells."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".lan"))

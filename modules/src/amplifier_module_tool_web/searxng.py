"""SearXNG, a search engine that people run themselves, as it is spoken to."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from amplifier_module_tool_web.search_wire import Hit, SearchCall, SearchEngine, WireRequest, fields_of, hits_in


def to_wire(call: SearchCall) -> WireRequest:
    """The request; the number of results cannot be told."""
    query = urlencode({"q": call.query, "format": "json"}, errors="replace")
    return WireRequest("GET", f"{call.base_url.rstrip('/')}/search?{query}", {"Accept": "application/json"})


def from_wire(payload: Any) -> list[Hit]:
    """The hits in an answer."""
    return hits_in(fields_of(payload).get("results"), "content", "SearXNG")


SEARXNG = SearchEngine(
    "searxng",
    to_wire,
    from_wire,
    url_env="SEARXNG_URL",
    advice={403: "The server may not offer JSON: add 'json' to search.formats in its settings.yml."},
)
"""The engine; its address must be configured."""

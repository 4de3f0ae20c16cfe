"""The search engine Brave, as it is spoken to."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from amplifier_module_tool_web.search_wire import Hit, SearchCall, SearchEngine, WireRequest, fields_of, hits_in

_MOST_RESULTS = 20


def to_wire(call: SearchCall) -> WireRequest:
    """The request."""
    query = urlencode({"q": call.query, "count": min(call.max_results, _MOST_RESULTS)}, errors="replace")
    headers = {"Accept": "application/json", "X-Subscription-Token": call.api_key}
    return WireRequest("GET", f"{call.base_url.rstrip('/')}/res/v1/web/search?{query}", headers)


def from_wire(payload: Any) -> list[Hit]:
    """The hits in an answer; one that tells its query and has no part on the web has found nothing there."""
    fields = fields_of(payload)
    if "query" in fields and fields.get("web") is None:
        return []
    return hits_in(fields_of(fields.get("web")).get("results"), "description", "Brave")


BRAVE = SearchEngine("brave", to_wire, from_wire, default_url="https://api.search.brave.com", key_env="BRAVE_API_KEY")
"""The engine; it needs a key."""

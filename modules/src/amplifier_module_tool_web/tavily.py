"""The search engine Tavily, as it is spoken to."""

from __future__ import annotations

import json
from typing import Any

from amplifier_module_tool_web.search_wire import Hit, SearchCall, SearchEngine, WireRequest, fields_of, hits_in

_MOST_RESULTS = 20


def to_wire(call: SearchCall) -> WireRequest:
    """The request."""
    body = {"query": call.query, "max_results": min(call.max_results, _MOST_RESULTS)}
    headers = {
        "Accept": "application/json",
        "Authorization": f"Bearer {call.api_key}",
        "Content-Type": "application/json",
    }
    return WireRequest("POST", f"{call.base_url.rstrip('/')}/search", headers, json.dumps(body).encode("ascii"))


def from_wire(payload: Any) -> list[Hit]:
    """The hits in an answer."""
    return hits_in(fields_of(payload).get("results"), "content", "Tavily")


TAVILY = SearchEngine("tavily", to_wire, from_wire, default_url="https://api.tavily.com", key_env="TAVILY_API_KEY")
"""The engine; it needs a key."""

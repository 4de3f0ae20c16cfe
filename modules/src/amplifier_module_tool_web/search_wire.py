"""What all search engines have in common: a question on the wire, and hits that were read from an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any, cast

from amplifier_module_tool_web.errors import BadContentError

_TAG = re.compile(r"</?(?:strong|b|em|i|mark|span)\b[^<>]{0,100}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SearchCall:
    """What an engine is asked, and at which of its addresses."""

    query: str
    max_results: int
    base_url: str
    api_key: str = ""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """The request that asks it."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """An engine by what it needs and how it is spoken to; both conversions are pure."""

    name: str
    to_wire: Callable[[SearchCall], WireRequest]
    from_wire: Callable[[Any], list[Hit]]
    """Raises ``BadContentError`` for what is no answer of this engine."""
    default_url: str | None = None
    url_env: str | None = None
    """Where its address is looked up that has no default."""
    key_env: str | None = None
    """Where its key is looked up; ``None`` if it needs none."""
    advice: Mapping[int, str] = field(default_factory=dict[int, str])
    """What to do about a status of its answers."""


def hits_in(results: Any, snippet_key: str, engine: str) -> list[Hit]:
    """The hits in a list of results; those without a title and a URL are left out."""
    if not isinstance(results, list):
        raise BadContentError(f"The answer of {engine} has no list of results; its interface may have changed.")
    entries = [cast("dict[str, Any]", each) for each in cast("list[Any]", results) if isinstance(each, dict)]
    hits = [Hit(_line(each.get("title")), _text(each.get("url")), _line(each.get(snippet_key))) for each in entries]
    return [hit for hit in hits if hit.title and hit.url]


def fields_of(payload: Any) -> dict[str, Any]:
    """The fields of a JSON object; none, if it is something else."""
    return cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _line(value: Any) -> str:
    return " ".join(unescape(_TAG.sub("", _text(value))).split())

"""Which search engine is asked, with which key and at which address; or what the user has to configure first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amplifier_module_tool_web.brave import BRAVE
from amplifier_module_tool_web.errors import NotConfiguredError, shown
from amplifier_module_tool_web.search_wire import SearchCall, SearchEngine
from amplifier_module_tool_web.searxng import SEARXNG
from amplifier_module_tool_web.tavily import TAVILY

ENGINES: dict[str, SearchEngine] = {engine.name: engine for engine in (SEARXNG, BRAVE, TAVILY)}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What configuration says about searching."""

    engine: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    """The variable that has the key, in place of the engine's own."""
    url: str | None = None
    """The engine's address, in place of its own."""


def require_engine(settings: SearchSettings) -> SearchEngine:
    """The configured engine; raises ``NotConfiguredError`` that says how to configure one."""
    if settings.engine is None:
        raise NotConfiguredError(
            "No search engine is configured, so nothing was searched. Tell the user to set 'search_engine' of tool-web "
            f"to one of {', '.join(ENGINES)}: searxng needs 'search_url', the others an 'api_key' or the variable "
            "BRAVE_API_KEY or TAVILY_API_KEY. Pages whose URL is known can be fetched with web_fetch."
        )
    engine = ENGINES.get(settings.engine.lower())
    if engine is None:
        raise NotConfiguredError(
            f"The search engine {shown(settings.engine)!r} is not known, so nothing was searched. Tell the user to set "
            f"'search_engine' of tool-web to one of {', '.join(ENGINES)}."
        )
    return engine


def to_call(
    engine: SearchEngine, settings: SearchSettings, query: str, max_results: int, environment: Mapping[str, str]
) -> SearchCall:
    """The question with the address and the key that are needed; raises ``NotConfiguredError`` without them."""
    url = settings.url or environment.get(engine.url_env or "") or engine.default_url
    if not url:
        raise NotConfiguredError(
            f"The address of {engine.name} is not configured. Tell the user to set 'search_url' of tool-web, or the "
            f"variable {engine.url_env}."
        )
    if engine.key_env is None:
        return SearchCall(query, max_results, url)
    variable = settings.api_key_env or engine.key_env
    key = settings.api_key or environment.get(variable)
    if not key:
        raise NotConfiguredError(
            f"The key for {engine.name} is not configured. Tell the user to set 'api_key' of tool-web, or the variable "
            f"{variable}."
        )
    return SearchCall(query, max_results, url, key)

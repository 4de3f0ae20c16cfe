"""The config keys of tool-web, beside those of the path policy.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, field_validator

from amplifier_modkit.paths.settings import PathSettings
from amplifier_module_tool_web.addresses import Network, to_network
from amplifier_module_tool_web.conversion import PageSettings
from amplifier_module_tool_web.dialing import DEFAULT_USER_AGENT, Line
from amplifier_module_tool_web.domains import DomainRules, to_entry
from amplifier_module_tool_web.fetch_input import MOST_BYTES
from amplifier_module_tool_web.fetching import Limits
from amplifier_module_tool_web.guard import WEB_PORTS, GuardRules
from amplifier_module_tool_web.proxies import FROM_ENVIRONMENT
from amplifier_module_tool_web.search_engines import SearchSettings
from amplifier_module_tool_web.search_tool import MOST_RESULTS

_PROXY = re.compile(r"https?://[^\s/]+/?")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


def _domain(text: str) -> str:
    to_entry(text)
    return text


def _network(text: str) -> str:
    to_network(text)
    return text


Domain = Annotated[str, AfterValidator(_domain)]
Cidr = Annotated[str, AfterValidator(_network)]
Port = Annotated[int, Field(ge=1, le=65535)]


class WebConfig(PathSettings):
    """What a plan may say about the web tools."""

    # A proxy's URL may have a password in it.
    model_config = ConfigDict(hide_input_in_errors=True)

    max_results: int = Field(5, ge=1, le=MOST_RESULTS)
    """Search results to return."""
    timeout: float = Field(10.0, gt=0)
    """Seconds to wait for a connection, and for each piece of an answer."""
    total_timeout: float = Field(60.0, gt=0)
    """Seconds that a fetch or a search may take, redirects included."""
    default_limit: int = Field(204_800, ge=1, le=MOST_BYTES)
    """Bytes of text that one fetch returns, unless the model asks for another number."""
    allowed_domains: tuple[Domain, ...] = ()
    """Hosts that may be fetched, with their subdomains; empty for all."""
    blocked_domains: tuple[Domain, ...] = ()
    """Hosts and networks that may not be fetched, whatever else allows it."""
    allowed_ports: tuple[Port, ...] = WEB_PORTS
    """Ports that may be asked; empty for all."""
    allow_private: tuple[Cidr, ...] = ()
    """Networks that may be asked though they are not public; the metadata services of clouds never are."""
    allow_downgrade: bool = False
    """Whether a redirect may lead from https to http."""
    max_redirects: int = Field(5, ge=0, le=20)
    max_bytes: int = Field(10_000_000, ge=1)
    """Bytes of a body that are read, counted after it is unpacked."""
    extract_text: bool = True
    """Whether HTML becomes Markdown; otherwise its source is returned."""
    max_image_bytes: int = Field(3_500_000, ge=0)
    """Larger images are described and not shown."""
    max_pdf_pages: int = Field(200, ge=1)
    convert_timeout: float = Field(20.0, gt=0)
    """Seconds that the conversion of one page or PDF may take."""
    overwrite: bool = False
    """Whether ``save_to_file`` may replace a file that is there."""
    search_engine: str | None = None
    """``searxng``, ``brave`` or ``tavily``."""
    search_url: str | None = None
    """The address of the search engine; searxng has no other."""
    api_key: SecretStr | None = None
    """The key for the search engine."""
    api_key_env: str | None = None
    """The variable that has the key, in place of BRAVE_API_KEY or TAVILY_API_KEY."""
    user_agent: str = DEFAULT_USER_AGENT
    proxy: str | None = None
    """The URL of a proxy, or ``environment`` for the one that the environment names; without it, none is used."""
    ca_file: str | None = None
    """Certificates to trust in place of the system's."""

    @field_validator("proxy")
    @classmethod
    def _require_proxy(cls, proxy: str | None) -> str | None:
        if proxy is not None and proxy != FROM_ENVIRONMENT and not _PROXY.fullmatch(proxy):
            raise ValueError(f"expected the URL of an http or https proxy, or {FROM_ENVIRONMENT!r}")
        return proxy

    @field_validator("user_agent")
    @classmethod
    def _require_header_value(cls, value: str) -> str:
        if not _HEADER_VALUE.fullmatch(value):
            raise ValueError("expected printable ASCII on one line")
        return value

    def domains(self) -> DomainRules:
        """The allowed and blocked domains."""
        return DomainRules.from_lists(self.allowed_domains, self.blocked_domains)

    def guard_rules(self) -> GuardRules:
        """Where fetches may go."""
        networks: tuple[Network, ...] = tuple(map(to_network, self.allow_private))
        return GuardRules(self.domains(), self.allowed_ports, networks)

    def line(self) -> Line:
        """How connections are made."""
        return Line(self.timeout, self.user_agent, self.ca_file, self.proxy)

    def limits(self) -> Limits:
        """How much of an answer is taken."""
        return Limits(self.max_bytes, self.total_timeout, self.max_redirects, self.allow_downgrade)

    def page_settings(self) -> PageSettings:
        """How documents are shown."""
        return PageSettings(self.extract_text, self.max_image_bytes, self.max_pdf_pages, self.convert_timeout)

    def search_settings(self) -> SearchSettings:
        """Which search engine is asked, and how."""
        key = self.api_key.get_secret_value() if self.api_key is not None else None
        return SearchSettings(self.search_engine, key, self.api_key_env, self.search_url)

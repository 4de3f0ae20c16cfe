"""Which hosts are asked at all: allowed and blocked domains, compared label by label, and blocked networks.

An entry is a host name, which stands for its subdomains as well; ``*.`` and a name, which stands for the subdomains; an
address; or a network, as CIDR or by its first numbers (``10.``). Where a list has to be read strictly or generously, it
is read so that less is fetched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from amplifier_module_tool_web.addresses import Address, Network, to_network
from amplifier_module_tool_web.errors import RefusedError
from amplifier_module_tool_web.targets import Target, to_host


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a list: a name or a network."""

    name: str = ""
    is_wild: bool = False
    network: Network | None = None

    def has_name(self, host: str) -> bool:
        """Whether ``host`` is the name, or one below it."""
        return bool(self.name) and (host == self.name or host.endswith(f".{self.name}"))

    def has_address(self, address: Address | None) -> bool:
        """Whether ``address`` is in the network."""
        return self.network is not None and address is not None and address in self.network


@dataclass(frozen=True, slots=True)
class DomainRules:
    """The two lists; an empty list of what is allowed allows everything, and blocked wins."""

    allowed: tuple[Entry, ...] = ()
    blocked: tuple[Entry, ...] = ()

    @classmethod
    def from_lists(cls, allowed: Iterable[str], blocked: Iterable[str]) -> Self:
        """The rules as a config writes them; raises ``ValueError`` for what is no entry."""
        return cls(tuple(map(to_entry, allowed)), tuple(map(to_entry, blocked)))

    def require_host(self, target: Target) -> None:
        """Raises ``RefusedError`` unless the host of ``target`` may be asked."""
        host, address = target.host, target.address
        if any(entry.has_name(host) for entry in self.blocked):
            raise RefusedError(f"The host {host} is blocked by configuration. Use another source.")
        if address is not None:
            self.require_address(address, host)
        if self.allowed and not any(_allows(entry, host, address) for entry in self.allowed):
            raise RefusedError(f"The host {host} is not among the domains that configuration allows.")

    def require_address(self, address: Address, host: str) -> None:
        """Raises ``RefusedError`` if ``address``, to which ``host`` leads, is in a blocked network."""
        if any(entry.has_address(address) for entry in self.blocked):
            raise RefusedError(f"The host {host} leads to {address}, which is blocked by configuration.")


def to_entry(text: str) -> Entry:
    """Reads one entry; raises ``ValueError`` for what is none."""
    written = text.strip()
    name = written.removeprefix("*").removeprefix(".")
    try:
        return Entry(network=to_network(written))
    except ValueError:
        pass
    try:
        return Entry(name=to_host(name), is_wild=written.startswith("*"))
    except RefusedError as error:
        raise ValueError(
            f"{text!r} is no domain; expected a host name, '*.' and a host name, an address or a network"
        ) from error


def _allows(entry: Entry, host: str, address: Address | None) -> bool:
    return (entry.has_name(host) and not (entry.is_wild and host == entry.name)) or entry.has_address(address)

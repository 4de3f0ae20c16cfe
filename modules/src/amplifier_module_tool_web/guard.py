"""The guard against requests to places that are not on the public web, however the way there is spelt.

A host is resolved once, every address it has is judged, and those very addresses are what is dialled; so a name that
changes its mind between the check and the connection changes nothing. Each redirect comes here again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from amplifier_module_tool_web.addresses import (
    METADATA_NAMES,
    Address,
    Network,
    is_metadata,
    to_address,
    why_not_public,
)
from amplifier_module_tool_web.domains import DomainRules
from amplifier_module_tool_web.errors import RefusedError, UnreachableError, shown
from amplifier_module_tool_web.targets import Target

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host as text; raises ``OSError`` if there is no such host."""

WEB_PORTS = (80, 443, 8000, 8080, 8443)
"""Where web servers are. Other ports belong to other services, which may take a request for a command."""


@dataclass(frozen=True, slots=True)
class GuardRules:
    """What configuration says about where requests may go."""

    domains: DomainRules = field(default_factory=DomainRules)
    ports: tuple[int, ...] = WEB_PORTS
    """Empty for any port."""
    private: tuple[Network, ...] = ()
    """Networks that may be asked though they are not public."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A target that may be asked, at these addresses and no other."""

    target: Target
    addresses: tuple[Address, ...]


class Guard:
    """Judges targets by its rules; lives as long as the tools that use it."""

    def __init__(self, rules: GuardRules, resolve: Resolver | None = None) -> None:
        self.rules = rules
        self._resolve = resolve or resolve_by_system

    async def admit(self, target: Target) -> Admitted:
        """The target with the addresses it has now, all of them judged.

        Raises ``RefusedError``, also if one of several addresses is refused; ``UnreachableError`` if there is none.
        """
        self._require_port(target)
        _require_no_metadata_name(target)
        # Before anybody is asked for the name: a question to the name's own server would tell it something already.
        self.rules.domains.require_host(target)
        addresses = tuple(dict.fromkeys(_address_of(text, target) for text in await self._lookup(target)))
        if not addresses:
            raise UnreachableError(f"The host {target.host} has no address. Check its spelling.")
        for address in addresses:
            self._require_allowed(address, target)
        return Admitted(target, addresses)

    def _require_port(self, target: Target) -> None:
        if self.rules.ports and target.port not in self.rules.ports:
            told = ", ".join(map(str, self.rules.ports))
            raise RefusedError(f"Port {target.port} of {target.host} is not asked; allowed are the ports {told}.")

    async def _lookup(self, target: Target) -> Sequence[str]:
        if target.address is not None:
            return [target.host]
        try:
            return await self._resolve(target.host, target.port)
        except (OSError, UnicodeError) as error:
            raise UnreachableError(f"The host {target.host} cannot be found. Check its spelling.") from error

    def _require_allowed(self, address: Address, target: Target) -> None:
        self.rules.domains.require_address(address, target.host)
        why = why_not_public(address)
        is_opened = any(address in network for network in self.rules.private) and not is_metadata(address)
        if why is not None and not is_opened:
            leads = "is" if target.address == address else f"leads to {address}, which is"
            raise RefusedError(
                f"The host {target.host} {leads} not on the public web ({why}). "
                "Use a public source; only the user can open private networks, with 'allow_private'."
            )


async def resolve_by_system(host: str, port: int) -> list[str]:
    """The addresses of a host as the operating system knows them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(each[4][0]) for each in found]


def _address_of(text: str, target: Target) -> Address:
    address = to_address(text)
    if address is None:
        raise RefusedError(f"The host {target.host} leads to {shown(text)!r}, which is no address on the web.")
    return address


def _require_no_metadata_name(target: Target) -> None:
    if target.host in METADATA_NAMES:
        raise RefusedError(f"The host {target.host} is a cloud's metadata service, which is never asked.")

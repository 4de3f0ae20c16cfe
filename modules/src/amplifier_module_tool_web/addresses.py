"""Which IP addresses are public: the tables of the address registries, and where one address hides in another.

Everything here is pure. Whatever the tables do not know to be public is refused, so that an address that gets a meaning
later is refused until somebody looks at it.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Python's own ``is_global`` changes its mind from version to version, so the tables are spelt out.
_SPECIAL_IPV4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier's customers"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.31.196.0/24", "reserved for protocols"),
        ("192.52.193.0/24", "reserved for protocols"),
        ("192.88.99.0/24", "a relay to IPv6"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved for protocols"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

_SPECIAL_IPV6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::/96", "an IPv4 address in an outdated form"),
        ("64:ff9b:1::/48", "a translation to IPv4 inside a network"),
        ("100::/64", "discarded"),
        ("2001:2::/48", "for benchmarks"),
        ("2001::/32", "a tunnel to IPv4"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a tunnel to IPv4"),
        ("2620:4f:8000::/48", "reserved for protocols"),
        ("3fff::/20", "for documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
)

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_TRANSLATED = IPv6Network("64:ff9b::/96")
# How an interface that tunnels through IPv4 (ISATAP) writes the address of its other end.
_TUNNEL_INTERFACES = (0x0000_5EFE, 0x0200_5EFE)
_LOW_32 = 0xFFFF_FFFF

_METADATA = frozenset(
    ip_address(address)
    for address in (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # credentials of containers
        "169.254.170.23",
        "169.254.0.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",  # public by its number, and answered by the machine's host
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fe80::a9fe:a9fe",
    )
)

METADATA_NAMES = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata.tencentyun.com",
        "metadata.azure.internal",
    }
)
"""Names under which clouds tell their machines' secrets."""


def to_address(text: str) -> Address | None:
    """The address that ``text`` spells in the plain way; one that is mapped into IPv6 counts as what it is."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        # The zone of a link-local address names one of our interfaces, which is nobody else's business.
        return None if address.scope_id is not None else address.ipv4_mapped or address
    return address


def to_network(text: str) -> Network:
    """The network that ``text`` spells as an address, in CIDR form, or as the first numbers of IPv4 (``10.``).

    Raises ``ValueError`` for anything else.
    """
    numbers = text.rstrip(".").split(".")
    if text.endswith(".") and len(numbers) < 4:
        return IPv4Network(f"{'.'.join([*numbers, *['0'] * (4 - len(numbers))])}/{8 * len(numbers)}")
    return ip_network(text, strict=False)


def why_not_public(address: Address) -> str | None:
    """What keeps an address from being public, ``None`` if nothing does."""
    if address in _METADATA:
        return "a cloud's metadata service"
    if isinstance(address, IPv4Address):
        return _label(address, _SPECIAL_IPV4)
    inner = embedded(address)
    if inner is not None and (why := why_not_public(inner)):
        return f"{why} in the form of an IPv6 address ({inner})"
    if address in _TRANSLATED:
        return None
    return _label(address, _SPECIAL_IPV6) or (None if address in _GLOBAL_UNICAST else "reserved")


def is_metadata(address: Address) -> bool:
    """Whether a cloud tells its machines' secrets there; no configuration opens such an address."""
    inner = embedded(address) if isinstance(address, IPv6Address) else None
    return address in _METADATA or inner in _METADATA


def embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which packets for ``address`` go in the end, if it tells one."""
    number = int(address)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    is_compatible = number >> 32 == 0 and number > 1
    if is_compatible or address in _TRANSLATED or (number >> 32) & _LOW_32 in _TUNNEL_INTERFACES:
        return IPv4Address(number & _LOW_32)
    if address.sixtofour is not None:
        return address.sixtofour
    return address.teredo[1] if address.teredo is not None else None


def _label(address: Address, table: tuple[tuple[Network, str], ...]) -> str | None:
    return next((what for network, what in table if address in network), None)

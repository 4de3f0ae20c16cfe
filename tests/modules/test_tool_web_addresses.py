"""Addresses, URLs and domains as the guard reads them: pure functions, no network."""

from __future__ import annotations

import sys
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_tool_web.addresses import embedded, is_metadata, to_address, to_network, why_not_public
from amplifier_module_tool_web.domains import DomainRules, Entry, to_entry
from amplifier_module_tool_web.errors import NotInstalledError, RefusedError
from amplifier_module_tool_web.targets import Target, redirected, to_host, to_target

ipv4 = st.builds(IPv4Address, st.integers(0, 2**32 - 1))
ipv6 = st.builds(IPv6Address, st.integers(0, 2**128 - 1))


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "198.17.255.255",
     "198.20.0.0", "223.255.255.255", "169.253.0.1", "2606:4700::1111", "2a00:1450:4001::200e", "64:ff9b::808:808",
     "2003::1", "2001:200::1"],
)  # fmt: skip
def test_public_addresses_are_public(address: str) -> None:
    """What is next to a reserved network, and what everybody uses, is not refused."""
    assert why_not_public(ip_address(address)) is None


def test_a_mapped_address_is_the_one_inside() -> None:
    """Packets for it go to the IPv4 address that it ends with."""
    inner, mapped = IPv4Address("10.0.0.1"), IPv6Address("::ffff:10.0.0.1")
    assert embedded(mapped) == inner
    assert why_not_public(mapped) == f"{why_not_public(inner)} in the form of an IPv6 address (10.0.0.1)"


@pytest.mark.slow
@given(ipv4)
def test_a_public_ipv4_address_is_global_to_python_too(address: IPv4Address) -> None:
    """The tables admit nothing that Python's own tables take for private."""
    assert why_not_public(address) is not None or address.is_global


@given(ipv6)
def test_a_public_ipv6_address_is_global_unicast(address: IPv6Address) -> None:
    """Of IPv6, only global unicast is admitted, and what is translated to public IPv4."""
    inner = embedded(address)
    is_translated = inner is not None and inner.is_global and str(address).startswith("64:ff9b::")
    assert why_not_public(address) is not None or int(address) >> 125 == 1 or is_translated


@given(ipv4, st.sampled_from(["mapped", "compatible", "6to4", "teredo", "nat64", "isatap", "isatap-global"]))
def test_an_address_is_not_better_inside_another(address: IPv4Address, form: str) -> None:
    """No form of IPv6 makes an IPv4 address public that is not."""
    number = int(address)
    wrapped = IPv6Address(
        {
            "mapped": 0xFFFF << 32 | number,
            "compatible": number,
            "6to4": 0x2002 << 112 | number << 80,
            "teredo": 0x20010000 << 96 | number ^ 0xFFFFFFFF,
            "nat64": 0x64FF9B << 96 | number,
            "isatap": 0x2A00 << 112 | 0x5EFE << 32 | number,
            "isatap-global": 0x2A00 << 112 | 0x02005EFE << 32 | number,
        }[form]
    )
    if why_not_public(address) is not None:
        assert why_not_public(wrapped) is not None
    if is_metadata(address):
        assert is_metadata(wrapped)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.2.3.4", IPv4Address("1.2.3.4")),
        ("::ffff:1.2.3.4", IPv4Address("1.2.3.4")),
        ("2a00::1", IPv6Address("2a00::1")),
        ("fe80::1%eth0", None),
        ("1.2.3", None),
        ("host", None),
    ],
)
def test_addresses_are_read_in_their_plain_spelling(text: str, expected: Any) -> None:
    """Whatever is not plainly an address is none; a mapped one is what it maps."""
    assert to_address(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.", "10.0.0.0/8"),
        ("192.168.", "192.168.0.0/16"),
        ("192.0.2.", "192.0.2.0/24"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("fd00::/8", "fd00::/8"),
    ],
)
def test_networks_are_read_in_each_form(text: str, expected: str) -> None:
    """An address, a network, and the first numbers of one are all networks."""
    assert str(to_network(text)) == expected


@pytest.mark.parametrize("text", ["v10.", ".", "1.2.3.4.", "10", "host", "300.", ""])
def test_what_is_no_network_is_an_error(text: str) -> None:
    """A network is never guessed."""
    with pytest.raises(ValueError, match="."):
        to_network(text)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Example.ORG", Target("http", "example.org", 80, "/")),
        ("https://example.org.:443/a?b=c#d", Target("https", "example.org", 443, "/a?b=c")),
        ("https://example.org:8443?q", Target("https", "example.org", 8443, "/?q")),
        ("http://example.org:/x", Target("http", "example.org", 80, "/x")),
        ("http://bücher.example/", Target("http", "xn--bcher-kva.example", 80, "/")),
        ("http://a_b.example/ä b%20c%zz", Target("http", "a_b.example", 80, "/%C3%A4%20b%20c%25zz")),
        ("http://[2A00::0:1]:81/", Target("http", "2a00::1", 81, "/")),
        ("http://[::ffff:8.8.8.8]/", Target("http", "8.8.8.8", 80, "/")),
        ("http://8.8.8.8/", Target("http", "8.8.8.8", 80, "/")),
    ],
)
def test_urls_are_read_into_one_form(url: str, expected: Target) -> None:
    """Spellings that mean the same become the same target."""
    assert to_target(url) == expected


@pytest.mark.slow
@given(st.text(max_size=60))
def test_a_target_reads_back_as_itself(text: str) -> None:
    """What a URL was read into is written as a URL that is read into the same; nothing else happens to any text."""
    try:
        target = to_target(f"http://example.org/{text}")
    except RefusedError:
        return
    assert to_target(target.url) == target
    assert target.host == "example.org"


@pytest.mark.slow
@given(st.text(alphabet=st.characters(max_codepoint=0x3FF), max_size=30))
def test_no_text_before_a_path_changes_who_is_asked(text: str) -> None:
    """Whatever stands for a host is refused, or is one host in plain characters."""
    try:
        host = to_host(text)
    except RefusedError:
        return
    assert set(host) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._:")


@pytest.mark.parametrize(
    ("target", "authority", "url"),
    [
        (Target("http", "a.test", 80, "/"), "a.test", "http://a.test/"),
        (Target("https", "a.test", 80, "/x"), "a.test:80", "https://a.test:80/x"),
        (Target("https", "2a00::1", 443, "/"), "[2a00::1]", "https://[2a00::1]/"),
    ],
)
def test_a_target_is_written_as_requests_need_it(target: Target, authority: str, url: str) -> None:
    """Ports are told where they are not the usual ones, and IPv6 is in brackets."""
    assert (target.authority, target.url) == (authority, url)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/x", "https://a.test/x"),
        ("y?z", "https://a.test/dir/y?z"),
        ("//b.test/", "https://b.test/"),
        (" https://b.test:444/ ", "https://b.test:444/"),
        ("?q=ä", "https://a.test/dir/page?q=%C3%A4"),
    ],
)
def test_redirects_are_read_relative_to_where_they_came_from(location: str, url: str) -> None:
    """A redirect may be a whole URL or the rest of one."""
    assert redirected(to_target("https://a.test/dir/page"), location).url == url


def test_a_name_in_other_letters_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library for such names, the error says what to install."""
    monkeypatch.setitem(sys.modules, "idna", None)
    with pytest.raises(NotInstalledError) as caught:
        to_host("bücher.example")
    assert str(caught.value) == (
        "The library 'idna' is not installed. Tell the user to run: pip install 'amplifier-modules[web]'"
    )


RULES = [
    ("allowed-host", ["a.com"], [], "http://a.com/", True),
    ("allowed-subdomain", ["a.com"], [], "http://x.y.a.com/", True),
    ("allowed-case", ["A.com"], [], "http://a.COM./", True),
    ("not-by-suffix", ["a.com"], [], "http://a.com.evil/", False),
    ("not-by-ending", ["a.com"], [], "http://evila.com/", False),
    ("not-by-part", ["a.com"], [], "http://a.comb/", False),
    ("not-in-path", ["a.com"], [], "http://evil.test/a.com", False),
    ("wild-subdomain", ["*.a.com"], [], "http://x.a.com/", True),
    ("wild-itself", ["*.a.com"], [], "http://a.com/", False),
    ("allowed-address", ["8.8.8.0/24"], [], "http://8.8.8.8/", True),
    ("allowed-address-other", ["8.8.8.0/24"], [], "http://9.9.9.9/", False),
    ("address-list-names", ["8.8.8.0/24"], [], "http://a.com/", False),
    ("blocked-host", [], ["a.com"], "http://a.com/", False),
    ("blocked-subdomain", [], ["a.com"], "http://x.a.com/", False),
    ("blocked-wild-itself", [], ["*.a.com"], "http://a.com/", False),
    ("blocked-dot", [], [".a.com"], "http://x.a.com/", False),
    ("blocked-wins", ["a.com"], ["bad.a.com"], "http://bad.a.com/", False),
    ("blocked-beside", ["a.com"], ["bad.a.com"], "http://good.a.com/", True),
    ("prefix-not-in-name", [], ["10."], "http://v10.site.com/", True),
    ("prefix-not-in-first-label", [], ["10."], "http://10.site.com/", True),
    ("prefix-address", [], ["10."], "http://10.2.3.4/", False),
    ("blocked-address", [], ["8.8.8.8"], "http://8.8.8.8/", False),
    ("blocked-mapped", [], ["8.8.8.8"], "http://[::ffff:8.8.8.8]/", False),
    ("blocked-ipv6", [], ["[2a00::1]"], "http://[2a00::1]/", False),
    ("idn", ["bücher.example"], [], "http://xn--bcher-kva.example/", True),
]


@pytest.mark.parametrize(
    ("allowed", "blocked", "url", "is_allowed"), [row[1:] for row in RULES], ids=[row[0] for row in RULES]
)
def test_domains_are_compared_by_labels(allowed: list[str], blocked: list[str], url: str, is_allowed: bool) -> None:
    """A domain stands for itself and what is below it, never for a part of a name; blocked wins."""
    rules, target = DomainRules.from_lists(allowed, blocked), to_target(url)
    if is_allowed:
        assert rules.require_host(target) is None
    else:
        with pytest.raises(RefusedError):
            rules.require_host(target)


def test_refusals_name_the_host_and_the_reason() -> None:
    """A model learns whether a host is blocked, not allowed, or at a blocked address."""
    messages: list[str] = []
    for allowed, blocked, url in [
        ([], ["a.com"], "http://x.a.com/"),
        (["b.com"], [], "http://a.com/"),
        ([], ["9."], "http://9.9.9.9/"),
    ]:
        with pytest.raises(RefusedError) as caught:
            DomainRules.from_lists(allowed, blocked).require_host(to_target(url))
        messages.append(str(caught.value))
    assert messages == [
        "The host x.a.com is blocked by configuration. Use another source.",
        "The host a.com is not among the domains that configuration allows.",
        "The host 9.9.9.9 leads to 9.9.9.9, which is blocked by configuration.",
    ]


@pytest.mark.parametrize("text", ["https://a.com/", "a.com:80", "", "*", "a b", "a..b", "1.2.3"])
def test_what_is_no_domain_is_an_error(text: str) -> None:
    """A list with something else in it is not read as one that allows or blocks nothing."""
    with pytest.raises(ValueError, match="is no domain; expected a host name"):
        to_entry(text)


def test_an_entry_of_a_network_has_no_name() -> None:
    """A network does not match names, and a name no addresses."""
    assert (Entry(network=to_network("10.")).has_name("10"), Entry(name="a").has_address(ip_address("1.1.1.1"))) == (
        False,
        False,
    )

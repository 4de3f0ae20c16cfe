"""Ways to make a web tool ask what is not on the public web, each with the verdict that must come.

``{port}`` is the port of servers that wait on loopback; a guard that lets an attack pass would reach one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Attack:
    """One attempt: a URL, or a redirect to one from a public page, and names that lead where the attacker wants."""

    id: str
    url: str
    says: str
    """What the refusal must contain, so that it is refused for the right reason."""
    names: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    kind: str = "refused"


def _named(id: str, address: str, why: str) -> Attack:
    return Attack(f"name-{id}", "http://host.test:{port}/", why, {"host.test": [[address]]})


LITERALS = [
    Attack("loopback", "http://127.0.0.1:{port}/", "loopback"),
    Attack("loopback-other", "http://127.255.255.254:{port}/", "loopback"),
    Attack("unspecified", "http://0.0.0.0:{port}/", "unspecified"),
    Attack("this-network", "http://0.1.2.3/", "unspecified"),
    Attack("private-10", "http://10.0.0.1/", "private"),
    Attack("private-172-low", "http://172.16.0.1/", "private"),
    Attack("private-172-high", "http://172.31.255.255/", "private"),
    Attack("private-192", "http://192.168.1.1/", "private"),
    Attack("carrier-nat", "http://100.64.0.1/", "shared by a carrier"),
    Attack("link-local", "http://169.254.1.1/", "link-local"),
    Attack("multicast", "http://224.0.0.1/", "multicast"),
    Attack("reserved", "http://240.0.0.1/", "reserved"),
    Attack("broadcast", "http://255.255.255.255/", "reserved"),
    Attack("documentation-1", "http://192.0.2.1/", "documentation"),
    Attack("documentation-2", "http://198.51.100.1/", "documentation"),
    Attack("documentation-3", "http://203.0.113.1/", "documentation"),
    Attack("benchmark", "http://198.18.0.1/", "benchmarks"),
    Attack("protocols", "http://192.0.0.1/", "protocols"),
    Attack("relay", "http://192.88.99.1/", "relay"),
    Attack("metadata", "http://169.254.169.254/latest/meta-data/", "metadata"),
    Attack("metadata-containers", "http://169.254.170.2/v2/credentials", "metadata"),
    Attack("metadata-alibaba", "http://100.100.100.200/", "metadata"),
    Attack("metadata-oracle", "http://192.0.0.192/", "metadata"),
    Attack("metadata-azure-host", "http://168.63.129.16/", "metadata"),
    Attack("metadata-ipv6", "http://[fd00:ec2::254]/", "metadata"),
    Attack("metadata-name", "http://metadata.google.internal/computeMetadata/v1/", "metadata"),
    Attack("metadata-name-dot", "http://metadata.google.internal./", "metadata"),
    Attack("metadata-name-case", "http://METADATA.Google.Internal/", "metadata"),
    Attack("ipv6-loopback", "http://[::1]:{port}/", "loopback"),
    Attack("ipv6-loopback-long", "http://[0:0:0:0:0:0:0:1]:{port}/", "loopback"),
    Attack("ipv6-unspecified", "http://[::]:{port}/", "unspecified"),
    Attack("ipv6-unique-local", "http://[fc00::1]/", "private"),
    Attack("ipv6-unique-local-fd", "http://[fd12:3456::1]/", "private"),
    Attack("ipv6-link-local", "http://[fe80::1]/", "link-local"),
    Attack("ipv6-site-local", "http://[fec0::1]/", "private"),
    Attack("ipv6-multicast", "http://[ff02::1]/", "multicast"),
    Attack("ipv6-documentation", "http://[2001:db8::1]/", "documentation"),
    Attack("ipv6-documentation-new", "http://[3fff::1]/", "documentation"),
    Attack("ipv6-benchmark", "http://[2001:2::1]/", "benchmarks"),
    Attack("ipv6-orchid", "http://[2001:20::1]/", "protocols"),
    Attack("ipv6-discard", "http://[100::1]/", "discarded"),
    Attack("ipv6-unassigned", "http://[4000::1]/", "reserved"),
    Attack("ipv6-mapped", "http://[::ffff:127.0.0.1]:{port}/", "loopback"),
    Attack("ipv6-mapped-hex", "http://[::ffff:7f00:1]:{port}/", "loopback"),
    Attack("ipv6-mapped-private", "http://[::ffff:10.0.0.1]/", "private"),
    Attack("ipv6-mapped-metadata", "http://[::ffff:a9fe:a9fe]/", "metadata"),
    Attack("ipv6-compatible", "http://[::127.0.0.1]:{port}/", "loopback"),
    Attack("ipv6-compatible-public", "http://[::8.8.8.8]/", "outdated"),
    Attack("6to4-private", "http://[2002:a00:1::]/", "private"),
    Attack("6to4-metadata", "http://[2002:a9fe:a9fe::]/", "metadata"),
    Attack("6to4-public", "http://[2002:808:808::]/", "tunnel"),
    Attack("teredo", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "documentation"),
    Attack("nat64-loopback", "http://[64:ff9b::7f00:1]:{port}/", "loopback"),
    Attack("nat64-metadata", "http://[64:ff9b::a9fe:a9fe]/", "metadata"),
    Attack("nat64-inside", "http://[64:ff9b:1::808:808]/", "translation"),
    Attack("isatap-private", "http://[2a00:1450::5efe:a00:1]/", "private"),
    Attack("isatap-private-global", "http://[2a00:1450::200:5efe:a00:1]/", "private"),
]
"""Addresses as they are, and addresses inside addresses."""

SPELLINGS = [
    Attack("decimal", "http://2130706433:{port}/", "four decimal numbers"),
    Attack("octal", "http://0177.0.0.1:{port}/", "four decimal numbers"),
    Attack("octal-whole", "http://017700000001:{port}/", "four decimal numbers"),
    Attack("hex", "http://0x7f.0.0.1:{port}/", "four decimal numbers"),
    Attack("hex-whole", "http://0x7f000001:{port}/", "four decimal numbers"),
    Attack("hex-upper", "http://0X7F000001:{port}/", "four decimal numbers"),
    Attack("hex-last", "http://127.0.0.0x1:{port}/", "four decimal numbers"),
    Attack("short", "http://127.1:{port}/", "four decimal numbers"),
    Attack("short-three", "http://127.0.1:{port}/", "four decimal numbers"),
    Attack("zero", "http://0:{port}/", "four decimal numbers"),
    Attack("overflow", "http://127.0.0.257:{port}/", "four decimal numbers"),
    Attack("five-numbers", "http://1.127.0.0.1:{port}/", "four decimal numbers"),
    Attack("leading-zeros", "http://127.000.000.001:{port}/", "four decimal numbers"),
    Attack("trailing-dot", "http://127.0.0.1.:{port}/", "loopback"),
    Attack("two-dots", "http://127.0.0.1..:{port}/", "no host name"),
    Attack("full-width", "http://１２７.０.０.１:{port}/", "loopback"),
    Attack("full-width-dots", "http://127。0．0｡1:{port}/", "loopback"),
    Attack("circled", "http://①②⑦.⓪.⓪.①:{port}/", "loopback"),
    Attack("full-width-slash", "http://site.test／@127.0.0.1:{port}/", "user name"),
    Attack("full-width-at", "http://site.test＠127.0.0.1:{port}/", "no host name"),
    Attack("percent-host", "http://127%2e0%2e0%2e1:{port}/", "no host name"),
    Attack("percent-host-all", "http://%31%32%37.0.0.1:{port}/", "no host name"),
    Attack("userinfo", "http://site.test@127.0.0.1:{port}/", "user name"),
    Attack("userinfo-password", "http://site.test:80@127.0.0.1:{port}/", "user name"),
    Attack("userinfo-empty", "http://@127.0.0.1:{port}/", "user name"),
    Attack("userinfo-encoded", "http://127.0.0.1%40site.test:{port}/", "no host name"),
    Attack("backslash", "http://site.test\\@127.0.0.1:{port}/", "character"),
    Attack("backslash-path", "http:\\\\127.0.0.1:{port}/", "character"),
    Attack("tab", "http://127.0.0\t.1:{port}/", "character"),
    Attack("newline", "http://127.0.0.1:{port}/\nHost: site.test", "character"),
    Attack("crlf", "http://site.test:{port}/\r\nX-Evil: 1", "character"),
    Attack("nul", "http://127.0.0.1\x00.site.test:{port}/", "character"),
    Attack("line-separator", "http://127.0.0.1\u2028.site.test/", "character"),
    Attack("half-character", "http://site.test/\ud800", "character"),
    Attack("space-in-host", "http://127.0.0.1 .site.test:{port}/", "no host name"),
    Attack("soft-hyphen", "http://loc\u00adalhost:{port}/", "loopback", {"localhost": [["127.0.0.1"]]}),
    Attack("ipv6-zone", "http://[fe80::1%25eth0]/", "network interface"),
    Attack("ipv6-zone-raw", "http://[fe80::1%eth0]/", "network interface"),
    Attack("ipv6-no-bracket", "http://::1:{port}/", "no host"),
    Attack("ipv6-open-bracket", "http://[::1:{port}/", "no host"),
    Attack("ipv6-junk", "http://[::1]evil:{port}/", "no host"),
    Attack("ipv6-in-words", "http://[localhost]:{port}/", "no IPv6 address"),
    Attack("port-words", "http://127.0.0.1:http/", "no host"),
    Attack("port-huge", "http://127.0.0.1:65616/", "no port"),
    Attack("port-endless", "http://127.0.0.1:" + "9" * 5000 + "/", "no port"),
    Attack("port-minus", "http://127.0.0.1:-1/", "no host"),
    Attack("empty-host", "http:///127.0.0.1:{port}/", "no host"),
    Attack("one-slash", "http:/127.0.0.1:{port}/", "no URL"),
    Attack("no-slash", "http:127.0.0.1:{port}/", "no URL"),
    Attack("no-scheme", "//127.0.0.1:{port}/", "no scheme"),
    Attack("bare-host", "127.0.0.1:{port}/", "no scheme"),
    Attack("localhost-port", "localhost:{port}/", "not fetched"),
    Attack("file", "file:///etc/passwd", "not fetched"),
    Attack("file-case", "FiLe:///etc/passwd", "not fetched"),
    Attack("gopher", "gopher://127.0.0.1:6379/_FLUSHALL", "not fetched"),
    Attack("ftp", "ftp://127.0.0.1/", "not fetched"),
    Attack("dict", "dict://127.0.0.1:11211/stats", "not fetched"),
    Attack("data", "data:text/plain,hello", "not fetched"),
    Attack("javascript", "javascript:alert(1)", "not fetched"),
    Attack("view-source", "view-source:http://127.0.0.1/", "not fetched"),
    Attack("nested", "jar:http://127.0.0.1!/", "not fetched"),
    Attack("too-long", "http://site.test/" + "a" * 9000, "characters"),
    Attack("long-host", "http://" + "a." * 200 + "test/", "no host name"),
    Attack("long-host-unicode", "http://" + "ä" * 300 + ".test/", "no host name"),
    Attack("bad-idn", "http://xn--\u0378.test/", "no host name"),
]
"""The same place in other words, and other kinds of places."""

NAMES = [
    _named("loopback", "127.0.0.1", "loopback"),
    _named("private", "10.1.2.3", "private"),
    _named("metadata", "169.254.169.254", "metadata"),
    _named("ipv6-loopback", "::1", "loopback"),
    _named("mapped", "::ffff:127.0.0.1", "loopback"),
    _named("unique-local", "fd00::1", "private"),
    _named("zone", "fe80::1%eth0", "no address"),
    _named("garbage", "not an address", "no address"),
    _named("odd-number", "2130706433", "no address"),
    Attack("localhost", "http://localhost:{port}/", "loopback", {"localhost": [["127.0.0.1", "::1"]]}),
    Attack("localhost-case", "http://LOCALHOST.:{port}/", "loopback", {"localhost": [["127.0.0.1"]]}),
    Attack("localhost-below", "http://a.localhost:{port}/", "loopback", {"a.localhost": [["127.0.0.1"]]}),
    Attack("several", "http://mixed.test:{port}/", "private", {"mixed.test": [["127.0.0.9", "10.0.0.1"]]}),
    Attack("several-first", "http://mixed.test:{port}/", "loopback", {"mixed.test": [["127.0.0.1", "127.0.0.9"]]}),
    Attack("several-families", "http://mixed.test:{port}/", "loopback", {"mixed.test": [["127.0.0.9", "::1"]]}),
    Attack("punycode", "http://xn--bcher-kva.test:{port}/", "private", {"xn--bcher-kva.test": [["10.0.0.1"]]}),
    Attack("unicode", "http://bücher.test:{port}/", "private", {"xn--bcher-kva.test": [["10.0.0.1"]]}),
    Attack("no-address", "http://empty.test:{port}/", "no address", {"empty.test": [[]]}, kind="unreachable"),
    Attack("no-name", "http://missing.test:{port}/", "cannot be found", kind="unreachable"),
]
"""Names that lead there."""

REDIRECTS = [
    Attack("to-loopback", "http://127.0.0.1:{port}/", "loopback"),
    Attack("to-private", "http://10.0.0.1/", "private"),
    Attack("to-metadata", "http://169.254.169.254/latest/", "metadata"),
    Attack("to-metadata-name", "http://metadata.google.internal/", "metadata"),
    Attack("to-ipv6", "http://[::1]:{port}/", "loopback"),
    Attack("to-mapped", "http://[::ffff:7f00:1]:{port}/", "loopback"),
    Attack("to-decimal", "http://2130706433:{port}/", "four decimal numbers"),
    Attack("to-name", "http://inner.test:{port}/", "loopback", {"inner.test": [["127.0.0.1"]]}),
    Attack("to-file", "file:///etc/passwd", "not fetched"),
    Attack("to-gopher", "gopher://127.0.0.1:{port}/_x", "not fetched"),
    Attack("to-data", "data:text/plain,x", "not fetched"),
    Attack("to-userinfo", "http://site.test@127.0.0.1:{port}/", "user name"),
    Attack("to-other-host", "//127.0.0.1:{port}/", "loopback"),
    Attack("to-backslash", "/\\127.0.0.1:{port}/", "character"),
    Attack("to-backslashes", "\\\\127.0.0.1:{port}\\", "character"),
    Attack("to-three-slashes", "///127.0.0.1:{port}/", "read differently"),
    Attack("to-no-slashes", "http:127.0.0.1:{port}/", "read differently"),
    Attack("to-one-slash", "HTTP:/127.0.0.1:{port}/", "read differently"),
    Attack("to-no-host", "http:///127.0.0.1:{port}/", "read differently"),
    Attack("to-tab", "http://127.0.0.1\t:{port}/", "character"),
    Attack("to-bracket", "http://[::1:{port}/", "no URL"),
    Attack("to-empty-host", "http://", "read differently"),
    Attack("to-itself", "/hop", "circle"),
    Attack("rebound", "http://site.test:{port}/again", "loopback", {"site.test": [["127.0.0.9"], ["127.0.0.1"]]}),
]
"""Where a public page may redirect to."""

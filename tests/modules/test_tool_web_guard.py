"""The guard itself, and connections to what it admits: addresses, certificates, proxies, retries."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.modules.web_world import PUBLIC, Names, WebServer, answered, web

from amplifier_module_tool_web.dialing import Dialer, Line, Question
from amplifier_module_tool_web.domains import DomainRules
from amplifier_module_tool_web.errors import (
    NotConfiguredError,
    NotInstalledError,
    RefusedError,
    TimedOutError,
    UnreachableError,
    shown,
)
from amplifier_module_tool_web.guard import Admitted, Guard, GuardRules, resolve_by_system
from amplifier_module_tool_web.proxies import proxy_for
from amplifier_module_tool_web.targets import to_target


async def test_a_target_is_admitted_with_all_its_addresses() -> None:
    """Each address counts once, in the order of the answer; a mapped one is the one it maps."""
    names = Names({"a.test": [["8.8.8.8", "::ffff:8.8.8.8", "2a00::1"]]})
    admitted = await Guard(GuardRules(), names).admit(to_target("https://a.test/"))
    assert admitted == Admitted(to_target("https://a.test/"), (ip_address("8.8.8.8"), ip_address("2a00::1")))


async def test_an_address_is_not_looked_up() -> None:
    """Nobody is asked what a literal address means."""
    names = Names()
    admitted = await Guard(GuardRules(), names).admit(to_target("http://8.8.8.8/"))
    assert (admitted.addresses, names.asked) == ((ip_address("8.8.8.8"),), [])


@pytest.mark.parametrize(("port", "is_allowed"), [(80, True), (443, True), (8000, True), (8080, True), (8443, True),
                                                  (22, False), (25, False), (6379, False), (9200, False)])  # fmt: skip
async def test_only_ports_of_web_servers_are_asked(port: int, is_allowed: bool) -> None:
    """Other services are not spoken to, unless configuration names their port."""
    target = to_target(f"http://8.8.8.8:{port}/")
    if is_allowed:
        assert (await Guard(GuardRules()).admit(target)).target == target
        return
    with pytest.raises(RefusedError) as caught:
        await Guard(GuardRules()).admit(target)
    assert str(caught.value) == (
        f"Port {port} of 8.8.8.8 is not asked; allowed are the ports 80, 443, 8000, 8080, 8443."
    )
    assert (await Guard(GuardRules(ports=(port,))).admit(target)).target == target


async def test_a_blocked_domain_is_not_even_looked_up() -> None:
    """A question for the name would tell its owner something already."""
    names = Names({"a.test": [["8.8.8.8"]]})
    guard = Guard(GuardRules(DomainRules.from_lists(["b.test"], [])), names)
    with pytest.raises(RefusedError, match="not among the domains"):
        await guard.admit(to_target("http://a.test/"))
    assert names.asked == []


async def test_a_blocked_network_holds_for_names_that_lead_there() -> None:
    """An address is blocked by whatever name it is asked for, even if private networks are open."""
    rules = GuardRules(DomainRules.from_lists([], ["8.8.8."]), private=())
    with pytest.raises(RefusedError) as caught:
        await Guard(rules, Names({"a.test": [["8.8.8.8"]]})).admit(to_target("http://a.test/"))
    assert str(caught.value) == "The host a.test leads to 8.8.8.8, which is blocked by configuration."


async def test_refusals_say_where_a_name_leads() -> None:
    """A model and its user learn what is wrong, and who can change it."""
    with pytest.raises(RefusedError) as caught:
        await Guard(GuardRules(), Names({"a.test": [["10.0.0.1"]]})).admit(to_target("http://a.test/"))
    assert str(caught.value) == (
        "The host a.test leads to 10.0.0.1, which is not on the public web (private). "
        "Use a public source; only the user can open private networks, with 'allow_private'."
    )


async def test_a_resolver_that_cannot_write_a_name_finds_no_host() -> None:
    """What the system's own encoding of names refuses is a host that cannot be found."""

    async def unable(host: str, port: int) -> list[str]:
        raise UnicodeError("label too long")

    with pytest.raises(UnreachableError, match="cannot be found"):
        await Guard(GuardRules(), unable).admit(to_target("http://a.test/"))


async def test_the_system_resolves_the_names_it_has() -> None:
    """Without another resolver the operating system is asked."""
    assert "127.0.0.1" in await resolve_by_system("localhost", 80) or socket.has_ipv6
    with pytest.raises(RefusedError, match="loopback"):
        await Guard(GuardRules()).admit(to_target("http://localhost/"))


def admitted(port: int, *addresses: str, host: str = "site.test", scheme: str = "http") -> Admitted:
    return Admitted(to_target(f"{scheme}://{host}:{port}/"), tuple(map(ip_address, addresses)))


async def test_the_server_is_told_the_name_and_little_else() -> None:
    """A request has the host's own name, a plain user agent, and no cookie, referrer or credential."""
    server = WebServer({"/": answered(b"hi", Set_Cookie="a=b")})
    async with server.on(), Dialer(Line()).ask(admitted(server.port, PUBLIC)) as reply:
        assert (reply.status, b"".join([piece async for piece in reply.chunks()])) == (200, b"hi")
        assert server.seen[0].headers == {
            "host": f"site.test:{server.port}",
            "user-agent": "amplifier-tool-web/3 (a web tool of an AI agent)",
            "accept-encoding": "gzip, deflate",
            "connection": "close",
        }


async def test_other_addresses_are_tried_when_one_does_not_answer() -> None:
    """Of several judged addresses the first that answers is used."""
    server = WebServer({"/": answered(b"hi")})
    async with server.on(), Dialer(Line()).ask(admitted(server.port, "127.0.0.8", PUBLIC)) as reply:
        assert (reply.status, len(server.seen)) == (200, 1)


async def test_a_host_where_nobody_answers_is_unreachable() -> None:
    """After the last attempt the error names the host and the reason."""
    server = WebServer()
    async with server.on():
        port = server.port
    with pytest.raises(UnreachableError) as caught:
        async with Dialer(Line()).ask(admitted(port, "127.0.0.8", "127.0.0.7", "127.0.0.6", PUBLIC)):
            pytest.fail("nobody is there")
    assert str(caught.value) == (
        "The host site.test did not come: All connection attempts failed. Check the URL, or try again later."
    )


async def test_only_a_get_is_asked_again_after_it_was_sent() -> None:
    """A connection that breaks without an answer costs a GET one more attempt, and any other request the answer."""

    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return

    server = WebServer({"/": nothing})
    async with server.on():
        for question, attempts in ((Question(), 2), (Question("POST", content=b"x"), 1)):
            server.seen.clear()
            with pytest.raises(UnreachableError, match="disconnected without sending a response"):
                async with Dialer(Line()).ask(admitted(server.port, PUBLIC), question):
                    pytest.fail("there is no answer")
            assert len(server.seen) == attempts


async def test_a_server_that_says_nothing_is_left() -> None:
    """Each step has a time limit, and running into it is not tried again."""
    waiting = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting.set()
        await reader.read()

    server = WebServer({"/": wait})
    async with server.on():
        with pytest.raises(TimedOutError) as caught:
            async with Dialer(Line(timeout_s=0.05)).ask(admitted(server.port, PUBLIC)):
                pytest.fail("there is no answer")
        await server.hung_up.wait()
    assert (str(caught.value), len(server.seen)) == (
        "The host site.test did not come in time (ReadTimeout). Try again later.",
        1,
    )


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: nonsense\r\n\r\n",
    ],
    ids=["not-http", "huge-header", "many-headers", "odd-coding"],
)
async def test_what_is_no_proper_http_is_an_error(answer: bytes) -> None:
    """Neither another service nor headers without end are taken for an answer."""
    server = WebServer({"/": answer})
    async with server.on():
        with pytest.raises(UnreachableError, match="The host site.test did not come"):
            async with Dialer(Line()).ask(admitted(server.port, PUBLIC)):
                pytest.fail("this is no answer")


async def test_cancelling_closes_the_connection() -> None:
    """A call that is cancelled while it waits leaves no connection behind."""
    arrived = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin")
        await writer.drain()
        arrived.set()
        await reader.read()

    server = WebServer({"/": wait})
    async with server.on():
        tools = await web()
        call = asyncio.create_task(tools.get(f"http://site.test:{server.port}/"))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.hung_up.wait()
    assert len(server.seen) == 1


async def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the HTTP library the result says what to install."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    result = await (await web()).get("http://site.test/")
    assert (result.success, result.error) == (
        False,
        {
            "type": "not_installed",
            "message": "The library 'httpx2' is not installed. "
            "Tell the user to run: pip install 'amplifier-modules[web]'",
        },
    )
    with pytest.raises(NotInstalledError):
        async with Dialer(Line()).ask(admitted(80, PUBLIC)):
            pytest.fail("nothing can be asked")


async def test_headers_are_read_as_they_came() -> None:
    """Several lines of one header stay apart where it matters; text that is no UTF-8 is read for all that."""
    server = WebServer({"/": b"HTTP/1.1 200 OK\r\nX: \xc3\xa4\r\nx: \xe4\r\nContent-Length: 0\r\n\r\n"})
    async with server.on(), Dialer(Line()).ask(admitted(server.port, PUBLIC)) as reply:
        assert (reply.header_lines("X"), reply.header("missing")) == (["ä", "ä"], None)


def test_texts_of_strangers_are_shown_as_one_short_line() -> None:
    """Messages cannot be broken into lines, nor grow without end, by what a server or a model writes."""
    assert (shown("a\nb\u202ec"), len(shown("x" * 5000))) == (r"a\nb\u202ec", 201)


class Authority:
    """A certificate authority of our own, made by the openssl program."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.certificate = folder / "ca.pem"
        subject = ("-subj", "/CN=Test authority", "-addext", "basicConstraints=critical,CA:TRUE")
        self._openssl("req", "-x509", *self._new_key("ca"), *subject, "-out", str(self.certificate), "-days", "2")

    def context_for(self, name: str) -> ssl.SSLContext:
        """What a server needs to be ``name``."""
        request, certificate, extension = (self._folder / f"{name}.{end}" for end in ("csr", "pem", "ext"))
        extension.write_text(f"subjectAltName=DNS:{name}\n", encoding="ascii")
        self._openssl("req", *self._new_key(name), "-subj", f"/CN={name}", "-out", str(request))
        signed = ("-CA", str(self.certificate), "-CAkey", str(self._folder / "ca.key"), "-CAcreateserial", "-days", "2")
        self._openssl(
            "x509", "-req", "-in", str(request), *signed, "-extfile", str(extension), "-out", str(certificate)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, self._folder / f"{name}.key")
        return context

    def _new_key(self, name: str) -> tuple[str, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        return (*curve, "-keyout", str(self._folder / f"{name}.key"))

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self._folder)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    try:
        return Authority(tmp_path_factory.mktemp("authority"))
    except FileNotFoundError:
        pytest.skip("there is no openssl program here to make certificates with")


@pytest.mark.slow
async def test_certificates_are_checked_for_the_name_while_the_address_is_dialled(authority: Authority) -> None:
    """TLS is told the name, and takes a certificate for it, though the connection goes to an address."""
    told: list[str | None] = []
    context = authority.context_for("site.test")
    context.sni_callback = lambda connection, name, _: told.append(name)
    server = WebServer({"/": answered(b"safe")})
    async with server.on(tls=context):
        tools = await web(ca_file=str(authority.certificate))
        result = await tools.get(f"https://site.test:{server.port}/")
        assert (result.success, result.output["content"]) == (True, "safe")
        assert (told, server.seen[0].headers["host"]) == (["site.test"], f"site.test:{server.port}")


@pytest.mark.slow
async def test_a_certificate_for_another_name_is_refused(authority: Authority) -> None:
    """Whoever answers at the address cannot pass for the name."""
    server = WebServer({"/": answered(b"evil")})
    async with server.on(tls=authority.context_for("other.test")):
        tools = await web(ca_file=str(authority.certificate))
        result = await tools.get(f"https://site.test:{server.port}/")
        assert (result.success, result.error["type"], server.seen) == (False, "unreachable", [])
        assert "certificate" in result.error["message"]


@pytest.mark.slow
async def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority) -> None:
    """Only authorities that the system or configuration trusts count."""
    server = WebServer({"/": answered(b"evil")})
    async with server.on(tls=authority.context_for("site.test")):
        result = await (await web()).get(f"https://site.test:{server.port}/")
        assert (result.success, result.error["type"], server.seen) == (False, "unreachable", [])
        assert "certificate verify failed" in result.error["message"]


@pytest.mark.slow
@pytest.mark.parametrize("is_allowed", [True, False])
async def test_a_redirect_from_https_to_http_is_refused_unless_configured(
    authority: Authority, is_allowed: bool
) -> None:
    """A page that was safe on its way does not become one that is not, behind the user's back."""
    plain, safe = WebServer({"/": answered(b"plain")}), WebServer()
    async with plain.on(), safe.on(tls=authority.context_for("site.test")):
        safe.routes = {"/": answered(status=301, Location=f"http://site.test:{plain.port}/")}
        tools = await web(ca_file=str(authority.certificate), allow_downgrade=is_allowed)
        result = await tools.get(f"https://site.test:{safe.port}/")
        assert (result.success, len(plain.seen)) == (is_allowed, int(is_allowed))
        if not is_allowed:
            assert "redirects from https to http://site.test" in result.error["message"]


@pytest.mark.parametrize("name", ["missing.pem", "empty.pem"])
async def test_certificates_that_cannot_be_read_are_an_error(tmp_path: Path, name: str) -> None:
    """A wrong 'ca_file' is told, and does not mean that everything is trusted."""
    (tmp_path / "empty.pem").touch()
    with pytest.raises(NotConfiguredError, match="The certificates in 'ca_file'"):
        async with Dialer(Line(ca_file=str(tmp_path / name))).ask(admitted(443, PUBLIC, scheme="https")):
            pytest.fail("nothing may be asked")


async def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other programs use does not see what is fetched."""
    proxy, server = WebServer(), WebServer({"/": answered(b"direct")})
    async with proxy.on("127.0.0.1"), server.on():
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        result = await (await web()).get(f"http://site.test:{server.port}/")
        assert (result.output["content"], proxy.seen) == ("direct", [])


@pytest.mark.parametrize("named_by", ["configuration", "environment"])
async def test_a_configured_proxy_is_asked_for_the_judged_address(
    monkeypatch: pytest.MonkeyPatch, named_by: str
) -> None:
    """With a proxy names are judged here all the same, and the proxy has nothing to resolve."""
    proxy = WebServer()
    async with proxy.on("127.0.0.1"):
        url = f"http://127.0.0.1:{proxy.port}"
        monkeypatch.setenv("http_proxy", url)
        proxy.routes = {f"http://{PUBLIC}:8080/x": answered(b"by proxy")}
        tools = await web(proxy="environment" if named_by == "environment" else url)
        result = await tools.get("http://site.test:8080/x")
        assert (result.output["content"], proxy.seen[0].headers["host"]) == ("by proxy", "site.test:8080")
        refused = await tools.get("http://10.0.0.1/")
        assert (refused.error["type"], len(proxy.seen)) == ("refused", 1)


def test_hosts_that_the_environment_excepts_need_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the proxy of the environment go its exceptions."""
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "direct.test")
    found = [proxy_for(to_target(f"https://{host}/"), "environment") for host in ("site.test", "direct.test")]
    assert found == ["http://proxy.test:3128", None]

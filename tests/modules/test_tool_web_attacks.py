"""The attack table: whatever the model or a page asks for, nothing that is not public is ever asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.modules.attacks_ssrf import LITERALS, NAMES, REDIRECTS, SPELLINGS, Attack
from tests.modules.web_world import PUBLIC, Names, WebServer, answered, redirect, web


@contextlib.asynccontextmanager
async def trapped(public: WebServer) -> AsyncIterator[WebServer]:
    """A public server, and traps with the same port on the machine itself."""
    trap = WebServer({"/": answered(b"inside")})
    while True:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(public.on())
            try:
                await stack.enter_async_context(trap.on("127.0.0.1", public.port))
            except OSError:  # somebody else has the port there
                continue
            with contextlib.suppress(OSError):  # a machine without IPv6 has nothing to protect there
                await stack.enter_async_context(trap.on("::1", public.port))
            yield trap
            return


def verdict(result: Any) -> tuple[bool, str]:
    return result.success, result.error["type"]


@pytest.mark.parametrize("attack", [*LITERALS, *SPELLINGS, *NAMES], ids=lambda attack: attack.id)
async def test_no_url_leads_inside(attack: Attack) -> None:
    """A URL that leads inside is refused for what it is, and nobody inside is asked."""
    public = WebServer()
    async with trapped(public) as trap:
        tools = await web(Names({"site.test": [[PUBLIC]], **attack.names}))
        result = await tools.get(attack.url.replace("{port}", str(public.port)))
        assert verdict(result) == (False, attack.kind)
        assert attack.says in result.error["message"]
        assert (trap.seen, public.seen) == ([], [])


@pytest.mark.parametrize("attack", REDIRECTS, ids=lambda attack: attack.id)
async def test_no_redirect_leads_inside(attack: Attack) -> None:
    """A public page that redirects inside is read, and its redirect is refused."""
    public = WebServer()
    async with trapped(public) as trap:
        public.routes = {"/hop": redirect(attack.url.replace("{port}", str(public.port)))}
        tools = await web(Names({"site.test": [[PUBLIC]], **attack.names}))
        result = await tools.get(f"http://site.test:{public.port}/hop")
        assert verdict(result) == (False, attack.kind)
        assert attack.says in result.error["message"]
        assert (trap.seen, [seen.path for seen in public.seen]) == ([], ["/hop"])


async def test_a_name_is_looked_up_once_and_what_was_judged_is_dialled() -> None:
    """A name that answers with another address the second time has no second time."""
    public = WebServer({"/": answered(b"outside")})
    async with trapped(public) as trap:
        names = Names({"site.test": [[PUBLIC], ["127.0.0.1"]]})
        tools = await web(names)
        result = await tools.get(f"http://site.test:{public.port}/")
        assert (result.success, result.output["content"]) == (True, "outside")
        assert (names.asked, trap.seen) == (["site.test"], [])


async def test_a_retry_dials_the_judged_address_again() -> None:
    """Nobody is asked for the name a second time because a connection broke."""

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        public.routes = {"/": answered(b"outside")}

    public = WebServer({"/": break_off})
    async with trapped(public) as trap:
        names = Names({"site.test": [[PUBLIC], ["127.0.0.1"]]})
        tools = await web(names)
        result = await tools.get(f"http://site.test:{public.port}/")
        assert (result.success, result.output["content"]) == (True, "outside")
        assert (names.asked, trap.seen, len(public.seen)) == (["site.test"], [], 2)


async def test_a_redirect_with_two_places_is_refused() -> None:
    """A redirect that readers understand differently is not followed."""
    public = WebServer()
    async with trapped(public) as trap:
        target = f"http://127.0.0.1:{public.port}/"
        public.routes = {"/hop": redirect(f"http://site.test:{public.port}/ok\r\nLocation: {target}")}
        tools = await web()
        result = await tools.get(f"http://site.test:{public.port}/hop")
        assert verdict(result) == (False, "refused")
        assert result.error["message"] == "The server redirects to 2 places at once."
        assert trap.seen == []


async def test_a_line_end_in_a_redirect_is_no_way_to_send_headers() -> None:
    """Encoded line ends stay encoded, and sent ones end the header."""
    public = WebServer()
    async with public.on():
        public.routes = {
            "/hop": redirect("/next%0d%0aX-Evil:%201"),
            "/next%0d%0aX-Evil:%201": answered(b"plain"),
        }
        tools = await web()
        result = await tools.get(f"http://site.test:{public.port}/hop")
        assert (result.success, result.output["content"]) == (True, "plain")
        assert "x-evil" not in public.seen[1].headers


async def test_redirects_end_after_five() -> None:
    """A chain of redirects is followed five times and no further."""
    public = WebServer({f"/{number}": redirect(f"/{number + 1}") for number in range(10)})
    async with public.on():
        tools = await web()
        result = await tools.get(f"http://site.test:{public.port}/0")
        assert verdict(result) == (False, "refused")
        assert result.error["message"] == f"http://site.test:{public.port}/0 redirects more than 5 times."
        assert len(public.seen) == 6


async def test_redirects_in_a_circle_are_told_as_such() -> None:
    """A circle of pages is recognised when it closes."""
    public = WebServer({"/a": redirect("/b"), "/b": redirect("/a")})
    async with public.on():
        tools = await web()
        result = await tools.get(f"http://site.test:{public.port}/a")
        url = f"http://site.test:{public.port}/a"
        assert result.error["message"] == f"{url} redirects in a circle, back to {url}."
        assert len(public.seen) == 2


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://metadata.google.internal/",
        "http://meta.test/",
    ],
)
async def test_metadata_services_stay_closed_when_everything_private_is_open(url: str) -> None:
    """No configuration opens the places where clouds keep their machines' secrets."""
    names = Names({"metadata.google.internal": [["10.0.0.1"]], "meta.test": [["fd00:ec2::254"]]})
    tools = await web(names, allow_private=["0.0.0.0/0", "::/0"])
    result = await tools.get(url)
    assert verdict(result) == (False, "refused")
    assert "metadata" in result.error["message"]


def test_the_table_is_long_enough() -> None:
    """There are at least sixty attacks, each under a name of its own."""
    table = [*LITERALS, *SPELLINGS, *NAMES, *REDIRECTS]
    assert len({attack.id for attack in table}) == len(table) >= 60

"""One HTTP client for all vendors."""

from __future__ import annotations

import json
import math
import sys
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from tests.modules.llm_server import Answer, json_answer, serving, sse_answer

from amplifier_core.llm_errors import (
    ConfigurationError,
    NetworkError,
    ProviderUnavailableError,
)
from amplifier_modkit.llm import http
from amplifier_modkit.llm.errors import Blame
from amplifier_modkit.llm.http import HttpClient, Outgoing, Place, to_json_bytes

BLAME = Blame("toy", "toy-2", ("s3cret",))


def client_for(url: str, **headers: str) -> HttpClient:
    """A client that sends these headers, with dashes in their names."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpClient(Place(url, lambda: sent))


async def fetched(client: HttpClient, outgoing: Outgoing | None = None) -> Any:
    """The JSON of one answer; the client is closed then."""
    try:
        async with client.ask(outgoing or Outgoing("GET", "/x"), BLAME) as incoming:
            return await incoming.json()
    finally:
        await client.close()


async def test_a_request_says_what_it_is_to_say() -> None:
    """Method, path, body and headers are there; those of the request go before those of the place."""
    async with serving(json_answer({"a": 1})) as server:
        client = client_for(f"{server.url}/base/", authorization="Bearer ü", x_mode="place")
        outgoing = Outgoing("POST", "/x?y=1", {"b": "ü"}, {"x-mode": "call"})
        assert await fetched(client, outgoing) == {"a": 1}
        (seen,) = server.requests
        assert (seen.method, seen.path, seen.body) == ("POST", "/base/x?y=1", {"b": "ü"})
        assert seen.headers["x-mode"] == "call"
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["authorization"].encode("latin-1").decode() == "Bearer ü"


async def test_connections_are_used_again_after_whole_answers() -> None:
    """Three calls, one of them streamed up to its last event, take one connection."""
    streamed = sse_answer([(None, "1"), (None, "2")])
    async with serving(json_answer({}), streamed, json_answer({})) as server:
        client = client_for(server.url)
        for _ in range(3):
            async with client.ask(Outgoing("GET", "/x"), BLAME) as incoming:
                if incoming.is_json:
                    await incoming.json()
                else:
                    async with aclosing(incoming.events()) as events:
                        assert await anext(events) == ("message", "1")
                        await incoming.drain()
        assert server.connections == 1
        await client.close()
        await client.close()


@pytest.mark.parametrize("ending", ["stall", "drop"])
async def test_what_comes_after_the_last_event_does_not_matter(ending: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that does not end its stream, or ends it badly, is not waited for."""
    monkeypatch.setattr(http, "_DRAIN_S", 0.01)
    async with serving(replace(sse_answer([(None, "1")]), ending=ending)) as server:
        client = client_for(server.url)
        async with client.ask(Outgoing("GET", "/x"), BLAME) as incoming:
            events = incoming.events()
            assert await anext(events) == ("message", "1")
            await incoming.drain()
            await events.aclose()
        await client.close()


async def test_an_answer_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is larger than any answer should be is cut off, and not asked for again."""
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 10)
    async with serving(json_answer({"text": "far too long"})) as server:
        with pytest.raises(ProviderUnavailableError, match="more than 10 bytes") as raised:
            await fetched(client_for(server.url))
        assert raised.value.retryable is False


async def test_of_a_long_refusal_the_beginning_is_read() -> None:
    """The rest is left where it is."""
    async with serving(Answer(500, {}, [b"no " * 1_000] * 100)) as server:
        with pytest.raises(ProviderUnavailableError, match="HTTP status 500: no no no"):
            await fetched(client_for(server.url))


async def test_a_refusal_that_breaks_off_is_an_error_of_the_line() -> None:
    """What cannot be read to its end tells nothing about the request."""
    async with serving(Answer(400, {}, [b"no"], ending="drop")) as server:
        with pytest.raises(NetworkError, match="the connection failed"):
            await fetched(client_for(server.url))


async def test_a_redirection_is_not_followed() -> None:
    """A key goes nowhere but to the place in the config."""
    async with serving(Answer(302, {"location": "http://127.0.0.1:9/"})) as server:
        with pytest.raises(ConfigurationError, match="HTTP status 302"):
            await fetched(client_for(server.url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:s3cret", "ftp://127.0.0.1", "nowhere"])
async def test_a_place_that_cannot_be_asked_is_told(url: str) -> None:
    """The error says what is wrong with the address, and nothing secret."""
    with pytest.raises(ConfigurationError, match="[cC]heck 'base_url'") as raised:
        await fetched(client_for(url))
    assert "s3cret" not in str(raised.value)


async def test_a_header_that_cannot_be_sent_is_told() -> None:
    """A key with a line end in it is not sent, and shows nowhere, not even as the cause."""
    async with serving() as server:
        with pytest.raises(ConfigurationError, match="cannot be sent") as raised:
            await fetched(client_for(server.url, authorization="a\nb"))
        assert (server.requests, raised.value.__cause__, raised.value.__suppress_context__) == ([], None, True)


async def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that brings it is named."""
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'amplifier-modules\[http\]'"):
        await fetched(client_for("http://127.0.0.1:9"))


async def test_what_is_no_error_of_the_line_comes_out_as_it_is() -> None:
    """An error of the caller's own inside an answer is the caller's."""
    async with serving(json_answer({})) as server:
        client = client_for(server.url)
        with pytest.raises(ZeroDivisionError):
            async with client.ask(Outgoing("GET", "/x"), BLAME):
                raise ZeroDivisionError
        with pytest.raises(RuntimeError, match="mine"), http._Translating(BLAME, 1.0):  # pyright: ignore[reportPrivateUsage]
            raise RuntimeError("mine")
        await client.close()


async def test_certificates_are_loaded_for_encrypted_places_only() -> None:
    """A place that is not encrypted has none, and so trusts nobody; others have those of the system."""
    plain = http._certificates("http://127.0.0.1")  # pyright: ignore[reportPrivateUsage]
    assert (plain.cert_store_stats()["x509"], plain.check_hostname) == (0, True)
    assert http._certificates("https://example.com") is True  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"a": "ü", "b": [1, None]}, {"a": "ü", "b": [1, None]}),
        ({"a": math.nan}, {"a": "NaN"}),
        ({"a": {1}}, {"a": [1]}),
        ({"a": "x\ud800y"}, {"a": "x?y"}),
    ],
)
def test_whatever_is_in_a_body_becomes_json(body: Any, read: Any) -> None:
    """What JSON or UTF-8 cannot say is said as near as can be."""
    assert json.loads(to_json_bytes(body)) == read

"""The tool ``web_search``: what goes to each engine, what comes back, and what is told when there is none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.modules.web_world import PUBLIC, Names, WebServer, answered, web

from amplifier_module_tool_web import brave, searxng, tavily
from amplifier_module_tool_web.errors import BadContentError
from amplifier_module_tool_web.search_wire import Hit, SearchCall, WireRequest

CALL = SearchCall("two words", 3, "https://engine.test/", "key-123")

SEARXNG_ANSWER = {
    "query": "two words",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://a.test/",
            "title": "A",
            "content": "about  a",
            "engine": "x",
            "score": 1.0,
            "category": "general",
        },
        {"url": "https://b.test/", "title": "B", "content": None},
    ],
    "suggestions": [],
    "unresponsive_engines": [],
}
BRAVE_ANSWER = {
    "type": "search",
    "query": {"original": "two words"},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "A &amp; <strong>B</strong>",
                "url": "https://a.test/",
                "description": "all <strong>about</strong> 1 < 2",
            },
        ],
    },
}
TAVILY_ANSWER = {
    "query": "two words",
    "answer": None,
    "results": [{"title": "A", "url": "https://a.test/", "content": "about a", "score": 0.9, "raw_content": None}],
    "response_time": 0.5,
}


def test_searxng_is_asked_for_json() -> None:
    """The question goes into the URL."""
    assert searxng.to_wire(CALL) == WireRequest(
        "GET", "https://engine.test/search?q=two+words&format=json", {"Accept": "application/json"}
    )


def test_brave_gets_its_key_in_a_header() -> None:
    """The key is nowhere in the URL, and no more results are asked for than the engine gives."""
    assert brave.to_wire(SearchCall("two words", 99, "https://engine.test", "key-123")) == WireRequest(
        "GET",
        "https://engine.test/res/v1/web/search?q=two+words&count=20",
        {"Accept": "application/json", "X-Subscription-Token": "key-123"},
    )


def test_tavily_gets_a_json_body() -> None:
    """Question and number are the body; the key is in a header."""
    wire = tavily.to_wire(CALL)
    assert (wire.method, wire.url, wire.headers["Authorization"]) == (
        "POST",
        "https://engine.test/search",
        "Bearer key-123",
    )
    assert json.loads(wire.content or b"") == {"query": "two words", "max_results": 3}


def test_half_characters_can_be_asked_for() -> None:
    """A query that cannot be encoded is sent with marks in their place."""
    call = SearchCall("a\ud800b", 3, "https://engine.test")
    assert [engine.to_wire(call).url.partition("q=")[2][:5] for engine in (searxng, brave)] == ["a%3Fb", "a%3Fb"]


def test_answers_are_read_as_the_engines_document_them() -> None:
    """Title, URL and snippet come out as plain text; what has no title or URL is left out."""
    assert searxng.from_wire(SEARXNG_ANSWER) == [
        Hit("A", "https://a.test/", "about a"),
        Hit("B", "https://b.test/", ""),
    ]
    assert brave.from_wire(BRAVE_ANSWER) == [Hit("A & B", "https://a.test/", "all about 1 < 2")]
    assert tavily.from_wire(TAVILY_ANSWER) == [Hit("A", "https://a.test/", "about a")]
    assert tavily.from_wire({"results": [{"title": "no url"}, {"url": "x"}, "text", {"title": 1, "url": 2}]}) == []


def test_an_answer_without_web_results_found_nothing() -> None:
    """Brave leaves the part out that is empty."""
    assert brave.from_wire({"type": "search", "query": {"original": "x"}}) == []


@pytest.mark.parametrize("engine", [searxng, brave, tavily])
@pytest.mark.parametrize("payload", [{}, [], None, {"results": {}, "web": {"results": 1}}, "text"])
def test_another_answer_is_an_error_and_not_an_empty_result(engine: Any, payload: Any) -> None:
    """What is no answer of the engine is never passed off as one that found nothing."""
    with pytest.raises(BadContentError, match="has no list of results; its interface may have changed"):
        engine.from_wire(payload)


ENGINES = [
    ("searxng", "/search?q=two+words&format=json", SEARXNG_ANSWER, 2),
    ("brave", "/res/v1/web/search?q=two+words&count=5", BRAVE_ANSWER, 1),
    ("tavily", "/search", TAVILY_ANSWER, 1),
]


@pytest.mark.parametrize(("engine", "path", "answer", "count"), ENGINES, ids=[row[0] for row in ENGINES])
async def test_each_engine_is_asked_and_its_answer_told(engine: str, path: str, answer: Any, count: int) -> None:
    """The results are those of the engine, marked as words of strangers."""
    server = WebServer({path: answered(json.dumps(answer).encode(), "application/json")})
    async with server.on():
        tools = await web(
            search_engine=engine.upper(), search_url=f"http://site.test:{server.port}/", api_key="key-123"
        )
        result = await tools.find({"query": " two words "})
    assert result.success, result.error
    assert {key: result.output[key] for key in ("query", "count", "source")} == {
        "query": "two words",
        "count": count,
        "source": "web",
    }
    assert [sorted(hit) for hit in result.output["results"]] == [["snippet", "title", "url"]] * count
    key = server.seen[0].headers.get("x-subscription-token") or server.seen[0].headers.get("authorization")
    assert key == {"brave": "key-123", "tavily": "Bearer key-123"}.get(engine)


async def test_without_an_engine_nothing_is_invented() -> None:
    """The failure says how to configure one, and what can be done without."""
    result = await (await web()).find({"query": "x"})
    assert (result.success, result.error) == (
        False,
        {
            "type": "not_configured",
            "message": "No search engine is configured, so nothing was searched. Tell the user to set 'search_engine' "
            "of tool-web to one of searxng, brave, tavily: searxng needs 'search_url', the others an 'api_key' or the "
            "variable BRAVE_API_KEY or TAVILY_API_KEY. Pages whose URL is known can be fetched with web_fetch.",
        },
    )


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"search_engine": "duckduckgo"}, "The search engine 'duckduckgo' is not known, so nothing was searched."),
        ({"search_engine": "searxng"}, "The address of searxng is not configured."),
        ({"search_engine": "brave"}, "The key for brave is not configured."),
        ({"search_engine": "brave"}, "BRAVE_API_KEY."),
        ({"search_engine": "tavily", "api_key_env": "MY_KEY"}, "The key for tavily is not configured."),
        ({"search_engine": "tavily", "api_key_env": "MY_KEY"}, "MY_KEY."),
    ],
)
async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], says: str) -> None:
    """Each engine says what it needs."""
    for name in ("BRAVE_API_KEY", "TAVILY_API_KEY", "SEARXNG_URL", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)
    result = await (await web(**config)).find({"query": "x"})
    assert (result.success, result.error["type"]) == (False, "not_configured")
    assert says in result.error["message"]


async def test_the_environment_may_have_key_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """What configuration leaves out is looked up under the engine's names, or under the one that it names."""
    server = WebServer({"/search": answered(json.dumps(TAVILY_ANSWER).encode())})
    async with server.on():
        url = f"http://site.test:{server.port}"
        server.routes = {**server.routes, "/search?q=x&format=json": answered(json.dumps(SEARXNG_ANSWER).encode())}
        monkeypatch.setenv("MY_KEY", "mine")
        monkeypatch.setenv("SEARXNG_URL", url)
        found = [
            await (await web(search_engine="searxng")).find({"query": "x"}),
            await (await web(search_engine="tavily", api_key_env="MY_KEY", search_url=url)).find({"query": "x"}),
        ]
    assert ([result.output["count"] for result in found], server.seen[1].headers["authorization"]) == (
        [2, 1],
        "Bearer mine",
    )


async def test_an_engine_may_be_on_the_users_own_machine() -> None:
    """The address that the user configured is asked, private or not; metadata services are not even then."""
    server = WebServer({"/search?q=x&format=json": answered(json.dumps(SEARXNG_ANSWER).encode())})
    async with server.on("127.0.0.1"):
        url = f"http://127.0.0.1:{server.port}"
        tools = await web(Names(), search_engine="searxng", search_url=url, allow_private=[])
        inside = await tools.find({"query": "x"})
        fetched = await tools.get(f"{url}/search?q=x&format=json")
    tools = await web(Names(), search_engine="searxng", search_url="http://169.254.169.254/")
    metadata = await tools.find({"query": "x"})
    assert (inside.success, fetched.error["type"], metadata.error["type"]) == (True, "refused", "refused")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "Tell the user to check the key."),
        (403, "add 'json' to search.formats"),
        (429, "The limit of the key is reached; try again later."),
        (404, "Tell the user to check 'search_url'."),
        (500, "Try again later."),
        (302, "Tell the user to check 'search_url'."),
    ],
)
async def test_a_refusal_of_the_engine_is_a_failure_with_advice(status: int, says: str) -> None:
    """No result is made up for a status; the engine's own words are told without the key."""
    server = WebServer(
        {"/search?q=x&format=json": answered(b"bad key-123", status=status, Location="http://10.0.0.1/")}
    )
    async with server.on():
        tools = await web(search_engine="searxng", search_url=f"http://site.test:{server.port}")
        result = await tools.find({"query": "x"})
    assert (result.success, result.error["type"], len(server.seen)) == (False, "unreachable", 1)
    assert result.error["message"].startswith(f"searxng answered HTTP {status}, so there are no results. ")
    assert says in result.error["message"]


async def test_a_key_that_an_engine_repeats_is_not_told() -> None:
    """Even the engine's own words do not bring the key into the conversation."""
    server = WebServer({"/search": answered(b"the key key-123 is bad", status=401)})
    async with server.on():
        tools = await web(search_engine="tavily", search_url=f"http://site.test:{server.port}", api_key="key-123")
        result = await tools.find({"query": "x"})
    assert result.error["message"] == (
        "tavily answered HTTP 401, so there are no results. Tell the user to check the key. the key *** is bad"
    )


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<html>login</html>", "The answer of searxng is no JSON. Check 'search_url'."),
        (b"[" * 100_000, "The answer of searxng is no JSON. Check 'search_url'."),
        (b'{"error": "x"}', "The answer of SearXNG has no list of results; its interface may have changed."),
        (b" " * 2_000_001, "The answer of searxng has more than 2000000 bytes."),
    ],
    ids=["html", "nested", "other", "huge"],
)
async def test_an_answer_that_is_none_is_a_failure(body: bytes, says: str) -> None:
    """Whatever is not the engine's answer is told as such."""
    server = WebServer({"/search?q=x&format=json": answered(body)})
    async with server.on():
        tools = await web(search_engine="searxng", search_url=f"http://site.test:{server.port}")
        result = await tools.find({"query": "x"})
    assert result.error == {"type": "bad_content", "message": says}


async def test_an_engine_that_takes_too_long_is_left() -> None:
    """The whole search has a time limit."""

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    server = WebServer({"/search?q=x&format=json": wait})
    async with server.on():
        tools = await web(search_engine="searxng", search_url=f"http://site.test:{server.port}", total_timeout=0.05)
        result = await tools.find({"query": "x"})
    assert result.error == {"type": "timeout", "message": "searxng did not answer within 0.05 s."}


async def test_results_that_could_not_be_fetched_are_left_out() -> None:
    """Domain rules hold for results as well, and what is no web page is none; the number is kept to."""
    urls = [
        "https://ok.test/1",
        "https://bad.test/",
        "javascript:alert(1)",
        "http://u:p@ok.test/",
        "https://ok.test/2",
        "https://ok.test/3",
    ]
    answer = {"results": [{"title": "T\u200b" * 400, "url": url, "content": "c" * 5000} for url in urls]}
    server = WebServer({"/search?q=x&format=json": answered(json.dumps(answer).encode())})
    async with server.on():
        tools = await web(
            search_engine="searxng",
            search_url=f"http://site.test:{server.port}",
            allowed_domains=["ok.test", "bad.test"],
            blocked_domains=["bad.test"],
        )
        result = await tools.find({"query": "x", "max_results": 2})
    assert [hit["url"] for hit in result.output["results"]] == ["https://ok.test/1", "https://ok.test/2"]
    assert [(len(hit["title"]), len(hit["snippet"])) for hit in result.output["results"]] == [(300, 1000)] * 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "'query' is missing"),
        ({"query": " "}, "'query' is missing"),
        ({"query": ["x"]}, "'query' is missing"),
        ({"query": "x" * 2001}, "'query' has 2001 characters; at most 2000 are allowed."),
        ({"query": "x", "max_results": 0}, "'max_results' must be a whole number from 1 to 20."),
        ({"query": "x", "max_results": True}, "'max_results' must be"),
        ({"query": "x", "max_results": "3"}, "'max_results' must be"),
        ({"query": "x", "max_results": 21}, "'max_results' must be"),
    ],
)
async def test_input_that_cannot_be_used_is_told(given: dict[str, Any], says: str) -> None:
    """A model learns which argument is wrong and what it should be."""
    result = await (await web(search_engine="searxng")).find(given)
    assert (result.success, result.error["type"]) == (False, "invalid_input")
    assert says in result.error["message"]


async def test_a_post_is_not_sent_twice() -> None:
    """A search that costs money is not repeated because its connection broke."""

    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return

    server = WebServer({"/search": nothing})
    async with server.on():
        names = Names({"site.test": [[PUBLIC]]})
        tools = await web(names, search_engine="tavily", search_url=f"http://site.test:{server.port}", api_key="k")
        result = await tools.find({"query": "x"})
    assert (result.error["type"], len(server.seen)) == ("unreachable", 1)

"""Servers over HTTP: a real one of the current protocol, and ones that forget, refuse, or want to know who is there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import Response
from tests.modules.mcp_http_world import ScriptedHttpServer, browse, serving
from tests.modules.mcp_real_server import real_server
from tests.modules.mcp_world import McpSession, session

from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_mcp import connection, fleet
from amplifier_module_tool_mcp.callback_page import callback_page, free_port
from amplifier_module_tool_mcp.connection import Connection, told_error
from amplifier_module_tool_mcp.errors import AuthorizationError, TimedOutError, UnreachableError
from amplifier_module_tool_mcp.http import Statuses
from amplifier_module_tool_mcp.link import ServerLink
from amplifier_module_tool_mcp.tokens import token_path

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, and no proxy."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "home"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Lets links try again at once; has the pauses that were left out."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0.01)

    class QuickLink(ServerLink):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options, pause=pause)

    monkeypatch.setattr(fleet, "ServerLink", QuickLink)
    return pauses


@contextlib.asynccontextmanager
async def scripted_session(
    server: ScriptedHttpServer, tmp_path: Path, entry: dict[str, Any] | None = None, **config: Any
) -> AsyncIterator[McpSession]:
    """A session with a scripted server."""
    async with (
        serving(server.app()) as root,
        session({"h": {"url": f"{root}/mcp", **(entry or {})}}, tmp_path, **config) as world,
    ):
        yield world


async def test_a_real_server_of_the_current_protocol(tmp_path: Path) -> None:
    """Tools, resources and prompts work, changes are followed, and output is checked as the server promises."""
    async with (
        serving(real_server().streamable_http_app()) as root,
        session({"real": {"url": f"{root}/mcp"}}, tmp_path) as world,
    ):
        ready = world.told("mcp:server_ready")[0]
        assert (ready["transport"], ready["protocol_version"]) == ("http", "2026-07-28")
        assert (ready["resources"], ready["prompts"]) == (1, 1)
        read = await world.call("mcp_real_read_resource", uri="real://text")
        assert read.output["content"] == "[resource real://text (text/plain)]\nsome text"
        missing = await world.call("mcp_real_read_resource", uri="real://nothing")
        assert missing.error is not None
        assert missing.error["type"] == "server_error"
        greeting = await world.call("mcp_real_get_prompt", name="greet", arguments={"name": "Jo"})
        assert greeting.output["content"] == "[user]\nHello Jo"
        assert (await world.call("mcp_real_grow")).output["content"] == "grown"
        await world.until("mcp:tools_changed")
        assert (await world.call("mcp_real_grown")).output["content"] == "there"


async def test_calls_over_http_can_be_given_up(tmp_path: Path) -> None:
    """The time limit holds, a cancellation passes at once, and the connection stays."""
    async with serving(real_server().streamable_http_app()) as root:
        url = f"{root}/mcp"
        async with session({"hasty": {"url": url, "timeout": 0.1}, "real": {"url": url}}, tmp_path) as world:
            late = await world.call("mcp_hasty_wait")
            assert (late.success, late.error["type"]) == (False, "timeout")
            call = asyncio.create_task(world.call("mcp_real_wait"))
            await world.call("mcp_real_add", a=1, b=1)
            call.cancel()
            started = asyncio.get_running_loop().time()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert asyncio.get_running_loop().time() - started < 3
            assert (await world.call("mcp_real_add", a=1, b=1)).output["content"] == "2"
            assert world.told("mcp:server_failed") == []


async def test_a_server_that_forgets_us_is_asked_again(tmp_path: Path, quick: list[float]) -> None:
    """A session that the server has dropped is opened anew, and the call is carried out once."""
    server = ScriptedHttpServer()
    async with scripted_session(server, tmp_path) as world:
        server.sessions.clear()
        assert (await world.call("mcp_h_t")).output["content"] == "called"
        assert server.calls == ["tools/call"]
        assert [each["error"] for each in world.told("mcp:server_failed")] == ["the server has ended"]


async def test_good_byes_are_short(tmp_path: Path, quick: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer when it is left holds up neither the next connection nor the end."""
    monkeypatch.setattr(connection, "_GOOD_BYE_S", 0.1)
    server = ScriptedHttpServer(is_deaf=True)
    started = asyncio.get_running_loop().time()
    async with scripted_session(server, tmp_path) as world:
        server.sessions.clear()
        assert (await world.call("mcp_h_t")).output["content"] == "called"
        problem = "the server has ended the connection"
        assert [each["error"] for each in world.told("mcp:server_failed")] == [problem]
    assert server.farewells == 2
    assert asyncio.get_running_loop().time() - started < 30


async def test_a_server_that_goes_away_is_found_again(tmp_path: Path, quick: list[float]) -> None:
    """Calls fail while nobody is there, and work when the server is back."""
    server, port = ScriptedHttpServer(), free_port()
    entry = {"url": f"http://127.0.0.1:{port}/mcp"}
    async with session({"h": entry}, tmp_path, settle=False) as world:
        await world.until("mcp:server_failed", 4)
        reconnected = await world.call("mcp_servers", reconnect="h")
        assert reconnected.error is not None
        assert "the MCP server 'h' is not connected: ConnectError" in reconnected.error["message"]
        async with serving(server.app(), port):
            assert "- h (ready): mcp_h_t" in (await world.call("mcp_servers", reconnect="h")).output
        lost = await world.call("mcp_h_t")
        assert lost.error is not None
        assert lost.error["type"] == "connection_lost"
        async with serving(server.app(), port):
            assert (await world.call("mcp_h_t")).output["content"] == "called"


@pytest.mark.parametrize(
    ("refusal", "problem"),
    [
        (Response(status_code=500), "Server returned an error response (HTTP status 500)"),
        (Response(status_code=403), "Server returned an error response (HTTP status 403)"),
        (Response("hello", media_type="text/html"), "Unexpected content type: text/html; charset=utf-8"),
        (Response(status_code=202), "server answered a request with 202 Accepted"),
        (Response("{", media_type="application/json"), "Failed to parse JSON response"),
    ],
    ids=["500", "403", "html", "nothing", "garbage"],
)
async def test_what_is_no_mcp_server_is_told(
    refusal: Response, problem: str, tmp_path: Path, quick: list[float]
) -> None:
    """The problem says what came instead, and a lasting one is not tried for ever."""
    async with scripted_session(ScriptedHttpServer(refusal=refusal), tmp_path) as world:
        assert problem in world.told("mcp:server_failed")[-1]["error"]
        assert quick == ([] if refusal.status_code == 403 else [1.0, 2.0, 4.0])


async def test_answers_are_bounded(tmp_path: Path) -> None:
    """An answer that is too large is not read to its end."""
    server = ScriptedHttpServer(answer="x" * 50_000)
    entry = {"oauth": False}
    async with scripted_session(server, tmp_path, entry, max_message_bytes=20_000) as world:
        failed = await world.call("mcp_h_t")
        assert failed.error is not None
        assert "the answer is larger than 20,000 bytes (max_message_bytes)" in failed.error["message"]
        server.answer = "short"
        assert (await world.call("mcp_h_t")).output["content"] == "short"


def opening(coordinator: TestCoordinator) -> None:
    """Gives the session a browser."""
    coordinator.register_capability("mcp.open_url", browse)


async def test_authorization_in_a_browser(tmp_path: Path, home: Path) -> None:
    """The user is shown where to agree; registration and tokens are kept, so that the next session needs nobody."""
    server = ScriptedHttpServer(protects=True)
    entry = {"oauth": {"scope": "all"}}
    async with serving(server.app()) as root:
        servers = {"h": {"url": f"{root}/mcp", **entry}}
        async with session(servers, tmp_path, prepare=opening) as world:
            assert (await world.call("mcp_h_t")).output["content"] == "called"
            shown = world.told("mcp:authorization_required")
            assert [each["server"] for each in shown] == ["h"]
            assert shown[0]["url"].startswith(f"{root}/authorize?")
            messages = world.coordinator.display_system.messages
            assert "open this in a browser: http" in messages[0][0]
            assert server.registrations[0]["client_name"] == "Amplifier"
            assert token_path("h", f"{root}/mcp").is_file()
        async with session(servers, tmp_path) as world:
            assert (await world.call("mcp_h_t")).output["content"] == "called"
            assert world.told("mcp:authorization_required") == []
        # Tokens that the server does not know any more: the registered port is used again.
        server.tokens.clear()
        async with session(servers, tmp_path, prepare=opening) as world:
            assert (await world.call("mcp_h_t")).output["content"] == "called"
        assert len(server.registrations) == 1
        assert server.asked[0]["redirect_uri"] == server.asked[1]["redirect_uri"]


async def test_a_user_may_refuse(tmp_path: Path) -> None:
    """The server is not connected, for the reason that the authorization server gives, and nobody is asked again."""
    server = ScriptedHttpServer(protects=True, agrees=False)
    async with scripted_session(server, tmp_path, prepare=opening) as world:
        failed = world.told("mcp:server_failed")
        assert [each["error"] for each in failed] == ["the authorization was refused: access_denied"]
        assert failed[0]["will_retry"] is False


async def test_nobody_agrees_in_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A host without a browser has the URL in its log; what has become of it is told."""
    server = ScriptedHttpServer(protects=True)
    entry = {"oauth": {"timeout": 0.3}}

    def prepare(coordinator: TestCoordinator) -> None:
        coordinator.display_system = None

    async with scripted_session(server, tmp_path, entry, prepare=prepare) as world:
        problem = "nobody has agreed within 0.3 s; start the session anew and open the URL it tells"
        assert [each["error"] for each in world.told("mcp:server_failed")] == [problem]
        assert "The MCP server 'h' wants you to agree; open this in a browser: http://" in caplog.text


async def test_registrations_that_the_user_has_written_down(tmp_path: Path) -> None:
    """A client id of the user's is used, on the port that goes with it; a browser may be opened by plain functions."""
    server, port = ScriptedHttpServer(protects=True), free_port()
    opened: list[str] = []

    def prepare(coordinator: TestCoordinator) -> None:
        def open_url(url: str) -> None:
            opened.append(url)
            tasks.append(asyncio.ensure_future(browse(url)))

        coordinator.register_capability("mcp.open_url", open_url)

    tasks: list[Any] = []
    entry = {"oauth": {"client_id": "mine", "redirect_port": port}}
    async with scripted_session(server, tmp_path, entry, prepare=prepare) as world:
        assert (await world.call("mcp_h_t")).output["content"] == "called"
        assert (server.registrations, server.asked[0]["client_id"]) == ([], "mine")
        assert server.asked[0]["redirect_uri"] == f"http://127.0.0.1:{port}/callback"
        assert len(opened) == 1
    await asyncio.gather(*tasks)


async def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    """The way back for the browser must be free."""
    port = free_port()
    async with callback_page(port):
        server, entry = ScriptedHttpServer(protects=True), {"oauth": {"redirect_port": port, "client_id": "mine"}}
        async with scripted_session(server, tmp_path, {**entry}, prepare=opening) as world:
            assert f"port {port} of this machine" in world.told("mcp:server_failed")[0]["error"]


@pytest.mark.parametrize("kind", ["secret", "key"])
async def test_clients_with_credentials_of_their_own(kind: str, tmp_path: Path) -> None:
    """Nobody is asked: the client proves itself with a secret, or with a signature."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(*encoding).decode()
    proof = {"client_secret": "hush-hush"} if kind == "secret" else {"private_key": key}
    server = ScriptedHttpServer(protects=True)
    async with serving(server.app()) as root:
        oauth = {"grant": "client_credentials", "client_id": "robot", "issuer": root, **proof}
        async with session({"h": {"url": f"{root}/mcp", "oauth": oauth}}, tmp_path) as world:
            assert (await world.call("mcp_h_t")).output["content"] == "called"
    assert server.token_requests[0]["grant_type"] == "client_credentials"
    assert ("client_assertion" in server.token_requests[0]) == (kind == "key")


# What a connection makes of events and errors


class Subscriptions:
    """A client whose subscription is lost a number of times."""

    def __init__(self, losses: int) -> None:
        able = SimpleNamespace(list_changed=True)
        self.server_capabilities = SimpleNamespace(tools=able, prompts=None, resources=None)
        self.losses = losses
        self.asked = 0

    @contextlib.asynccontextmanager
    async def listen(self, **wanted: bool) -> AsyncIterator[Any]:
        from mcp.client.subscriptions import SubscriptionLost

        self.asked += 1
        if self.asked <= self.losses:
            raise SubscriptionLost

        async def events() -> AsyncIterator[str]:
            yield "changed"

        yield events()


@pytest.mark.parametrize(("losses", "asked"), [(0, 1), (1, 2), (9, 5)])
async def test_a_lost_subscription_is_renewed(losses: int, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each loss there is a pause, and everything is listed anew; a server that never keeps one is left alone."""
    monkeypatch.setattr(connection, "_RELISTEN_S", (0.0,) * 4)
    client: Any = Subscriptions(losses)
    changed = asyncio.Event()
    await Connection(client, asyncio.Event(), changed, Statuses()).listen()
    assert client.asked == asked
    assert changed.is_set()


async def test_a_server_without_changes_is_not_listened_to() -> None:
    """Nothing is asked of a server that has said that it never changes."""
    client: Any = Subscriptions(0)
    client.server_capabilities = SimpleNamespace(tools=None, prompts=None, resources=None)
    await Connection(client, asyncio.Event(), asyncio.Event(), Statuses()).listen()
    assert client.asked == 0


async def test_endless_lists_are_cut() -> None:
    """A server that has always one more page gets no more than so many questions, and a list no longer than it may."""

    async def page(cursor: str | None) -> Any:
        return SimpleNamespace(tools=[1], next_cursor="more")

    async def large(cursor: str | None) -> Any:
        return SimpleNamespace(tools=[1] * 5_000, next_cursor="more")

    assert len(await connection._all(page, "tools")) == 50
    assert len(await connection._all(large, "tools")) == 1_000


def test_errors_are_told_in_our_words() -> None:
    """Groups are looked into, and each kind of failure has its own name."""
    from mcp.client.auth import OAuthFlowError
    from mcp.shared.exceptions import MCPError

    assert isinstance(told_error(OAuthFlowError("x")), AuthorizationError)
    assert isinstance(told_error(MCPError(code=-32001, message="late")), TimedOutError)
    told = told_error(ExceptionGroup("a", [ExceptionGroup("b", [ValueError("c")])]))
    assert (type(told), str(told)) == (UnreachableError, "ValueError: c")

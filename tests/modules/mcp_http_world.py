"""MCP servers over HTTP for tests, on loopback and in this process; one of them is told how to misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route


@contextlib.asynccontextmanager
async def serving(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Serves an application as long as the block runs; gives the URL of its root."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", ws="none"))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup()
    address = server.servers[0].sockets[0].getsockname()
    ticking = asyncio.create_task(server.main_loop())
    try:
        yield f"http://127.0.0.1:{address[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await ticking
        await server.shutdown()


async def browse(url: str) -> None:
    """What a browser does with the page of an authorization server that agrees at once."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        (await browser.get(url)).raise_for_status()


@dataclass
class ScriptedHttpServer:
    """A server of the 2025-11-25 protocol that answers with JSON; what it does next is set from outside.

    It is its own authorization server, too.
    """

    refusal: Response | None = None
    """Answers every message."""
    protects: bool = False
    """Whether it wants a token."""
    agrees: bool = True
    """Whether its authorization page does."""
    sessions: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    registrations: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    token_requests: list[dict[str, str]] = field(default_factory=list)
    is_deaf: bool = False
    """Whether it does not answer those who say good-bye."""
    farewells: int = 0
    answer: Any = None
    """What the tool answers, in place of its name."""

    def app(self) -> Starlette:
        """The application to serve."""
        return Starlette(
            routes=[
                Route("/mcp", self._message, methods=["POST"]),
                Route("/mcp", self._end, methods=["DELETE"]),
                Route("/.well-known/oauth-protected-resource/mcp", self._about_resource),
                Route("/.well-known/oauth-authorization-server", self._about_authorization),
                Route("/register", self._register, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

    async def _message(self, request: Request) -> Response:
        message = json.loads(await request.body())
        if self.refusal is not None:
            return self.refusal
        if self.protects and request.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        method, number = message["method"], message.get("id")
        if method == "initialize":
            self.sessions.add(f"session-{len(self.sessions)}")
            able = {"tools": {}}
            about = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "h", "version": "1"}}
            return _answer(number, about, {"mcp-session-id": max(self.sessions)})
        if method == "server/discover":
            return JSONResponse({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "?"}})
        if request.headers.get("mcp-session-id") not in self.sessions:
            return Response(status_code=404)
        return self._in_session(method, number)

    def _in_session(self, method: str, number: Any) -> Response:
        if method == "tools/list":
            return _answer(number, {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
        if method == "tools/call":
            self.calls.append(method)
            return _answer(number, {"content": [{"type": "text", "text": self.answer or "called"}]})
        return Response(status_code=202)

    async def _end(self, request: Request) -> Response:
        if self.is_deaf:
            self.farewells += 1
            await asyncio.sleep(60)
        self.sessions.discard(request.headers.get("mcp-session-id", ""))
        return Response(status_code=204)

    async def _about_resource(self, request: Request) -> Response:
        root = str(request.base_url).rstrip("/")
        return JSONResponse({"resource": f"{root}/mcp", "authorization_servers": [root]})

    async def _about_authorization(self, request: Request) -> Response:
        root = str(request.base_url).rstrip("/")
        return JSONResponse(
            {
                "issuer": root,
                "authorization_endpoint": f"{root}/authorize",
                "token_endpoint": f"{root}/token",
                "registration_endpoint": f"{root}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "none", "private_key_jwt"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def _register(self, request: Request) -> Response:
        self.registrations.append(json.loads(await request.body()))
        return JSONResponse({**self.registrations[-1], "client_id": "registered"}, status_code=201)

    async def _authorize(self, request: Request) -> Response:
        self.asked.append(dict(request.query_params))
        told = {"code": "a-code"} if self.agrees else {"error": "access_denied"}
        back = urlencode({**told, "state": request.query_params["state"]})
        return RedirectResponse(f"{request.query_params['redirect_uri']}?{back}")

    async def _token(self, request: Request) -> Response:
        asked = parse_qs((await request.body()).decode())
        self.token_requests.append({key: values[0] for key, values in asked.items()})
        self.tokens.add(token := f"token-{len(self.tokens)}")
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600})


def _answer(number: Any, result: Any, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": number, "result": result}, headers=headers)

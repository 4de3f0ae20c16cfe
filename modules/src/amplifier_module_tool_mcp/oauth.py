"""OAuth for servers over HTTP: the SDK knows the protocol; here are the person, the browser and the way back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from amplifier_module_tool_mcp.callback_page import HOST, PATH, Returned, callback_page, free_port
from amplifier_module_tool_mcp.clock import PatientClock
from amplifier_module_tool_mcp.entries import OAuthEntry
from amplifier_module_tool_mcp.errors import AuthorizationError
from amplifier_module_tool_mcp.plans import ServerPlan
from amplifier_module_tool_mcp.tokens import TokenFile, token_path

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import AuthorizationCodeResult
    from mcp.shared.auth import OAuthClientInformationFull

AskToOpen = Callable[[str], Awaitable[None]]
"""Asks the user to open a URL."""

_CLIENT_NAME = "Amplifier"


class Consent:
    """A person's consent, while the browser is away; for one connection.

    The clock of the connection stands still meanwhile: people are slower than servers.
    """

    def __init__(self, port: int, limit_s: float, ask_to_open: AskToOpen, clock: PatientClock) -> None:
        self._port = port
        self._limit_s = limit_s
        self._ask_to_open = ask_to_open
        self._clock = clock
        self._page = contextlib.AsyncExitStack()
        self._arrived: asyncio.Future[Returned] | None = None

    async def begin(self, url: str) -> None:
        """Listens for the browser, and asks the user to open ``url``."""
        self._clock.pause()
        self._arrived = await self._page.enter_async_context(callback_page(self._port))
        await self._ask_to_open(url)

    async def result(self) -> AuthorizationCodeResult:
        """What came back; raises ``AuthorizationError`` for a refusal, and when nobody comes."""
        from mcp.client.auth import AuthorizationCodeResult

        assert self._arrived is not None
        async with self._page:
            try:
                async with asyncio.timeout(self._limit_s):
                    returned = await self._arrived
            except TimeoutError:
                raise AuthorizationError(
                    f"nobody has agreed within {self._limit_s:g} s; start the session anew and open the URL it tells"
                ) from None
        self._clock.resume()
        return AuthorizationCodeResult(code=returned.code, state=returned.state, iss=returned.iss)


async def authentication(plan: ServerPlan, ask_to_open: AskToOpen, clock: PatientClock) -> httpx2.Auth | None:
    """Who we say we are to a server, if it asks; ``None`` where the plan wants no OAuth."""
    if plan.oauth is None:
        return None
    if plan.oauth.grant == "client_credentials":
        return _with_credentials(plan, plan.oauth)
    return await _with_consent(plan, plan.oauth, ask_to_open, clock)


async def _with_consent(
    plan: ServerPlan, entry: OAuthEntry, ask_to_open: AskToOpen, clock: PatientClock
) -> httpx2.Auth:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    storage = TokenFile(token_path(plan.name, plan.url))
    known = await storage.get_client_info()
    # Servers compare addresses to the letter, so a registered port is used again.
    port = entry.redirect_port or _port_in(known) or free_port()
    redirect = f"http://{HOST}:{port}{PATH}"
    metadata: dict[str, Any] = {"redirect_uris": [redirect], "scope": entry.scope}
    if entry.client_id is not None:
        storage = TokenFile(token_path(plan.name, plan.url), _registration(entry, redirect))
    consent = Consent(port, entry.timeout, ask_to_open, clock)
    return OAuthClientProvider(
        plan.url,
        OAuthClientMetadata.model_validate({**metadata, "client_name": _CLIENT_NAME}),
        storage,
        redirect_handler=consent.begin,
        callback_handler=consent.result,
        client_metadata_url=entry.client_metadata_url,
    )


def _with_credentials(plan: ServerPlan, entry: OAuthEntry) -> httpx2.Auth:
    from mcp.client.auth.extensions.client_credentials import (
        ClientCredentialsOAuthProvider,
        PrivateKeyJWTOAuthProvider,
        SignedJWTParameters,
    )

    storage, client_id = TokenFile(token_path(plan.name, plan.url)), entry.client_id or ""
    if entry.private_key is None:
        return ClientCredentialsOAuthProvider(
            plan.url,
            storage,
            client_id,
            entry.client_secret or "",
            token_endpoint_auth_method=entry.token_endpoint_auth_method,
            scope=entry.scope,
            issuer=entry.issuer,
        )
    signing = SignedJWTParameters(
        issuer=client_id, subject=client_id, signing_key=entry.private_key, signing_algorithm=entry.signing_algorithm
    )
    return PrivateKeyJWTOAuthProvider(
        plan.url, storage, client_id, signing.create_assertion_provider(), scope=entry.scope, issuer=entry.issuer
    )


def _registration(entry: OAuthEntry, redirect: str) -> OAuthClientInformationFull:
    from mcp.shared.auth import OAuthClientInformationFull

    method = "none" if entry.client_secret is None else entry.token_endpoint_auth_method
    return OAuthClientInformationFull.model_validate(
        {
            "client_id": entry.client_id,
            "client_secret": entry.client_secret,
            "redirect_uris": [redirect],
            "token_endpoint_auth_method": method,
            "issuer": entry.issuer,
        }
    )


def _port_in(known: OAuthClientInformationFull | None) -> int | None:
    addresses = known.redirect_uris if known is not None else None
    return urlsplit(str(addresses[0])).port if addresses else None

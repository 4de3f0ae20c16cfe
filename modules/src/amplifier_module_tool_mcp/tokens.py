"""What authorization servers have given us, in a file per MCP server that only the user can read."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from amplifier_modkit.locations import amplifier_home

if TYPE_CHECKING:
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_FOR_THE_USER_ALONE = 0o700
_MOST_NAME_CHARS = 60


def token_path(server: str, url: str) -> Path:
    """The file of a server; another address is another server."""
    digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return amplifier_home() / "mcp-auth" / f"{_UNSAFE.sub('_', server)[:_MOST_NAME_CHARS]}-{digest}.json"


class TokenFile:
    """The tokens for one server, and how this client is registered there: a ``TokenStorage`` of the SDK.

    ``registered`` is a registration that the user has written down, which is used in place of one that was made.
    """

    def __init__(self, path: Path, registered: OAuthClientInformationFull | None = None) -> None:
        self._path = path
        self._registered = registered

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, as far as they can be read."""
        from mcp.shared.auth import OAuthToken

        return _as_model(OAuthToken, (await self._read()).get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keeps the tokens."""
        await self._change("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """How this client is registered."""
        from mcp.shared.auth import OAuthClientInformationFull

        return self._registered or _as_model(OAuthClientInformationFull, (await self._read()).get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps the registration."""
        await self._change("client", client_info.model_dump(mode="json", exclude_none=True))

    async def _read(self) -> dict[str, Any]:
        return await asyncio.to_thread(_read, self._path)

    async def _change(self, key: str, value: Any) -> None:
        await asyncio.to_thread(_write, self._path, {**await self._read(), key: value})


def _as_model(model: Any, data: Any) -> Any:
    # Whatever cannot be read is asked for anew.
    try:
        return model.model_validate(data)
    except ValueError:
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replaces the file as a whole; the file that takes its place is the user's alone from the beginning."""
    path.parent.mkdir(mode=_FOR_THE_USER_ALONE, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as target:
            json.dump(content, target)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise

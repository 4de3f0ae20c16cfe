"""Servers as they are going to be used: what is written about them, checked, with its variables filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from amplifier_module_tool_mcp.entries import OAuthEntry, ServerEntry
from amplifier_module_tool_mcp.errors import InvalidEntryError
from amplifier_module_tool_mcp.texts import Mask
from amplifier_module_tool_mcp.variables import expanded

_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """One server, ready to be connected to; what may be secret is not part of its ``repr``."""

    name: str
    transport: Literal["stdio", "http"]
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: OAuthEntry | None = field(default=None, repr=False)
    timeout_s: float | None = None
    trusts_annotations: bool = False
    mask: Mask = field(default_factory=Mask, repr=False, compare=False)


def is_disabled(raw: Any) -> bool:
    """Whether an entry says that its server is not to be used."""
    return isinstance(raw, Mapping) and raw.get("disabled") is True  # pyright: ignore[reportUnknownMemberType]


def to_plan(name: str, raw: Any, environment: Mapping[str, str], working_dir: Path) -> ServerPlan:
    """The plan for a server; raises ``InvalidEntryError`` with what has to be put right, and no values."""
    try:
        entry = ServerEntry.model_validate(raw)
    except ValidationError as error:
        raise InvalidEntryError(_told(error)) from None
    filling = _Filling(environment)
    if entry.command is not None and entry.url is None:
        return _stdio_plan(name, entry, filling, working_dir)
    if entry.url is not None and entry.command is None:
        return _http_plan(name, entry, filling)
    raise InvalidEntryError("expected either a 'command' to start or a 'url' to ask")


class _Filling:
    """Fills in variables, and remembers what must not be shown afterwards."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._secrets: list[str] = []

    def text(self, text: str) -> str:
        filled, values = expanded(text, self._environment)
        self._secrets += values
        return filled

    def secrets(self, texts: Mapping[str, str]) -> dict[str, str]:
        filled = {key: self.text(text) for key, text in texts.items()}
        self._secrets += filled.values()
        # "Bearer abc" is a secret because of its last word.
        self._secrets += [text.rpartition(" ")[2] for text in filled.values()]
        return filled

    def secret(self, text: str | None) -> str | None:
        return None if text is None else self.secrets({"": text})[""]

    def mask(self) -> Mask:
        return Mask(self._secrets)


def _stdio_plan(name: str, entry: ServerEntry, filling: _Filling, working_dir: Path) -> ServerPlan:
    if entry.type not in (None, "stdio"):
        raise InvalidEntryError(f"a server of type '{entry.type}' has a 'url', and no 'command'")
    # One that is written as it is in a file is no secret between us and the log; headers and env are, in any case.
    command, args = filling.text(entry.command or ""), tuple(map(filling.text, entry.args))
    env = filling.secrets(entry.env)
    cwd = working_dir / Path(filling.text(entry.cwd or "")).expanduser()
    return ServerPlan(
        name,
        "stdio",
        command=command,
        args=args,
        env=env,
        cwd=cwd,
        timeout_s=entry.timeout,
        trusts_annotations=entry.trust_annotations,
        mask=filling.mask(),
    )


def _http_plan(name: str, entry: ServerEntry, filling: _Filling) -> ServerPlan:
    if entry.type == "sse":
        raise InvalidEntryError("the transport 'sse' has been given up by MCP; use the server's 'http' address")
    if entry.type == "stdio":
        raise InvalidEntryError("a server of type 'stdio' has a 'command', and no 'url'")
    url, headers = filling.text(entry.url or ""), filling.secrets(entry.headers)
    if not url.startswith(_SCHEMES):
        raise InvalidEntryError("'url' must begin with http:// or https://")
    return ServerPlan(
        name,
        "http",
        url=url,
        headers=headers,
        oauth=_oauth(entry, filling),
        timeout_s=entry.timeout,
        trusts_annotations=entry.trust_annotations,
        mask=filling.mask(),
    )


def _oauth(entry: ServerEntry, filling: _Filling) -> OAuthEntry | None:
    # Whoever gives a token of their own wants no other.
    if entry.oauth is False or "authorization" in map(str.lower, entry.headers):
        return None
    written = entry.oauth
    if written.grant == "client_credentials":
        if written.client_id is None or written.issuer is None:
            raise InvalidEntryError("'oauth' for client_credentials needs 'client_id' and 'issuer'")
        if (written.client_secret is None) == (written.private_key is None):
            raise InvalidEntryError("'oauth' for client_credentials needs a 'client_secret' or a 'private_key'")
    return written.model_copy(
        update={
            "client_id": filling.secret(written.client_id),
            "client_secret": filling.secret(written.client_secret),
            "private_key": filling.secret(written.private_key),
        }
    )


def _told(error: ValidationError) -> str:
    """What is wrong, where, and nothing of the values."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the entry'}: {each['msg']}"
        for each in error.errors(include_input=False, include_url=False, include_context=False)
    )

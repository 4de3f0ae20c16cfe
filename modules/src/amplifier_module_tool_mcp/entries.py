"""What is written about one server, in a plan or in a file: the form that ``.mcp.json`` files have everywhere.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class OAuthEntry(BaseModel):
    """How to say who is there, for servers over HTTP; without it, the server tells all that is needed."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    """Whether a person is asked, or the client itself has credentials."""
    client_id: str | None = None
    client_secret: str | None = None
    scope: str | None = None
    issuer: str | None = None
    """The authorization server that the credentials are for; they go nowhere else."""
    private_key: str | None = None
    """A key in PEM form that signs for the client, in place of a secret."""
    signing_algorithm: str = "ES256"
    token_endpoint_auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"
    client_metadata_url: str | None = None
    """Where a document about this client is, for servers that accept its address as the client's id."""
    redirect_port: int = Field(default=0, ge=0, le=65535)
    """The port on this machine that the browser comes back to; 0 is any."""
    timeout: float = Field(default=300.0, gt=0)
    """Seconds that a person has to agree."""


class ServerEntry(BaseModel):
    """One server: a command to start, or a URL to ask. Keys that other agents know and we do not are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    type: Literal["stdio", "http", "streamable-http", "streamable_http", "sse"] | None = None
    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default={})
    cwd: str | None = None
    """Where the command is started; relative to the working directory, which it is without it."""
    url: str | None = Field(default=None, min_length=1)
    headers: dict[str, str] = Field(default={})
    oauth: OAuthEntry | Literal[False] = OAuthEntry()
    disabled: bool = False
    timeout: float | None = Field(default=None, gt=0)
    """Seconds that one call may take, in place of ``call_timeout``."""
    trust_annotations: bool = False
    """Whether to believe the server which of its tools only read."""

"""The config of the module: servers, limits, and how much of it the model is told.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from amplifier_modkit.locations import amplifier_home
from amplifier_modkit.module_config import ModuleConfig

_VERBOSE = "AMPLIFIER_MCP_VERBOSE"
_NO = ("", "0", "false", "no", "off")


class Visibility(BaseModel):
    """Whether and how the model is told which servers there are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    inject_role: Literal["system", "user", "assistant"] = "user"
    max_servers_visible: int = Field(default=50, ge=1)
    ephemeral: bool = True
    priority: int = 20


class McpConfig(ModuleConfig):
    """Every key with its default. Entries of servers are checked one by one, so that a wrong one costs nobody else."""

    model_config = ConfigDict(hide_input_in_errors=True)

    servers: dict[str, Any] = Field(default={})
    """Servers by name: ``command``, ``args``, ``env``, or ``url`` and ``headers``."""
    verbose_servers: bool | None = None
    """Whether what servers write to stderr is logged as well; without it, AMPLIFIER_MCP_VERBOSE decides."""
    server_log_dir: str | None = None
    """Where the stderr of servers goes; without it, ``logs/mcp-servers`` in the user's folder."""
    max_log_bytes: int = Field(default=1_000_000, ge=1_000)
    """The size of one server's log; one earlier file is kept beside it."""
    max_content_size: int = Field(default=50_000, ge=100)
    """Characters of text that one result may have."""
    max_message_bytes: int = Field(default=16_000_000, ge=10_000)
    """The largest message that is taken from a server."""
    visibility: Visibility = Visibility()
    project_servers: Literal["ask", "allow", "ignore"] = "ask"
    """What to do with servers that files of the project bring along."""
    startup_wait: float = Field(default=5.0, ge=0)
    """Seconds that the first turn waits for servers that are still connecting."""
    connect_timeout: float = Field(default=30.0, gt=0)
    """Seconds that a server has to start and to say what it offers."""
    call_timeout: float = Field(default=300.0, gt=0)
    """Seconds that one call may take."""
    sampling: bool = False
    """Whether servers may ask the session's model; it costs the user's tokens."""

    @property
    def is_verbose(self) -> bool:
        """Whether what servers write to stderr is logged as well."""
        if self.verbose_servers is None:
            return os.environ.get(_VERBOSE, "").lower() not in _NO
        return self.verbose_servers

    @property
    def log_dir(self) -> Path:
        """The folder of the servers' logs."""
        if self.server_log_dir is None:
            return amplifier_home() / "logs" / "mcp-servers"
        return Path(self.server_log_dir).expanduser()

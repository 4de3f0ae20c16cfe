"""The events of the module."""

from __future__ import annotations

SERVER_READY = "mcp:server_ready"
SERVER_FAILED = "mcp:server_failed"
TOOLS_CHANGED = "mcp:tools_changed"
PROGRESS = "mcp:progress"
AUTHORIZATION_REQUIRED = "mcp:authorization_required"

EVENTS = (SERVER_READY, SERVER_FAILED, TOOLS_CHANGED, PROGRESS, AUTHORIZATION_REQUIRED)

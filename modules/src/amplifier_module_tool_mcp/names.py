"""The names under which models call what servers offer: ``mcp_<server>_<tool>``, safe for every provider, and unique.

A name depends on the servers and the tool alone, never on who connects first: what was allowed for one tool must not
be for another one in the next session.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MOST_CHARS = 64
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_CHARS = 8


class NameBook:
    """Names the tools of a session's servers."""

    def __init__(self, servers: Iterable[str]) -> None:
        prefixes = {server: _prefix(server) for server in servers}
        # The tool "b_c" of server "a" must not be called like the tool "c" of server "a_b".
        self._ambiguous = {
            server
            for server, prefix in prefixes.items()
            if any(other != server and prefix.startswith(theirs) for other, theirs in prefixes.items())
        }

    def name_of(self, server: str, tool: str, *, is_taken: bool = False) -> str:
        """The name of a tool; with ``is_taken`` another one, for when something else is called like that."""
        plain = f"mcp_{server}_{tool}"
        safe = _UNSAFE.sub("_", plain)
        if safe == plain and len(safe) <= MOST_CHARS and server not in self._ambiguous and not is_taken:
            return safe
        # Lone surrogates may be part of a str.
        whole = f"{server}\0{tool}\0{is_taken}".encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(whole).hexdigest()[:_DIGEST_CHARS]
        return f"{safe[: MOST_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def _prefix(server: str) -> str:
    return _UNSAFE.sub("_", f"mcp_{server}_")

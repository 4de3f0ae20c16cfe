"""Where other people's code comes from: addresses, a cache by content, and a lock that pins every byte."""

from __future__ import annotations

from amplifier.sources.lock_file import Pin, lock_path, read_lock, write_lock
from amplifier.sources.resolver import SourceResolver, sources_in
from amplifier.sources.sources import Found, Sources

__all__ = ["Found", "Pin", "SourceResolver", "Sources", "lock_path", "read_lock", "sources_in", "write_lock"]

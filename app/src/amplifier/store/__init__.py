"""Stored sessions: one folder each, an index that can be made anew, and the documents in which they travel."""

from amplifier.store.checkpoints import Checkpoints
from amplifier.store.exporting import to_document, to_markdown
from amplifier.store.metadata import Metadata
from amplifier.store.store import SessionStore
from amplifier.store.stored import StoredSession

__all__ = ["Checkpoints", "Metadata", "SessionStore", "StoredSession", "to_document", "to_markdown"]

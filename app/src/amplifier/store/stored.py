"""One stored session: a folder with its transcript, its metadata and its event log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from amplifier.store import metadata as metadata_file
from amplifier.store.metadata import Metadata
from amplifier.store.transcript import Message, messages_of

TRANSCRIPT, EVENTS = "transcript.jsonl", "events.jsonl"


@dataclass(frozen=True)
class StoredSession:
    """A session on disk; looked at anew with each question, since a running session writes to it."""

    folder: Path

    @property
    def id(self) -> str:
        """Its id, which is the name of its folder."""
        return self.folder.name

    @property
    def transcript(self) -> Path:
        """The journal of its conversation."""
        return self.folder / TRANSCRIPT

    @property
    def events(self) -> Path:
        """The log of its events, where one is kept."""
        return self.folder / EVENTS

    @property
    def metadata_path(self) -> Path:
        """The file of its metadata."""
        return self.folder / metadata_file.FILE_NAME

    @cached_property
    def short_id(self) -> str:
        """What people see of the id; usually enough to find it again."""
        return self.id[:8]

    def metadata(self) -> Metadata:
        """What is known about it now."""
        return metadata_file.read(self.metadata_path) or Metadata(session_id=self.id)

    def update(self, **changes: Any) -> Metadata:
        """Changes some of its metadata."""
        return metadata_file.update(self.metadata_path, session_id=self.id, **changes)

    def messages(self) -> list[Message]:
        """Its conversation."""
        return messages_of(self.transcript)

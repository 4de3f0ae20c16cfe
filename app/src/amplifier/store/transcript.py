"""The transcript of a session: read from its journal, and written where the session's context does not do it itself.

The journal is JSON lines: a line with ``role`` is a message, one with ``record`` something else (``header``, ``clear``,
``compaction``, …), and anything else is passed over. ``context-persistent`` writes it; this is its reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from amplifier.problems import StorageProblem
from amplifier.store.appending import append_synced

VERSION = 1
Message = dict[str, Any]
IMAGE_TOKENS = 1_600
"""About what an image takes of a model's window, however long its encoding is."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a journal: its bytes as they are, and what they say, if they say anything."""

    raw: bytes
    record: dict[str, Any] | None

    @property
    def is_message(self) -> bool:
        """Whether it is part of the conversation, unless a later ``clear`` took it away."""
        return self.record is not None and "role" in self.record

    @property
    def is_clear(self) -> bool:
        """Whether what was said before it is no longer part of the conversation."""
        return self.record is not None and not self.is_message and self.record.get("record") == "clear"

    @property
    def begins_turn(self) -> bool:
        """Whether a user said it."""
        return self.is_message and self.record is not None and begins_turn(self.record)

    @property
    def is_header(self) -> bool:
        """Whether it tells of the file itself."""
        return self.record is not None and not self.is_message and self.record.get("record") == "header"


def lines_of(path: Path) -> Iterator[Line]:
    """The lines of a journal, none if there is no file; the last one may still be in the middle of being written."""
    try:
        with path.open("rb") as file:
            for raw in file:
                yield Line(raw, _record_in(raw))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageProblem(
            f"The transcript {path} cannot be read: {error.strerror}.", "Check who may read it."
        ) from None


def messages_of(path: Path) -> list[Message]:
    """The conversation: every message since the last ``clear``."""
    messages: list[Message] = []
    for line in lines_of(path):
        if line.is_clear:
            messages.clear()
        elif line.is_message and line.record is not None:
            messages.append(line.record)
    return messages


def begins_turn(message: Message) -> bool:
    """Whether a user said it, rather than a hook or the loop in the user's name."""
    metadata = message.get("metadata")
    source = cast("dict[str, Any]", metadata).get("source") if isinstance(metadata, dict) else None
    return message.get("role") == "user" and source not in ("hook", "orchestrator")


def turn_count(messages: Sequence[Message]) -> int:
    """How many times a user has said something."""
    return sum(1 for message in messages if begins_turn(message))


def text_of(message: Message) -> str:
    """What a message says in plain text; of blocks, those that are text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    texts = (cast("dict[str, Any]", block).get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def image_count(message: Message) -> int:
    """How many images a message shows."""
    content = message.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return sum(isinstance(block, dict) and cast("dict[str, Any]", block).get("type") == "image" for block in blocks)


def calls_in(message: Message) -> list[dict[str, Any]]:
    """The tool calls that a message lists."""
    calls = message.get("tool_calls")
    each = cast("list[Any]", calls) if isinstance(calls, list) else []
    return [cast("dict[str, Any]", call) for call in each if isinstance(call, dict)]


def append_missing(path: Path, session_id: str, created: str, messages: Sequence[Message]) -> int:
    """Writes the messages that the file does not have yet; gives how many. For contexts that keep nothing themselves.

    Messages that are there are taken for the first of ``messages``: conversations only grow.
    """
    known = messages_of(path)
    fresh = messages[len(known) :]
    if not fresh:
        return 0
    header = b"" if path.exists() else header_line(session_id, created)
    _append(path, header + b"".join(json.dumps(each, default=str).encode("ascii") + b"\n" for each in fresh))
    return len(fresh)


def header_line(session_id: str, created: str, **facts: Any) -> bytes:
    """The first line of a journal that is made here."""
    header = {"record": "header", "version": VERSION, "session_id": session_id, "created": created, **facts}
    return json.dumps(header).encode("ascii") + b"\n"


def _append(path: Path, data: bytes) -> None:
    try:
        append_synced(path, data)
    except OSError as error:
        raise StorageProblem(
            f"The transcript {path} cannot be written: {error.strerror}.",
            "Make room on the disk, or choose another place with AMPLIFIER_HOME.",
        ) from None


def _record_in(raw: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(raw)
    except ValueError:
        return None
    return cast("dict[str, Any]", record) if isinstance(record, dict) else None

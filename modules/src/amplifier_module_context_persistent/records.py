"""What the lines of a journal say: messages as they are, and between them records of what happened to them.

A line with ``role`` is a message. A line with ``record`` and without ``role`` is one of ours: ``header``, ``clear`` or
``compaction``; kinds that are not known here are passed over. Data in, data out: files are not touched.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from amplifier_core.utils.jsonable import to_jsonable

VERSION = 1
"""The format that is written here. Kinds of records may be added without raising it."""

Record = dict[str, Any]

_to_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
# Legal inside JSON and line ends for some readers of text.
_UNICODE_LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def header(session_id: str, created: str) -> Record:
    """The first record of a journal."""
    return {"record": "header", "version": VERSION, "session_id": session_id, "created": created}


def clear() -> Record:
    """The record after which the conversation begins anew."""
    return {"record": "clear"}


def compaction(plan: Record, message_count: int) -> Record:
    """The record of a compaction, written when the conversation had ``message_count`` messages."""
    return {"record": "compaction", "messages": message_count, "plan": plan}


def to_line(record: Record) -> bytes:
    """A record as one line of UTF-8; whatever JSON cannot say becomes text."""
    try:
        text = _to_text(record)
    except (TypeError, ValueError, RecursionError):
        text = _to_text(to_jsonable(record))
    if not text.isascii():
        for character, escaped in _UNICODE_LINE_ENDS.items():
            text = text.replace(character, escaped)
    # A lone surrogate is in no encoding. Its backslash form happens to be the way JSON writes it.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def from_line(line: bytes) -> Record | None:
    """The record in a line, ``None`` if there is none in it."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return _as_record(value)


def _as_record(value: Any) -> Record | None:
    if not isinstance(value, dict):
        return None
    record = cast("Record", value)
    kind = record.get("role") if "role" in record else record.get("record")
    return record if isinstance(kind, str) else None


@dataclass(slots=True)
class Transcript:
    """What a journal says, line by line: the messages since the last ``clear`` and the plan of their compaction."""

    messages: list[Record] = field(default_factory=list[Record])
    plan: Record | None = None
    unreadable: list[int] = field(default_factory=list[int])
    """The numbers of the lines that are no records."""
    version: int | None = None
    """What the header says; ``None`` without one."""
    line_count: int = 0

    def take(self, line: bytes) -> None:
        """Reads the next line; one that is no record is noted and left out."""
        self.line_count += 1
        if self.line_count == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        record = from_line(line)
        if record is not None:
            self._apply(record)
        elif line.strip():
            self.unreadable.append(self.line_count)

    def _apply(self, record: Record) -> None:
        if "role" in record:
            self.messages.append(record)
            return
        match record["record"]:
            case "header":
                self.version = version if isinstance(version := record.get("version"), int) else VERSION
            case "clear":
                self.messages, self.plan = [], None
            case "compaction":
                self._apply_compaction(record)
            case _:
                pass

    def _apply_compaction(self, record: Record) -> None:
        plan = record.get("plan")
        # A plan names messages by number. If more or fewer were there than can be read now, the numbers mean others.
        is_of_these = isinstance(plan, dict) and record.get("messages") == len(self.messages)
        self.plan = cast("Record", plan) if is_of_these else None

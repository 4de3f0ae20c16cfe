"""A session as one document: to hand it on, to read it, and to take it in again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from amplifier.problems import SessionProblem
from amplifier.store.metadata import Metadata
from amplifier.store.stored import StoredSession
from amplifier.store.transcript import Message, calls_in, text_of

FORMAT = "amplifier-session"
VERSION = 1
Redact = Callable[[Any], Any]
# These say where a session was on the machine it comes from, which is of no use on another one.
_LOCAL_KEYS = ("overrides",)
_TITLES = {
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool result",
    "system": "System",
    "developer": "Developer",
}
_FENCE = "```"


def to_document(session: StoredSession, redact: Redact | None = None) -> dict[str, Any]:
    """The session as JSON data; with ``redact``, without the secrets in it."""
    metadata = {key: value for key, value in session.metadata().to_dict().items() if key not in _LOCAL_KEYS}
    document = {"format": FORMAT, "version": VERSION, "metadata": metadata, "messages": session.messages()}
    return (
        document if redact is None else {**document, **redact({"metadata": metadata, "messages": session.messages()})}
    )


def to_markdown(session: StoredSession, redact: Redact | None = None) -> str:
    """The conversation to be read by people."""
    document = to_document(session, redact)
    about = document["metadata"]
    lines = [f"# {about.get('name') or session.id}", ""]
    keys = ("session_id", "created", "working_dir", "bundle", "provider", "model")
    lines += [f"- {key.replace('_', ' ')}: {about[key]}" for key in keys if about.get(key)]
    for message in document["messages"]:
        lines += ["", f"## {_TITLES.get(message['role'], message['role'])}", "", *_body(message)]
    return "\n".join(lines) + "\n"


def read_document(text: str, source: str) -> tuple[Metadata, list[Message]]:
    """The session in a document; raises ``SessionProblem`` for anything else."""
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise SessionProblem(f"{source} is no JSON: {error}.", "Export with: amplifier session export ID") from None
    document = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if document.get("format") != FORMAT:
        raise SessionProblem(
            f"{source} is no exported session: expected 'format' to be '{FORMAT}'.",
            "Export with: amplifier session export ID",
        )
    if document.get("version") != VERSION:
        raise SessionProblem(
            f"{source} has version {document.get('version')!r} of the format; this command reads {VERSION}.",
            "Export it again, or use a newer amplifier.",
        )
    metadata, messages = document.get("metadata"), document.get("messages")
    if not isinstance(metadata, dict) or not _are_messages(messages):
        raise SessionProblem(f"{source} has no messages that can be read.", "Export it again.")
    return Metadata.from_dict(cast("dict[str, Any]", metadata)), cast("list[Message]", messages)


def _are_messages(value: Any) -> bool:
    each = cast("list[Any]", value) if isinstance(value, list) else [None]
    return all(isinstance(one, dict) and isinstance(cast("dict[str, Any]", one).get("role"), str) for one in each)


def _body(message: Message) -> list[str]:
    text = text_of(message)
    told = [_call(each) for each in calls_in(message)]
    if message.get("role") == "tool":
        fence = _FENCE + "`" * text.count(_FENCE)
        return [fence, text, fence]
    return [*([text] if text else []), *told] or ["(nothing)"]


def _call(call: dict[str, Any]) -> str:
    arguments = json.dumps(call.get("arguments", {}), ensure_ascii=False, default=str)
    return f"- calls `{call.get('name')}` with `{arguments}`"

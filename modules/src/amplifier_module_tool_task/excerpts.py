"""The parent's conversation as text for a child: what was said, without tools and thoughts, and not too much of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.messages import Message, plain, text_of

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_MOST_MESSAGE_CHARS = 2_000
_MOST_CHARS = 60_000


def with_conversation(instruction: str, messages: Sequence[Any], turns: int | None) -> str:
    """``instruction`` behind what was said in the last ``turns`` turns, or in all of them.

    A turn begins with what the user says. Where the whole is too long the oldest goes.
    """
    said = _said([plain(message) for message in messages], turns)
    if not said:
        return instruction
    told = "\n\n".join(said)
    return (
        f"The conversation that your task comes from, for information:\n\n{told}\n\n---\n\nYour task:\n\n{instruction}"
    )


def _said(messages: list[Message], turns: int | None) -> list[str]:
    """What was said, oldest first."""
    said: list[str] = []
    room, left = _MOST_CHARS, turns
    for message in reversed(messages):
        text = text_of(message.get("content")).strip()
        speaker = _SPEAKERS.get(str(message.get("role")))
        if speaker is None or not text or _is_of_a_machine(message):
            continue
        line = f"{speaker}: {clip_chars(text, _MOST_MESSAGE_CHARS)}"
        room -= len(line)
        if room < 0:
            break
        said.append(line)
        if speaker == "User" and left is not None:
            left -= 1
            if left == 0:
                break
    return said[::-1]


def _is_of_a_machine(message: Message) -> bool:
    """Whether a hook or a loop has put the message there."""
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and "source" in metadata

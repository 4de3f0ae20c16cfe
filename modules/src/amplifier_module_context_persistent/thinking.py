"""Thinking that no provider takes back: blocks that lost, or never had, what proves where they come from."""

from __future__ import annotations

from typing import Any, cast

from amplifier_modkit.messages import Message, blocks_of

# What goes back to a provider unchanged: a signature, encrypted data, or a provider's own state in the content.
_PROOFS = {"thinking": ("signature", "content"), "redacted_thinking": ("data",)}
_PLACEHOLDER = {"type": "text", "text": "[Thinking is left out.]"}


def without_loose_thinking(message: Message) -> Message:
    """``message`` without thinking that cannot be sent back; itself if there is none.

    A message that says nothing else says that, since providers refuse empty ones.
    """
    content = message.get("content")
    if not any(map(_is_loose, blocks_of(content))):
        return message
    kept = [block for block in cast("list[Any]", content) if not _is_loose(block)]
    return {**message, "content": kept if kept or message.get("tool_calls") else [_PLACEHOLDER]}


def _is_loose(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    entries = cast("dict[str, Any]", block)
    proofs = _PROOFS.get(str(entries.get("type")))
    return proofs is not None and not any(entries.get(key) for key in proofs)

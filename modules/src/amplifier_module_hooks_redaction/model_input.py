"""The messages that a model gets, with masks in the place of secrets.

What the model has thought is left as it is: providers refuse thoughts that were changed. So are images: what looks
like a secret in their encoding is none, and with a mask in it an image is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel

_LEFT_ALONE = frozenset({"thinking", "redacted_thinking", "reasoning", "image"})


def masked_messages(messages: Any, redact: Callable[[Any], Any]) -> Any:
    """``messages`` with their secrets masked; the very same if there are none, or if it is no list."""
    if not isinstance(messages, list):
        return messages
    given = cast("list[Any]", messages)
    shown = [_masked(message, redact) for message in given]
    return given if all(new is old for new, old in zip(shown, given, strict=True)) else shown


def _masked(message: Any, redact: Callable[[Any], Any]) -> Any:
    shown = redact(message)
    blocks, given = _content_of(shown), _content_of(message)
    if shown is message or not isinstance(given, list):
        return shown
    kept = [old if _is_left_alone(old) else new for new, old in zip(blocks, cast("list[Any]", given), strict=True)]
    return shown.model_copy(update={"content": kept}) if isinstance(shown, BaseModel) else {**shown, "content": kept}


def _content_of(message: Any) -> Any:
    return (
        cast("dict[str, Any]", message).get("content")
        if isinstance(message, dict)
        else getattr(message, "content", None)
    )


def _is_left_alone(block: Any) -> bool:
    kind = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else getattr(block, "type", None)
    return isinstance(kind, str) and kind in _LEFT_ALONE

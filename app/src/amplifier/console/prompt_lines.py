"""Prompts that programs send, a line of JSON each: a text, or blocks of text and images."""

from __future__ import annotations

import json
from typing import Any, cast

from amplifier.problems import UsageProblem
from amplifier.runtime.images import image_from_base64, require_room
from amplifier.runtime.prompts import Part, Prompt

_EXPECTED = 'Expected {"type": "user", "text": "…"}'
_BLOCKS = (
    'Expected {"type": "text", "text": "…"} or {"type": "image", "source": '
    '{"type": "base64", "media_type": "image/png", "data": "…"}}'
)


def prompt_in(line: bytes, number: int) -> Prompt:
    """The prompt of one line: ``{"type": "user", "text": …}``, or ``message`` with ``content`` as others write it.

    Raises ``UsageProblem`` for anything else. Nothing that the text mentions is read: programs send what they mean.
    """
    try:
        data: Any = json.loads(line)
    except ValueError as error:
        raise UsageProblem(f"Line {number} of standard input is no JSON: {error}.", _EXPECTED) from None
    fields = _fields(data)
    given: list[Any] = [fields.get("text"), fields.get("content"), _fields(fields.get("message")).get("content")]
    text = next((each for each in given if isinstance(each, str)), "")
    blocks = next((cast("list[Any]", each) for each in given if isinstance(each, list)), list[Any]())
    prompt = Prompt((text,)) if text or not blocks else _of_blocks(blocks, number)
    if not prompt.text.strip() and not prompt.images:
        raise UsageProblem(f"Line {number} of standard input has no text.", _EXPECTED)
    return prompt


def _of_blocks(blocks: list[Any], number: int) -> Prompt:
    named = ((_fields(each), f"Block {place} of line {number}") for place, each in enumerate(blocks, 1))
    prompt = Prompt(tuple(_part(block, name) for block, name in named))
    require_room(prompt.images)
    return prompt


def _part(block: dict[str, Any], name: str) -> Part:
    text, source = block.get("text"), _fields(block.get("source"))
    if block.get("type") == "text" and isinstance(text, str):
        return text
    if block.get("type") == "image" and source.get("type") == "base64":
        return image_from_base64(source.get("data"), name)
    raise UsageProblem(f"{name} of standard input is neither text nor an image.", _BLOCKS)


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

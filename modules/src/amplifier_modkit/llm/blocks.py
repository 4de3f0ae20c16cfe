"""Content blocks in every form that a history may have them, and a place for those that only their vendor knows.

A block is a model of the kernel or a dict. What a vendor must get back as it gave it carries the vendor's name, so that
another vendor leaves it out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.message_models import ContentBlockUnion, Message, TextBlock, ToolCall, ToolCallBlock
from amplifier_core.utils.jsonable import to_jsonable

VENDOR = "vendor"
"""The extra of a block that says whose it is: signatures and encrypted reasoning mean something to one vendor only."""

CARRIED = "vendor_block"
"""The extra of an empty text block that has, as its vendor gave it, a block of a kind the kernel does not know."""

OUR_KEYS = frozenset({VENDOR, CARRIED, "visibility"})
"""Keys of blocks that no vendor is to see."""


def carry(vendor: str, block: Mapping[str, Any]) -> TextBlock:
    """A block of an unknown kind, in a form that every reader of messages takes; it says nothing to anybody else."""
    return TextBlock.model_validate({"type": "text", "text": "", VENDOR: vendor, CARRIED: dict(block)})


def carried_in(fields: Mapping[str, Any], vendor: str) -> dict[str, Any] | None:
    """The block that ``carry`` put into the block with those ``fields``, if it is of that vendor."""
    carried = fields.get(CARRIED)
    return cast("dict[str, Any]", carried) if isinstance(carried, dict) and fields.get(VENDOR) == vendor else None


def fields_of(block: Any) -> dict[str, Any]:
    """The fields of a block, extras included, without those that are ``None``; not to be changed."""
    if isinstance(block, dict):
        return cast("dict[str, Any]", block)
    if isinstance(block, str):
        return {"type": "text", "text": block}
    given = cast("dict[str, Any]", vars(block))
    extra: dict[str, Any] | None = getattr(block, "model_extra", None)
    fields = {name: value for name, value in given.items() if value is not None}
    return {**fields, **extra} if extra else fields


def blocks_in(message: Message) -> list[dict[str, Any]]:
    """The content of a message as the fields of its blocks; text that is there is one block, empty text is none."""
    content: Any = message.content
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [fields_of(block) for block in content or ()]


def text_in(message: Message) -> str:
    """All text of a message, its blocks on lines of their own."""
    content: Any = message.content
    if isinstance(content, str):
        return content
    texts = (fields.get("text") for fields in blocks_in(message) if fields.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def extras_of(fields: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """What a block has beside the ``known`` keys and ours: what its vendor said and may want back."""
    return {key: value for key, value in fields.items() if key not in known and key not in OUR_KEYS}


def is_failed(message: Message) -> bool:
    """Whether a ``tool`` message tells a failure."""
    metadata: Any = message.metadata
    extra = message.model_extra or {}
    return bool(metadata and metadata.get("is_error")) or bool(extra.get("is_error"))


def output_text(output: Any) -> str:
    """What a tool gave back, as the text a model reads."""
    if isinstance(output, str):
        return output
    return "" if output is None else json.dumps(to_jsonable(output), ensure_ascii=False)


def read_arguments(raw: Any) -> dict[str, Any] | str:
    """The arguments of a tool call, given as JSON or as an object; the raw text where that is no JSON object.

    A call with such a text goes to the loop, which tells the model what is wrong with it.
    """
    if isinstance(raw, dict):
        return cast("dict[str, Any]", raw)
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}
    if not isinstance(raw, str):
        return json.dumps(raw)
    try:
        parsed: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else raw


def tool_call(call_id: str, name: str, arguments: dict[str, Any] | str, **extras: Any) -> ToolCallBlock:
    """A call as a block of an answer; arguments that could not be read are kept as ``raw_arguments``."""
    if isinstance(arguments, str):
        extras, arguments = {**extras, "raw_arguments": arguments}, {}
    return ToolCallBlock(id=call_id, name=name, input=arguments, **extras)


def calls_of(content: list[ContentBlockUnion]) -> list[ToolCall] | None:
    """The tool calls of an answer's content, in order; ``None`` where there are none."""
    found = [_to_call(block) for block in content if isinstance(block, ToolCallBlock)]
    return found or None


def _to_call(block: ToolCallBlock) -> ToolCall:
    raw = (block.model_extra or {}).get("raw_arguments")
    arguments: Any = block.input if raw is None else raw
    # Not validated: a text in the place of the arguments is what a model that errs gives.
    return ToolCall.model_construct(id=block.id, name=block.name, arguments=arguments)

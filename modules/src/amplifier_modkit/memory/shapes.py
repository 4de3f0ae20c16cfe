"""Shorter forms of single messages: clipped on entry, cut in a view, reduced to a stand-in. Pure: the input stays.

Tool calls and results keep their ids in every form, so that a shortened message still has its counterpart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from amplifier_modkit.clipping import byte_length, clip_bytes, clip_chars
from amplifier_modkit.messages import CALL_BLOCKS, RESULT_BLOCKS, Message, blocks_of, calls_in, has_blocks, results_in

SYSTEM_ROLES = ("system", "developer")
_MACHINE_SOURCES = frozenset({"hook", "context"})
_STUB_CHARS = 80
_ARGUMENT_KEYS = ("input", "arguments")
_OUTPUT_KEYS = ("output", "content")


def source_of(message: Mapping[str, Any]) -> str | None:
    """Who put a message into the conversation, where its metadata tell: ``hook``, ``context``, …"""
    metadata = message.get("metadata")
    source = cast("dict[str, Any]", metadata).get("source") if isinstance(metadata, dict) else None
    return source if isinstance(source, str) else None


def is_system(message: Mapping[str, Any]) -> bool:
    """Whether a message is an instruction to the model."""
    return message.get("role") in SYSTEM_ROLES


def is_real_user(message: Mapping[str, Any]) -> bool:
    """Whether a message is something the user said, and not a hook, the context or a tool in the user's role."""
    return message.get("role") == "user" and source_of(message) not in _MACHINE_SOURCES and not is_result(message)


def is_result(message: Mapping[str, Any]) -> bool:
    """Whether a message is, or has in it, the result of a tool call."""
    return message.get("role") == "tool" or (
        has_blocks(message.get("content"), RESULT_BLOCKS) and bool(results_in(message))
    )


def remark(text: str, kind: str) -> Message:
    """A message in which the context itself tells the model something."""
    content = f"<system-reminder>\n{text}\n</system-reminder>"
    return {"role": "user", "content": content, "metadata": {"source": "context", "kind": kind}}


def stub(message: Message) -> Message:
    """A short stand-in for what the user said: how it began, and how much there was."""
    content = message.get("content")
    text = " ".join(all_text(content).split())
    if len(text) <= _STUB_CHARS:
        return {**message, "content": text} if isinstance(content, list) else message
    told = f"[Shortened: {text[:_STUB_CHARS]}... and {len(text) - _STUB_CHARS:,} characters more]"
    return {**message, "content": told}


def text_length(message: Mapping[str, Any]) -> int:
    """How many characters of a message can be cut."""
    content = message.get("content")
    lengths = [_argument_length(call) for call in _calls_of(message)]
    lengths += [len(all_text(_output(block))) for block in _blocks(content, RESULT_BLOCKS)]
    return len(_own_text(content)) + sum(lengths)


def cut(message: Message, max_chars: int) -> Message:
    """``message`` with about ``max_chars`` characters: long parts lose their middle, images and thinking go.

    Texts of a list become one text. Arguments of calls keep their shape, and lose the middle of their long values.
    """
    content = message.get("content")
    calls, results = _calls_of(message), _blocks(content, RESULT_BLOCKS)
    own_text = _own_text(content)
    lengths = [len(own_text), *map(_argument_length, calls), *(len(all_text(_output(block))) for block in results)]
    level = water_level(lengths, max_chars)
    shorter: Message = {**message, "content": _cut_content(content, own_text, level)}
    if message.get("tool_calls"):
        shorter["tool_calls"] = [_cut_call(call, level) for call in blocks_of(message["tool_calls"])]
    return shorter


def clip_result(message: Message, max_bytes: int) -> Message:
    """A tool's message with at most ``max_bytes`` bytes of text, list content included; images stay."""
    content = message.get("content")
    if isinstance(content, list):
        clipped = _clip_blocks(cast("list[Any]", content), max_bytes)
    elif content is None:
        return message
    else:
        text = _as_text(content)
        clipped = content if byte_length(text) <= max_bytes else clip_bytes(text, max_bytes)
    return message if clipped is content else {**message, "content": clipped}


def water_level(sizes: Iterable[int], room: int) -> int:
    """The height to which the largest of ``sizes`` must be cut so that all together fit into ``room``."""
    left = sorted(sizes)
    while left:
        level = max(0, room) // len(left)
        if left[0] > level:
            return level
        room -= left.pop(0)
    return max(0, room)


def _cut_content(content: Any, own_text: str, level: int) -> Any:
    if not isinstance(content, list):
        return content if content is None else clip_chars(own_text, level)
    linked = [
        _cut_call(block, level) if block.get("type") in CALL_BLOCKS else _cut_output(block, level)
        for block in _blocks(content, (*CALL_BLOCKS, *RESULT_BLOCKS))
    ]
    # A message that is nothing but a result or a call stays so.
    said = [{"type": "text", "text": clip_chars(own_text, level)}] if own_text or not linked else []
    return [*said, *linked]


def _cut_call(call: dict[str, Any], level: int) -> dict[str, Any]:
    function = call.get("function")
    if isinstance(function, dict):
        return {**call, "function": _cut_call(cast("dict[str, Any]", function), level)}
    if _argument_length(call) <= level:
        return call
    return {**call, **{key: _cut_arguments(call[key], level) for key in _ARGUMENT_KEYS if key in call}}


def _cut_arguments(arguments: Any, level: int) -> Any:
    values = _parsed(arguments)
    each = water_level(map(len, _strings_in(values)), level)
    shorter = _mapped(values, lambda text: clip_chars(text, each))
    return json.dumps(shorter, ensure_ascii=False) if isinstance(arguments, str) else shorter


def _parsed(arguments: Any) -> Any:
    """Arguments as data, also where they come as JSON; text that is none becomes the only value of an object."""
    if not isinstance(arguments, str):
        return arguments
    try:
        values = json.loads(arguments)
    except ValueError:
        values = None
    return cast("Any", values) if isinstance(values, dict) else {"text": arguments}


def _cut_output(block: dict[str, Any], level: int) -> dict[str, Any]:
    text = all_text(_output(block))
    if len(text) <= level and isinstance(_output(block), str):
        return block
    return {**block, **{key: clip_chars(text, level) for key in _OUTPUT_KEYS if key in block}}


def _clip_blocks(content: list[Any], max_bytes: int) -> list[Any]:
    texts = [text for block in content if (text := _block_text(block)) is not None]
    is_short = sum(map(byte_length, texts)) <= max_bytes
    outputs = any(byte_length(all_text(_output(block))) > max_bytes for block in _blocks(content, RESULT_BLOCKS))
    if is_short and not outputs:
        return content
    joined = [] if is_short else [{"type": "text", "text": clip_bytes("\n\n".join(texts), max_bytes)}]
    others = [block for block in content if is_short or _block_text(block) is None]
    return [*joined, *(_clip_output(block, max_bytes) for block in others)]


def _clip_output(block: Any, max_bytes: int) -> Any:
    if not isinstance(block, dict) or cast("dict[str, Any]", block).get("type") not in RESULT_BLOCKS:
        return cast("Any", block)
    entries = cast("dict[str, Any]", block)
    text = all_text(_output(entries))
    if byte_length(text) <= max_bytes:
        return entries
    return {**entries, **{key: clip_bytes(text, max_bytes) for key in _OUTPUT_KEYS if key in entries}}


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    entries = cast("dict[str, Any]", block)
    text = entries.get("text")
    return text if entries.get("type") == "text" and isinstance(text, str) else None


def _own_text(content: Any) -> str:
    """The text of a message beside its calls and results, with a word about what is no text."""
    if not isinstance(content, list):
        return "" if content is None else _as_text(content)
    blocks = cast("list[Any]", content)
    texts = [text for block in blocks if (text := _block_text(block))]
    images = sum(1 for block in blocks_of(blocks) if str(block.get("type")).endswith(("image", "image_url")))
    if images:
        texts.append(f"[{images} image{'s' if images > 1 else ''} left out]")
    return "\n\n".join(texts)


def all_text(value: Any) -> str:
    """Whatever a content or an output says, as one text."""
    if isinstance(value, list) and blocks_of(cast("Any", value)):
        return _own_text(value)
    return "" if value is None else _as_text(value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a message where they stand first: as blocks, else beside the content."""
    blocks = _blocks(message.get("content"), CALL_BLOCKS)
    return blocks or (blocks_of(message.get("tool_calls")) if calls_in(message) else [])


def _argument_length(call: Mapping[str, Any]) -> int:
    function = call.get("function")
    holder = cast("dict[str, Any]", function) if isinstance(function, dict) else call
    return sum(len(text) for key in _ARGUMENT_KEYS if key in holder for text in _strings_in(_parsed(holder[key])))


def _output(block: Mapping[str, Any]) -> Any:
    return next((block[key] for key in _OUTPUT_KEYS if key in block), None)


def _blocks(content: Any, kinds: Sequence[str]) -> list[dict[str, Any]]:
    return [block for block in blocks_of(content) if block.get("type") in kinds]


def _strings_in(value: Any) -> list[str]:
    found: list[str] = []
    _mapped(value, lambda text: (found.append(text), text)[1])
    return found


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of plain data with every text inside changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in cast("dict[str, Any]", value).items()}
    return value

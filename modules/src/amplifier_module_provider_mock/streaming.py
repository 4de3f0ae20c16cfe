"""How a response streams: its blocks, each with the pieces in which its text comes. Data in, data out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from amplifier_core.message_models import ChatResponse, TextBlock, ThinkingBlock, ToolCallBlock
from amplifier_core.utils.jsonable import to_jsonable


@dataclass(frozen=True, slots=True)
class StreamedBlock:
    """One block on its way: its kind, the name of the tool if it calls one, and its text in pieces."""

    kind: str
    pieces: list[str]
    name: str | None = None


def to_stream(response: ChatResponse, chunk_chars: int, text_pieces: list[str] | None = None) -> list[StreamedBlock]:
    """The blocks of ``response`` in pieces of ``chunk_chars``; the text in ``text_pieces`` where these are given."""
    arguments: dict[str, Any] = {call.id: call.arguments for call in response.tool_calls or ()}
    return [_to_streamed(block, chunk_chars, text_pieces, arguments) for block in response.content]


def piece_count(blocks: list[StreamedBlock], most: int | None = None) -> int:
    """How many pieces a stream has, of which at most ``most`` count."""
    total = sum(len(block.pieces) for block in blocks)
    return total if most is None else min(most, total)


def first_pieces(blocks: list[StreamedBlock], count: int) -> list[str]:
    """The first ``count`` pieces of a stream, whatever block they belong to."""
    return list(islice((piece for block in blocks for piece in block.pieces), count))


def _to_streamed(
    block: Any, chunk_chars: int, text_pieces: list[str] | None, arguments: dict[str, Any]
) -> StreamedBlock:
    match block:
        case TextBlock():
            return StreamedBlock("text", text_pieces or list(_cut(block.text, chunk_chars)))
        case ThinkingBlock():
            return StreamedBlock("thinking", list(_cut(block.thinking, chunk_chars)))
        case ToolCallBlock():
            given = arguments.get(block.id, block.input)
            text = given if isinstance(given, str) else json.dumps(to_jsonable(given), ensure_ascii=False)
            return StreamedBlock("tool_use", list(_cut(text, chunk_chars)), block.name)
        case _:
            return StreamedBlock(cast("str", block.type), [])


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))

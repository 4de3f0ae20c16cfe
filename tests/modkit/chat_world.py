"""Requests, chunks and answers of chat completions, for the tests of everything that speaks it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from amplifier_core.message_models import ChatRequest, ChatResponse, Message
from amplifier_modkit.llm.wire import Piece
from amplifier_modkit.llm_chat.dialect import Dialect
from amplifier_modkit.llm_chat.streams import END_OF_STREAM
from amplifier_modkit.llm_chat.wire import ChatWire

USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


def wire_of(dialect: Dialect | None = None, **others: Any) -> ChatWire:
    """A wire whose ids are ``id1``, ``id2``, …"""
    numbers = itertools.count(1)
    return ChatWire(dialect, new_id=lambda: f"id{next(numbers)}", **others)


def request_of(*messages: Message | str, **fields: Any) -> ChatRequest:
    """A request; a text is what a user says."""
    made = [Message(role="user", content=each) if isinstance(each, str) else each for each in messages]
    return ChatRequest(messages=made, **fields)


def sent(*messages: Message | str, dialect: Dialect | None = None) -> list[dict[str, Any]]:
    """The messages as they go over the wire."""
    return wire_of(dialect).to_call(request_of(*messages), "m", stream=False).body["messages"]


def chunk(delta: dict[str, Any] | None = None, reason: str | None = None, **others: Any) -> dict[str, Any]:
    """One chunk of a stream."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}], **others}


def answer(message: dict[str, Any], reason: str | None = "stop", **others: Any) -> dict[str, Any]:
    """A whole answer."""
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": USAGE, **others}


def streamed(chunks: Iterable[Any], dialect: Dialect | None = None) -> tuple[ChatResponse, list[Piece]]:
    """What a stream becomes, and what is told on the way."""
    import json

    reader = wire_of(dialect).open_stream()
    pieces: list[Piece] = []
    for each in chunks:
        pieces += reader.feed("message", each if isinstance(each, str) else json.dumps(each))
    pieces += reader.feed(END_OF_STREAM, "")
    assert reader.is_complete
    return reader.response(), pieces


def blocks(response: ChatResponse) -> list[dict[str, Any]]:
    """The content of a response as data, without what is empty."""
    return [block.model_dump(exclude_none=True) for block in response.content]


def told(pieces: Iterable[Piece]) -> list[tuple[Any, ...]]:
    """Pieces as tuples, without what is empty at their ends."""
    return [
        (
            piece.kind,
            piece.index,
            piece.block_type,
            *([piece.text] if piece.text else []),
            *([piece.name] if piece.name else []),
        )
        for piece in pieces
    ]

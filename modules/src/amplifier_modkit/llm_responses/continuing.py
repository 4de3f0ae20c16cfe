"""Going on with an answer that was cut at the limit of its length: when, from what, and how the parts become one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from amplifier_core.message_models import ChatRequest, ChatResponse, Message, ResponseFormatText, ToolCallBlock, Usage
from amplifier_modkit.llm.telling import CallEvents
from amplifier_modkit.llm.wire import Piece
from amplifier_modkit.llm_responses.marks import MARK

MAX_CONTINUATIONS = 5
_CUT = "max_output_tokens"


def next_request(request: ChatRequest, response: ChatResponse) -> ChatRequest | None:
    """The request that goes on behind ``response``; ``None`` where the answer is whole, or must stay as it is.

    It must where the caller set the limit, where the halves of a JSON answer would not fit together, and where tools
    are to be run first.
    """
    if (response.metadata or {}).get("stop_reason") != _CUT or request.max_output_tokens is not None:
        return None
    if request.response_format is not None and not isinstance(request.response_format, ResponseFormatText):
        return None
    said = [block for block in response.content if not _is_cut(block)]
    if not said or any(isinstance(block, ToolCallBlock) for block in said):
        return None
    answer = Message(role="assistant", content=said)
    return request.model_copy(update={"messages": [*request.messages, answer]})


def joined(first: ChatResponse, second: ChatResponse) -> ChatResponse:
    """Both parts as one answer; of the first, a call that was cut short is left out."""
    said = [block for block in first.content if not _is_cut(block)]
    return second.model_copy(
        update={
            "content": [*said, *second.content],
            "usage": _sum(first.usage, second.usage),
            "degradation": second.degradation or first.degradation,
            "metadata": {**(first.metadata or {}), **(second.metadata or {})},
        }
    )


def joined_in_part(first: ChatResponse, second: ChatResponse) -> ChatResponse:
    """The same with a second part that broke off; none of its calls is sure to be whole."""
    said = [block for block in second.content if not isinstance(block, ToolCallBlock)]
    whole = joined(first, second.model_copy(update={"content": said, "tool_calls": None}))
    return whole.model_copy(update={"finish_reason": first.finish_reason})


class ShiftedEvents:
    """The events of a call whose stream goes on behind blocks that were told already."""

    def __init__(self, events: CallEvents, blocks_told: int) -> None:
        self._events = events
        self._blocks_told = blocks_told
        # What was told before is whole: if this attempt fails, it still counts.
        events.has_streamed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    async def piece(self, piece: Piece) -> None:
        """One piece, at the place that its block has in the whole answer."""
        index = piece.index + self._blocks_told
        await self._events.piece(Piece(piece.kind, index, piece.block_type, piece.text, piece.name))


def _is_cut(block: object) -> bool:
    if not isinstance(block, ToolCallBlock):
        return False
    extras: dict[str, Any] = block.model_extra or {}
    return extras.get(MARK, {}).get("item", {}).get("status") == "incomplete" or "raw_arguments" in extras


def _sum(first: Usage | None, second: Usage | None) -> Usage | None:
    if first is None or second is None:
        return first or second
    names = {**first.model_dump(exclude_none=True), **second.model_dump(exclude_none=True)}
    sums: dict[str, Any] = {}
    for name in names:
        ours, theirs = getattr(first, name), getattr(second, name)
        zero = Decimal(0) if name == "cost_usd" else 0
        sums[name] = (ours or zero) + (theirs or zero)
    return Usage(**sums)

"""What a model answered: its text, its tool calls, and the message that keeps it without loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.interfaces import Provider
from amplifier_core.message_models import ChatResponse, TextBlock, ThinkingBlock, ToolCallBlock
from amplifier_modkit.messages import CALL_BLOCKS, Message, plain, text_of
from amplifier_modkit.turns.calls import RequestedCall, read_calls

_REFUSALS = frozenset({"refusal", "content_filter", "safety", "recitation", "prohibited_content"})
_KNOWN_BLOCKS = (TextBlock, ThinkingBlock, ToolCallBlock)
_PLAIN_TEXT_KEYS = frozenset({"type", "text"})


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model; ``message`` is what goes into the context."""

    response: ChatResponse
    calls: list[RequestedCall]
    text: str
    message: Message

    @property
    def is_refusal(self) -> bool:
        """Whether the model, or the filter in front of it, declined to answer."""
        return str(self.response.finish_reason or "").lower() in _REFUSALS


def read_reply(provider: Provider, response: ChatResponse, new_id: Callable[[], str]) -> Reply:
    """The reply in ``response``, with its tool calls as ``provider`` finds them."""
    calls = read_calls(provider.parse_tool_calls(response) or (), new_id)
    content = _plain_content(response.content)
    text = text_of(content) or _own_text(response)
    return Reply(response, calls, text, _message(content if content else text, calls))


def _own_text(response: ChatResponse) -> str:
    """The text that some providers give beside the content."""
    # Not by ``getattr``: asking a pydantic model for a field it lacks takes longer than all the rest here.
    is_plain = type(response) is ChatResponse
    text = (response.model_extra or {}).get("text") if is_plain else getattr(response, "text", None)
    return text if isinstance(text, str) else ""


def _plain_content(content: Any) -> Any:
    if not isinstance(content, list):
        return plain(content)
    return [_plain_block(block) for block in cast("list[Any]", content)]


def _plain_block(block: Any) -> Any:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, _KNOWN_BLOCKS):
        return plain(block)
    # The fields of the kernel's own blocks are plain already: no dump is needed, which would copy them once more.
    fields = {**vars(block), **(block.model_extra or {})}
    return {name: plain(value) for name, value in fields.items() if value is not None}


def without_calls(reply: Reply) -> Reply:
    """The reply as if it had made no tool call, for the moment when none will be run any more."""
    content = reply.message["content"]
    said = content if isinstance(content, str) else _other_blocks(content)
    return Reply(reply.response, [], reply.text, _message(said or reply.text, []))


def _message(content: Any, calls: Sequence[RequestedCall]) -> Message:
    if not calls:
        return {"role": "assistant", "content": _simplest(_other_blocks(content))}
    blocks = _with_calls(content, calls)
    listed = [_listed(block) for block in blocks if block.get("type") in CALL_BLOCKS]
    return {"role": "assistant", "content": blocks, "tool_calls": listed}


def _with_calls(content: Any, calls: Sequence[RequestedCall]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    told = [block for block in blocks if block.get("type") in CALL_BLOCKS]
    has_inputs = all(isinstance(block.get("input"), dict) for block in told)
    if has_inputs and [block.get("id") for block in told] == [call.id for call in calls]:
        return blocks
    # The provider keeps its calls elsewhere, cannot read them, or their ids had to be made unique: the calls decide.
    said = [block for block in _other_blocks(blocks) if block != {"type": "text", "text": ""}]
    return said + [{"type": "tool_call", "id": call.id, "name": call.name, "input": _input(call)} for call in calls]


def _listed(block: dict[str, Any]) -> dict[str, Any]:
    return {"id": block["id"], "name": block["name"], "tool": block["name"], "arguments": block["input"]}


def _input(call: RequestedCall) -> dict[str, Any]:
    # What is no object could not be sent back; it is told in the call's result.
    given: Any = call.arguments
    return plain(given) if isinstance(given, dict) else {}


def _other_blocks(content: Any) -> Any:
    return content if isinstance(content, str) else [each for each in content if each.get("type") not in CALL_BLOCKS]


def _simplest(content: Any) -> Any:
    if isinstance(content, list) and len(content) == 1 and content[0].keys() <= _PLAIN_TEXT_KEYS:  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        return content[0]["text"]  # pyright: ignore[reportUnknownVariableType]
    return content  # pyright: ignore[reportUnknownVariableType]

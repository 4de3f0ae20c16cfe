"""What a request says: the text of its messages, the prompt, the results of tools. Data in, data out."""

from __future__ import annotations

import json

from amplifier_core.message_models import ChatRequest, Message, ToolResultBlock
from amplifier_core.utils.jsonable import to_jsonable
from amplifier_modkit.messages import plain, text_of


def text_of_message(message: Message) -> str:
    """All text of a message, results of tools included."""
    if isinstance(message.content, str):
        return message.content
    outputs = [_told(block) for block in message.content if isinstance(block, ToolResultBlock)]
    return "\n".join(filter(None, [text_of(plain(message.content)), *outputs]))


def prompt_in(request: ChatRequest) -> str | None:
    """The text of the last message that has some and comes from the user."""
    said = (text_of_message(message) for message in reversed(request.messages) if message.role == "user")
    return next(filter(None, said), None)


def results_in(request: ChatRequest) -> dict[str, str]:
    """The results of tools by the ids of their calls, the latest last."""
    found: dict[str, str] = {}
    for message in request.messages:
        for call_id, result in _results_of(message):
            found.pop(call_id, None)
            found[call_id] = result
    return found


def call_ids_in(request: ChatRequest) -> set[str]:
    """The ids of all tool calls of the conversation, answered or not."""
    blocks = [
        block for message in request.messages if not isinstance(message.content, str) for block in message.content
    ]
    return {block.id for block in blocks if block.type == "tool_call"} | set(results_in(request))


def _results_of(message: Message) -> list[tuple[str, str]]:
    if message.role == "tool" and message.tool_call_id is not None:
        return [(message.tool_call_id, text_of_message(message))]
    if isinstance(message.content, str):
        return []
    return [(block.tool_call_id, _told(block)) for block in message.content if isinstance(block, ToolResultBlock)]


def _told(block: ToolResultBlock) -> str:
    return block.output if isinstance(block.output, str) else json.dumps(to_jsonable(block.output))

"""Makes the response of a provider from an item of the script and the request. Data in, data out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ContentBlockUnion,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    Usage,
)
from amplifier_module_provider_mock.items import CallItem, ScriptItem, UsageItem
from amplifier_module_provider_mock.templates import Templates

_CHARS_PER_TOKEN = 4

NewCallId = Callable[[], str]


def to_response(
    item: ScriptItem, request: ChatRequest, templates: Templates, new_id: NewCallId, usage: UsageItem
) -> ChatResponse:
    """The response that ``item`` says, its templates filled; ``usage`` is for what the item does not say itself."""
    calls = [_to_call(call, templates, new_id) for call in item.tool_calls]
    response = ChatResponse(content=_content(item, calls, templates))
    response.tool_calls = (calls or calls_in(response)) or None
    response.finish_reason = item.finish_reason or ("tool_calls" if response.tool_calls else "stop")
    response.usage = _usage(item.usage or usage, request, response)
    return response


def calls_in(response: ChatResponse) -> list[ToolCall]:
    """The tool calls that the content of ``response`` has as blocks, in order."""
    blocks = [block for block in response.content if isinstance(block, ToolCallBlock)]
    return [ToolCall(id=block.id, name=block.name, arguments=block.input) for block in blocks]


def _to_call(call: CallItem, templates: Templates, new_id: NewCallId) -> ToolCall:
    given = call.arguments
    arguments = _read_arguments(templates.fill_text(given)) if isinstance(given, str) else templates.fill_value(given)
    # Not validated: a text in the place of the arguments is what a model that errs gives.
    return ToolCall.model_construct(id=call.id or new_id(), name=call.name, arguments=arguments)


def _read_arguments(raw: str) -> dict[str, Any] | str:
    """The object that ``raw`` is the JSON of, as every provider reads it, or ``raw`` itself where it is none."""
    try:
        arguments = json.loads(raw)
    except ValueError:
        return raw
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else raw


def _content(item: ScriptItem, calls: list[ToolCall], templates: Templates) -> list[ContentBlockUnion]:
    if item.blocks is not None:
        return [_fill_block(block, templates) for block in item.blocks]
    content: list[ContentBlockUnion] = []
    if item.thinking is not None:
        content.append(ThinkingBlock(thinking=templates.fill_text(item.thinking), signature=item.signature))
    texts = item.pieces or ([] if item.text is None else [item.text])
    if texts:
        content.append(TextBlock(text="".join(map(templates.fill_text, texts))))
    return [*content, *map(_to_block, calls)]


def _fill_block(block: dict[str, Any], templates: Templates) -> Any:
    return {
        key: templates.fill_value(value) if key == "input" else templates.fill_texts(value)
        for key, value in block.items()
    }


def _to_block(call: ToolCall) -> ToolCallBlock:
    # A block has no room for arguments that are none; they are in the call beside it.
    arguments: object = call.arguments
    return ToolCallBlock(id=call.id, name=call.name, input={} if isinstance(arguments, str) else call.arguments)


def _usage(said: UsageItem, request: ChatRequest, response: ChatResponse) -> Usage:
    given = said.model_dump(exclude_none=True)
    tokens_in = given.setdefault("input_tokens", _estimate(*(message.content for message in request.messages)))
    tokens_out = given.setdefault("output_tokens", _estimate(response.content))
    return Usage.model_validate({"total_tokens": tokens_in + tokens_out, **given})


def _estimate(*contents: Any) -> int:
    # A script has no tokens; four characters each is the usual estimate.
    return sum(map(_chars, contents)) // _CHARS_PER_TOKEN


def _chars(content: str | list[ContentBlockUnion]) -> int:
    if isinstance(content, str):
        return len(content)
    values: list[Any] = [value for block in content for key, value in vars(block).items() if key != "type" and value]
    return sum(len(value if isinstance(value, str) else str(value)) for value in values)

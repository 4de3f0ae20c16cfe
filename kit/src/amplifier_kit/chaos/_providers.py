"""What providers can be asked to do: to describe themselves, to answer any request, to find tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
)
from amplifier_core.models import ProviderInfo
from amplifier_kit.chaos._collaborators import calls_response, text_response
from amplifier_kit.chaos._exercises import Exercise, expects
from amplifier_kit.chaos._stage import Stage

_PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
_is_response = expects(ChatResponse, "a ChatResponse")
_is_list = expects(list, "a list")


def ordinary(stage: Stage) -> list[Exercise]:
    """Each method of each provider of the module."""
    return [exercise for name, provider in stage.own("providers").items() for exercise in _methods(name, provider)]


def malformed(stage: Stage) -> Iterator[Exercise]:
    """Requests that no well-behaved loop sends, and responses that no well-behaved model gives."""
    for name, provider in stage.own("providers").items():
        for told, request in _strange_requests().items():
            yield _completion(name, provider, told, request)
        for told, response in _strange_responses().items():
            yield _parsing(name, provider, told, response)


def huge(stage: Stage) -> Iterator[Exercise]:
    """A message of a megabyte, and very many messages."""
    requests = {
        "a message of a megabyte": _request(Message(role="user", content="chaos " * 200_000)),
        "2000 messages": _request(*(Message(role="user", content=f"chaos {number}") for number in range(2_000))),
    }
    for name, provider in stage.own("providers").items():
        for told, request in requests.items():
            yield _completion(name, provider, told, request)


def _methods(name: str, provider: Any) -> list[Exercise]:
    is_info = expects(ProviderInfo, "a ProviderInfo")
    return [
        Exercise(f"get_info() of provider '{name}'", provider.get_info, is_info),
        Exercise(f"list_models() of provider '{name}'", provider.list_models, _is_list),
        _completion(name, provider, "a plain question", _request(Message(role="user", content="Hello"))),
        _parsing(name, provider, "a plain answer", text_response("Hello")),
    ]


def _completion(name: str, provider: Any, told: str, request: ChatRequest) -> Exercise:
    return Exercise(f"complete() of provider '{name}' with {told}", lambda: provider.complete(request), _is_response)


def _parsing(name: str, provider: Any, told: str, response: ChatResponse) -> Exercise:
    return Exercise(
        f"parse_tool_calls() of provider '{name}' with {told}", lambda: provider.parse_tool_calls(response), _is_list
    )


def _strange_requests() -> dict[str, ChatRequest]:
    user = Message(role="user", content="Hello")
    call = Message(role="assistant", content=[ToolCallBlock(id="chaos-1", name="gone", input={})])
    result = Message(role="tool", tool_call_id="chaos-2", content="late")
    blocks = [
        ThinkingBlock(thinking="hm"),
        RedactedThinkingBlock(data="…"),
        ImageBlock(source=_PIXEL),
        ToolResultBlock(tool_call_id="chaos-3", output=None),
        TextBlock(text=""),
    ]
    odd_tool = ToolSpec(name="", parameters={})
    return {
        "no messages": _request(),
        "empty content": _request(Message(role="user", content="")),
        "only a system message": _request(Message(role="system", content="Be short.")),
        "a tool call without result": _request(user, call, user),
        "a tool result without call": _request(user, result),
        "every kind of block": _request(Message(role="assistant", content=[*blocks]), user),
        "text that is no text": _request(Message(role="user", content="\x00\ud800")),
        "senseless settings": ChatRequest(
            messages=[user], tools=[odd_tool, odd_tool], temperature=-1.0, max_output_tokens=-1, model="", stop=[""]
        ),
    }


def _strange_responses() -> dict[str, ChatResponse]:
    return {
        "no content": ChatResponse(content=[]),
        "an empty list of calls": ChatResponse(content=[], tool_calls=[]),
        "two calls of one id": calls_response("chaos-1", "chaos-1"),
        "a call that only the content names": ChatResponse(content=calls_response("chaos-1").content),
    }


def _request(*messages: Message) -> ChatRequest:
    return ChatRequest(messages=list(messages))

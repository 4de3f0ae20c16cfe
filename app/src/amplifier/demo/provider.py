"""The demo's model: a script that asks for one tool call and then tells what came back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    Message,
    TextBlock,
    ToolCall,
    ToolCallBlock,
    Usage,
)
from amplifier_core.models import ModelInfo, ProviderInfo

_MODEL = "script-1"
_NOTE = "(Scripted answer: no model was asked.)"
_PATH_LIKE = re.compile(r"[\w./-]{1,120}")


class ScriptedProvider:
    """A provider whose every answer follows from the conversation alone; needs no key and no network."""

    name = "scripted"

    def get_info(self) -> ProviderInfo:
        """Who this provider is, and which model it uses unless told otherwise."""
        return ProviderInfo(id=self.name, display_name="Scripted model", defaults={"model": _MODEL})

    async def list_models(self) -> list[ModelInfo]:
        """The one script there is."""
        return [ModelInfo(id=_MODEL, display_name="Script", context_window=8192, max_output_tokens=1024)]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Asks for the first tool on offer when the user spoke last, and answers when a tool did."""
        if not request.messages:
            return _answer(request, f"Nothing was asked. {_NOTE}")
        last = request.messages[-1]
        if last.role == "tool":
            return _answer(request, _told(_text_of(last)))
        if not request.tools:
            return _answer(request, f"There is no tool that I could use. {_NOTE}")
        call_id = f"call_{sum(message.role == 'tool' for message in request.messages) + 1}"
        call = ToolCall(id=call_id, name=request.tools[0].name, arguments={"path": _directory_in(_text_of(last))})
        return _asking(request, call)

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The tool calls of ``response``, in order."""
        return list(response.tool_calls or [])


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    """Mounts the provider under its name."""
    await coordinator.mount("providers", ScriptedProvider())


def _directory_in(prompt: str) -> str:
    words = (word.rstrip(".") or word for word in _PATH_LIKE.findall(prompt))
    return next((word for word in words if Path(word).is_dir()), ".")


def _told(tool_output: str) -> str:
    try:
        counts = json.loads(tool_output)
        largest = ", ".join(f"{file} ({lines:,})" for file, lines in counts["largest"].items())
        found = f"{counts['files']:,} {counts['suffix']} files with {counts['lines']:,} lines below '{counts['path']}'"
    except (ValueError, TypeError, KeyError):
        return f"The tool did not give a count, it said: {tool_output} {_NOTE}"
    return f"There are {found}. {f'The largest: {largest}. ' if largest else ''}{_NOTE}"


def _asking(request: ChatRequest, call: ToolCall) -> ChatResponse:
    text = "I count them."
    return ChatResponse(
        content=[TextBlock(text=text), ToolCallBlock(id=call.id, name=call.name, input=call.arguments)],
        tool_calls=[call],
        usage=_usage(request, text),
        finish_reason="tool_calls",
    )


def _answer(request: ChatRequest, text: str) -> ChatResponse:
    return ChatResponse(content=[TextBlock(text=text)], usage=_usage(request, text), finish_reason="stop")


def _usage(request: ChatRequest, text: str) -> Usage:
    # A script has no tokens; four characters each is the usual estimate.
    told, said = sum(len(_text_of(message)) for message in request.messages) // 4, len(text) // 4
    return Usage(input_tokens=told, output_tokens=said, total_tokens=told + said)


def _text_of(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.text for block in message.content if isinstance(block, TextBlock))

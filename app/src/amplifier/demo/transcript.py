"""A hook that tells what happens in a turn, one line per step. It watches and never interferes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import PROMPT_COMPLETE, PROMPT_SUBMIT, PROVIDER_RESPONSE, TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.message_models import ChatResponse, TextBlock
from amplifier_core.models import HookResult

Write = Callable[[str], None]
Teller = Callable[[dict[str, Any]], tuple[str, str]]

_AFTER_EVERYBODY = 1000
_WIDTH = 160


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any], write: Write) -> Callable[[], None]:
    """Writes the steps of every turn with ``write``; returns the function that ends it."""
    tellers: dict[str, Teller] = {
        PROMPT_SUBMIT: lambda data: ("prompt", data["prompt"]),
        PROVIDER_RESPONSE: lambda data: ("model", _said_beside_calls(data["response"])),
        TOOL_PRE: lambda data: ("call", f"{data['tool_name']} {json.dumps(data['tool_input'])}"),
        TOOL_POST: lambda data: ("result", data["tool_result"].get_serialized_output()),
        TOOL_ERROR: lambda data: ("error", f"{data['tool_name']}: {data['error']['msg']}"),
        PROMPT_COMPLETE: lambda data: ("answer", data["response"]),
    }

    async def tell(event: str, data: dict[str, Any]) -> HookResult:
        label, text = tellers[event](data)
        if text:
            write(f"{label:<7} {_one_line(text) if label != 'answer' else text}")
        return HookResult()

    undo = [coordinator.hooks.register(event, tell, _AFTER_EVERYBODY, f"transcript:{event}") for event in tellers]

    def stop() -> None:
        for unregister in undo:
            unregister()

    return stop


def _said_beside_calls(response: ChatResponse) -> str:
    # Without a tool call the text is the answer, which is told at the end.
    if not response.tool_calls:
        return ""
    return " ".join(block.text for block in response.content if isinstance(block, TextBlock))


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDTH else f"{flat[:_WIDTH]}…"

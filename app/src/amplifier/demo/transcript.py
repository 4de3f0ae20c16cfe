"""Hooks that tell what happens in a turn: a line per step, texts piece by piece. They watch and never interfere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from amplifier_core.events import (
    CONTENT_BLOCK_DELTA,
    CONTENT_BLOCK_END,
    CONTENT_BLOCK_START,
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult

Write = Callable[[str], None]
"""Takes text as it is; whoever writes ends the lines."""

# Before the loop's own handlers, so that a piece is shown when it comes and not when all others have seen it.
_PRIORITY = -1000
_WIDTH = 160
_LABELS = {"thinking": "think", "text": "answer"}


class Transcript:
    """Writes the steps of every turn with ``write``, from ``watch`` until what it returns is called."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._pieces: list[str] = []
        self._said = ""

    def watch(self, hooks: HookRegistry) -> Callable[[], None]:
        """Begins to write what ``hooks`` hear of; returns the function that ends it."""
        tellers: dict[str, Callable[[dict[str, Any]], None]] = {
            PROMPT_SUBMIT: lambda data: self._line("prompt", data["prompt"]),
            CONTENT_BLOCK_START: self._begin_block,
            CONTENT_BLOCK_DELTA: self._add_piece,
            CONTENT_BLOCK_END: self._end_block,
            TOOL_PRE: lambda data: self._line("call", f"{data['tool_name']} {json.dumps(data['tool_input'])}"),
            TOOL_POST: self._tell_result,
            TOOL_ERROR: lambda data: self._line("error", f"{data['tool_name']}: {data['error']['msg']}"),
            PROMPT_COMPLETE: self._tell_answer,
            ORCHESTRATOR_COMPLETE: self._tell_end,
        }

        async def tell(event: str, data: dict[str, Any]) -> HookResult:
            tellers[event](data)
            return HookResult()

        undo = [hooks.register(event, tell, _PRIORITY, f"transcript:{event}") for event in tellers]

        def stop() -> None:
            for unregister in undo:
                unregister()

        return stop

    def _line(self, label: str, text: str) -> None:
        flat = " ".join(text.split())
        self._write(f"{label:<7} {flat if len(flat) <= _WIDTH else f'{flat[:_WIDTH]}…'}\n")

    def _begin_block(self, data: dict[str, Any]) -> None:
        if data["block_type"] in _LABELS:
            self._pieces = []
            self._write(f"{_LABELS[data['block_type']]:<7} ")

    def _add_piece(self, data: dict[str, Any]) -> None:
        self._pieces.append(data["text"])
        self._write(data["text"])

    def _end_block(self, data: dict[str, Any]) -> None:
        if data["block_type"] in _LABELS:
            self._said = "".join(self._pieces)
            self._write(f"  [{len(self._pieces)} pieces]\n")

    def _tell_result(self, data: dict[str, Any]) -> None:
        result = data["tool_result"]
        self._line("result" if result.success else "failed", result.get_serialized_output())

    def _tell_answer(self, data: dict[str, Any]) -> None:
        # An answer that came as a stream has been shown.
        if data["response"] != self._said:
            self._write(f"{'answer':<7} {data['response']}\n")

    def _tell_end(self, data: dict[str, Any]) -> None:
        self._line("end", f"{data['status']}, after {data['turn_count']} model calls")

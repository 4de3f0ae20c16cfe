"""The blocks of an answer, told to hooks one by one once the answer is there."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from amplifier_core.events import CONTENT_BLOCK_END, CONTENT_BLOCK_START, THINKING_FINAL
from amplifier_modkit.messages import blocks_of, plain
from amplifier_modkit.turns.gate import HookGate


async def tell_blocks(gate: HookGate, content: Any, usage: Any, told_before: Container[int] = ()) -> None:
    """Emits the beginning and the end of each block, except those whose index was ``told_before``."""
    events = (CONTENT_BLOCK_START, CONTENT_BLOCK_END, THINKING_FINAL)
    if not any(map(gate.hooks.has_listeners, events)):
        return
    blocks = blocks_of(plain(content))
    for index, block in enumerate(blocks):
        if index in told_before:
            continue
        facts = {"block_type": block.get("type"), "block_index": index, "total_blocks": len(blocks)}
        await gate.announce(CONTENT_BLOCK_START, facts)
        await gate.announce(CONTENT_BLOCK_END, {**facts, "block": block, "usage": plain(usage)})
        if block.get("type") == "thinking":
            await gate.announce(THINKING_FINAL, {"text": block.get("thinking") or "", "block_index": index})

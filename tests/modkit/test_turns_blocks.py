"""The blocks of an answer are told to hooks one by one, and only when somebody listens."""

from __future__ import annotations

from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import CONTENT_BLOCK_END, CONTENT_BLOCK_START, THINKING_FINAL
from amplifier_core.hooks import HookRegistry
from amplifier_core.message_models import TextBlock, ThinkingBlock, Usage
from amplifier_core.models import HookResult
from amplifier_core.testing import EventRecorder
from amplifier_modkit.turns.blocks import tell_blocks
from amplifier_modkit.turns.gate import HookGate

USAGE = Usage(input_tokens=1, output_tokens=2, total_tokens=3)


async def test_each_block_begins_and_ends_and_thinking_is_told_as_a_whole() -> None:
    """Blocks come in order, with their place, and as plain data."""
    hooks = EventRecorder()
    content = [ThinkingBlock(thinking="hm", signature="s"), TextBlock(text="hello")]
    await tell_blocks(HookGate(hooks, ModuleCoordinator()), content, USAGE)
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    thinking = {"block_type": "thinking", "block_index": 0, "total_blocks": 2}
    text = {"block_type": "text", "block_index": 1, "total_blocks": 2}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    assert hooks.events == [
        (CONTENT_BLOCK_START, thinking),
        (CONTENT_BLOCK_END, {**thinking, "block": thought, "usage": usage}),
        (THINKING_FINAL, {"text": "hm", "block_index": 0}),
        (CONTENT_BLOCK_START, text),
        (CONTENT_BLOCK_END, {**text, "block": {"type": "text", "text": "hello"}, "usage": usage}),
    ]


async def test_blocks_that_hooks_know_from_the_stream_are_not_told_again() -> None:
    """Only the places that were not told before are told now."""
    hooks = EventRecorder()
    content = [TextBlock(text="known"), TextBlock(text="other")]
    await tell_blocks(HookGate(hooks, ModuleCoordinator()), content, None, {0})
    assert [(event, data["block_index"]) for event, data in hooks.events] == [
        (CONTENT_BLOCK_START, 1),
        (CONTENT_BLOCK_END, 1),
    ]


async def test_an_answer_in_plain_text_has_no_blocks() -> None:
    """Content that is text, or nothing, is not told in blocks; thinking without text is told as empty."""
    hooks = EventRecorder()
    for content in ("hello", None, [{"type": "thinking"}]):
        await tell_blocks(HookGate(hooks, ModuleCoordinator()), content, None)
    assert [event for event, _ in hooks.events] == [CONTENT_BLOCK_START, CONTENT_BLOCK_END, THINKING_FINAL]
    assert hooks.events[-1][1] == {"text": "", "block_index": 0}


async def test_when_nobody_listens_the_content_is_not_even_looked_at() -> None:
    """Making plain data of a long answer is left out where no handler would see it."""

    class Untouchable:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"somebody asked for {name}")

    hooks = HookRegistry()
    hooks.register("other:event", lambda event, data: HookResult())
    assert await tell_blocks(HookGate(hooks, ModuleCoordinator()), [Untouchable()], None) is None

# pyright: reportMissingImports=false
import pytest
from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests

from my_context.manager import MyContextManager


class TestMyContextBehavior(ContextBehaviorTests):
    pass


class TestMyContextStructure(ContextStructuralTests):
    pass


@pytest.mark.asyncio
async def test_compaction_preserves_tool_pairs():
    """A tool result stays with its call, and nothing is forgotten."""
    context = MyContextManager(max_tokens=100, compaction_threshold=0.5)
    await context.add_message({"role": "user", "content": "Read file.txt"})
    call = {"id": "call_123", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    await context.add_message({"role": "assistant", "content": None, "tool_calls": [call]})
    await context.add_message({"role": "tool", "tool_call_id": "call_123", "content": "File contents..."})
    for number in range(50):
        await context.add_message({"role": "user", "content": f"Message {number}"})
    messages = await context.get_messages_for_request()
    used = {call["id"] for message in messages for call in message.get("tool_calls") or []}
    assert {m["tool_call_id"] for m in messages if m["role"] == "tool"} <= used
    assert len(await context.get_messages()) == 53
    assert len(messages) < 53

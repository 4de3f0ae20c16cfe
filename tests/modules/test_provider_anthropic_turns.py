"""Whole turns of every loop on Claude's provider, over a socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.modules.anthropic_world import frames_of, message, text_block
from tests.modules.llm_server import Answer, serving, sse_answer

import amplifier_module_provider_anthropic
from amplifier_core.models import ToolResult
from amplifier_core.session import AmplifierSession

THINKING = {"type": "thinking", "thinking": "I should read.", "signature": "sig+/=="}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "ä.txt"}}
PAIR = {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "b.txt"}}


class ReadTool:
    """Reads files that are not there."""

    name, description = "read", "Reads a file."
    input_schema: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """The name of the file."""
        return ToolResult(output=f"text of {input['path']}")


def plan_for(loop: str, url: str) -> dict[str, Any]:
    """A session with the loop and the provider."""
    source = str(Path(str(amplifier_module_provider_anthropic.__file__)).parent)
    config = {"api_key": "k", "base_url": url, "max_retries": 2, "min_retry_delay": 0, "enable_prompt_caching": False}
    return {
        "session": {"orchestrator": loop, "context": "context-simple"},
        "providers": [{"module": "provider-anthropic", "source": source, "config": config}],
    }


def streams(*answers: dict[str, Any]) -> list[Answer]:
    """The answers as streams."""
    return [sse_answer(frames_of(answer)) for answer in answers]


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming", "loop-events"])
async def test_a_turn_with_tools_runs_on_every_loop(loop: str) -> None:
    """Thinking and calls go back to the byte, with a result for each; the answer is the model's."""
    called = message(THINKING, text_block("I read."), CALL, PAIR, stop_reason="tool_use")
    async with serving(*streams(called, message(text_block("Done.")))) as server:
        async with AmplifierSession(plan_for(loop, server.url)) as session:
            session.coordinator.mount("tools", ReadTool())
            assert await session.execute("Read both.") == "Done."
        messages = server.bodies[1]["messages"]
    assert messages == [
        {"role": "user", "content": [text_block("Read both.")]},
        {"role": "assistant", "content": called["content"]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text of ä.txt"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "text of b.txt"},
            ],
        },
    ]


async def test_a_call_with_broken_arguments_gets_an_answer_that_says_so() -> None:
    """The turn goes on; the service gets the call with an empty object, and why it failed."""
    broken = message({**CALL, "input": '{"path": '}, stop_reason="tool_use")
    async with serving(*streams(broken, message(text_block("Sorry.")))) as server:
        async with AmplifierSession(plan_for("loop-basic", server.url)) as session:
            session.coordinator.mount("tools", ReadTool())
            assert await session.execute("Read.") == "Sorry."
        _, call, result = server.bodies[1]["messages"]
    assert call["content"] == [{**CALL, "input": {}}]
    assert result["content"][0]["is_error"] is True
    assert "not valid JSON" in result["content"][0]["content"]


async def test_a_stream_that_breaks_is_begun_anew_and_told_once() -> None:
    """What was streamed before the break is no part of the answer."""
    whole = sse_answer(frames_of(message(text_block("Hello world."))))
    async with serving(whole.first(5), whole) as server:
        async with AmplifierSession(plan_for("loop-streaming", server.url)) as session:
            assert await session.execute("Hi.") == "Hello world."
            transcript = await session.coordinator.get("context").get_messages()
        assert len(server.requests) == 2
    assert [entry["content"] for entry in transcript] == ["Hi.", "Hello world."]

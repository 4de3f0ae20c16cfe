"""An agent run with ``loop-basic`` and ``context-simple``: ten tool calls, one after the other, and a final answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from copy import deepcopy
from typing import Any

from amplifier_core import ChatRequest, Message, TextBlock, ToolSpec
from bench.agents import task
from bench.agents.runs import in_amplifier
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Ratio, Work, compare, repeated

HANDLERS = 3
RATIO_LIMITS = {0: 4.5, HANDLERS: 9.0}
STEP_LIMITS_MS = {0: 0.2, HANDLERS: 0.4}


def figures(effort: Effort) -> Iterator[Figure]:
    """Without hooks and with three handlers on every event: against a bare loop, and CPU time of one step."""
    for handlers in (0, HANDLERS):
        ratio = _compare_with_bare_loop(handlers, effort)
        suffix, told = ("", "no hooks") if not handlers else ("_hooks", f"{handlers} handlers on every event")
        what = f"agent run of {task.STEPS} tool calls, {told}"
        yield ratio_figure(f"agent_run{suffix}", f"{what}, against a bare loop", ratio, RATIO_LIMITS[handlers])
        step_ms = ratio.subject_s / task.STEPS * 1e3
        yield Figure(f"agent_step{suffix}", f"{what}: CPU time of a step", step_ms, STEP_LIMITS_MS[handlers], unit="ms")


def _compare_with_bare_loop(handlers: int, effort: Effort) -> Ratio:
    look_up = task.LookUp()
    with asyncio.Runner() as runner, ExitStack() as stack:
        agent = in_amplifier.agent(look_up, handlers)
        run = runner.run(agent.__aenter__())
        stack.callback(lambda: runner.run(agent.__aexit__(None, None, None)))
        subject, reference = (
            repeated(runner, _again_and_again(each, look_up), effort.sample_s) for each in (run, bare_run(look_up))
        )
        return compare(subject, reference, effort.rounds_of(1.0))


def _again_and_again(run: Callable[[], Awaitable[str]], look_up: task.LookUp) -> Work:
    async def work(count: int) -> None:
        look_up.calls = 0
        text = ""
        for _ in range(count):
            text = await run()
        task.require_right(text, look_up, count)

    return work


def bare_run(look_up: task.LookUp) -> task.Run:
    """The least that an agent does with the same provider and the same tool: requests, a list of messages, no more."""
    provider, tool = in_amplifier.InstantProvider(), in_amplifier.LookUpTool(look_up)

    async def run() -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": task.PROMPT}]
        while True:
            request = ChatRequest(
                messages=[Message.model_validate(message) for message in messages], tools=[ToolSpec.from_tool(tool)]
            )
            response = await provider.complete(request)
            messages.append({"role": "assistant", "content": [block.model_dump() for block in response.content]})
            calls = provider.parse_tool_calls(response)
            if not calls:
                return "".join(block.text for block in response.content if isinstance(block, TextBlock))
            for call in calls:
                result = await tool.execute(deepcopy(call.arguments))
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": str(result.output)}
                )

    return run

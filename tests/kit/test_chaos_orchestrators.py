"""Chaos finds in an orchestrator each defect it looks for, and nothing in one that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_core.events import TOOL_PRE
from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_core.models import ToolResult
from amplifier_kit.chaos import faults_of

Broken = Callable[[str, Any], Awaitable[dict[str, str]]]


class Loop:
    """A loop that keeps every call together with its result, and asks the hooks before each."""

    def __init__(self) -> None:
        self.log: list[str] | None = []

    async def execute(
        self, prompt: str, context: Any, providers: dict[str, Any], tools: dict[str, Any], hooks: Any
    ) -> Any:
        (provider,) = providers.values()
        await context.add_message({"role": "user", "content": prompt})
        for _ in range(5):
            response = await self.ask(provider, context, tools)
            calls = provider.parse_tool_calls(response)
            content = [block.model_dump(exclude_none=True) for block in response.content]
            message = {"role": "assistant", "content": content}
            if not calls:
                await self.remember(message, context)
                return self.answer(response)
            await self.run_tools(message, calls, context, tools, hooks)
        return "no answer"

    def answer(self, response: Any) -> Any:
        return "".join(block.text for block in response.content)

    async def remember(self, message: Any, context: Any) -> None:
        await context.add_message(message)

    async def ask(self, provider: Any, context: Any, tools: dict[str, Any]) -> Any:
        messages = [Message.model_validate(each) for each in await context.get_messages_for_request(provider=provider)]
        specs = [ToolSpec.from_tool(tool) for tool in tools.values()]
        return await provider.complete(ChatRequest(messages=messages, tools=specs))

    async def run_tools(self, message: Any, calls: Any, context: Any, tools: Any, hooks: Any) -> None:
        results = ["stopped"] * len(calls)
        try:
            for index, call in enumerate(calls):
                results[index] = await self.result_of(call, tools, hooks)
        finally:
            await asyncio.shield(self.record(message, calls, results, context))

    async def record(self, message: Any, calls: Any, results: list[str], context: Any) -> None:
        await context.add_message(message)
        for call, result in zip(calls, results, strict=True):
            await context.add_message({"role": "tool", "tool_call_id": call.id, "content": result})

    async def result_of(self, call: Any, tools: Any, hooks: Any) -> str:
        verdict = await hooks.emit(TOOL_PRE, {"tool_name": call.name, "tool_input": call.arguments})
        if verdict.action == "deny" or call.name not in tools:
            return "not executed"
        return (await self.run_tool(tools[call.name], call.arguments)).get_serialized_output()

    async def run_tool(self, tool: Any, arguments: Any) -> ToolResult:
        try:
            return await tool.execute(arguments)
        except Exception as error:
            return ToolResult(success=False, error={"message": str(error)})

    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        loop = cls()
        coordinator.mount("orchestrator", loop)
        return loop.cleanup

    async def cleanup(self) -> None:
        self.log = None


class SwallowsCancellation(Loop):
    async def ask(self, provider: Any, context: Any, tools: dict[str, Any]) -> Any:
        while True:
            try:
                return await super().ask(provider, context, tools)
            except asyncio.CancelledError:
                continue


class CountsOnTheModel(Loop):
    async def ask(self, provider: Any, context: Any, tools: dict[str, Any]) -> Any:
        try:
            return await super().ask(provider, context, tools)
        except Exception:
            return None


class AwaitsNothing(Loop):
    async def remember(self, message: Any, context: Any) -> None:
        self.writing = asyncio.ensure_future(context.add_message(message))


class TrustsTheModel(Loop):
    async def result_of(self, call: Any, tools: Any, hooks: Any) -> str:
        tools[call.name]
        return await super().result_of(call, tools, hooks)


class CountsTooDeep(Loop):
    async def record(self, message: Any, calls: Any, results: list[str], context: Any) -> None:
        self.depth(len(results[0]))
        await super().record(message, calls, results, context)

    def depth(self, count: int) -> int:
        return self.depth(count - 1) + 1 if count else 0


class LosesItsLog(Loop):
    def answer(self, response: Any) -> Any:
        self.log.append("answered")  # pyright: ignore[reportOptionalMemberAccess]
        return super().answer(response)


class KnowsItselfAlready(Loop):
    @classmethod
    async def mount(cls, coordinator: Any, config: dict[str, Any]) -> Any:
        assert coordinator.get("orchestrator") is None
        return await super().mount(coordinator, config)


class SharesItsPrompts(Loop):
    prompts: list[str] = []

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> Any:
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        return await super().execute(self.prompts.pop(), context, providers, tools, hooks)


class CountsOnTheTool(Loop):
    async def run_tool(self, tool: Any, arguments: Any) -> ToolResult:
        return await tool.execute(arguments)


class AsksNobody(Loop):
    async def result_of(self, call: Any, tools: Any, hooks: Any) -> str:
        return str((await self.run_tool(tools[call.name], {})).output) if call.name in tools else "not executed"


class RecordsAsItGoes(Loop):
    async def run_tools(self, message: Any, calls: Any, context: Any, tools: Any, hooks: Any) -> None:
        await context.add_message(message)
        for call in calls:
            result = await self.result_of(call, tools, hooks)
            await context.add_message({"role": "tool", "tool_call_id": call.id, "content": result})


DEFECTS: dict[str, tuple[type[Loop], str]] = {
    "cancelled": (SwallowsCancellation, "was cancelled at its wait 2 and returned str"),
    "failing_collaborators": (CountsOnTheModel, "provider in the session failed: execute('Hello from session"),
    "slow_collaborators": (AwaitsNothing, "ended, but context.add_message() still ran"),
    "malformed_input": (TrustsTheModel, "when the model gives a call of a tool that does not exist raised KeyError"),
    "huge_input": (CountsTooDeep, "execute('Hello') with a tool result of a megabyte raised RecursionError"),
    "cleanup_during_call": (LosesItsLog, "clean-up ran at wait 1 of execute("),
    "mounted_twice": (KnowsItselfAlready, "mount() a second time in one session raised AssertionError"),
    "two_sessions": (SharesItsPrompts, "the conversation of one session holds the prompt of the other"),
    "failing_tool": (CountsOnTheTool, "a tool raised, and execute('Hello from session"),
    "denied_tool": (AsksNobody, "a guard denied tool:pre, and the tool was executed 2 time(s)"),
    "torn_turn": (RecordsAsItGoes, "the next one sends the model: call 'chaos-1' without its result"),
}


async def test_a_good_loop_keeps_every_promise(broken: Broken) -> None:
    """An orchestrator without defects passes every fault."""
    assert await broken("orchestrator", Loop.mount) == {}


@pytest.mark.parametrize("fault", DEFECTS)
async def test_each_defect_is_found_by_its_fault_alone(broken: Broken, fault: str) -> None:
    """An orchestrator with one defect breaks one promise, and the message says how."""
    defective, told = DEFECTS[fault]
    found = await broken("orchestrator", defective.mount)
    assert (list(found), told in found[fault]) == ([fault], True), found


def test_there_is_a_defect_for_every_fault() -> None:
    """No fault goes untested; that a module does not even mount is tested for all kinds at once."""
    assert {fault.name for fault in faults_of("orchestrator")} == {"mount", *DEFECTS}


async def test_a_tool_that_runs_on_after_its_turn_was_cancelled_is_found(broken: Broken) -> None:
    """A cancelled turn takes along what it has begun."""

    class LeavesToolsRunning(Loop):
        async def run_tool(self, tool: Any, arguments: Any) -> ToolResult:
            async def thorough() -> ToolResult:
                results = [await tool.execute(arguments) for _ in range(20)]
                return results[-1]

            running = asyncio.ensure_future(thorough())
            await asyncio.wait({running})
            return running.result()

    found = await broken("orchestrator", LeavesToolsRunning.mount)
    assert "but tool.execute() still ran" in found["cancelled"]


async def test_an_answer_that_is_no_text_is_found(broken: Broken) -> None:
    """A turn ends with a text."""

    class Mute(Loop):
        def answer(self, response: Any) -> Any:
            return response.content

    found = await broken("orchestrator", Mute.mount)
    assert (list(found), "expected a text" in found["mount"]) == (["mount"], True)

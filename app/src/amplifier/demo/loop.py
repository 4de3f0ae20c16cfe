"""The demo's agent loop: ask the model, run the tools it calls, until it answers."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.events import (
    ORCHESTRATOR_COMPLETE,
    PROMPT_COMPLETE,
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
)
from amplifier_core.hooks import HookRegistry
from amplifier_core.interfaces import ContextManager, Provider, Tool
from amplifier_core.message_models import ChatRequest, ChatResponse, Message, TextBlock, ToolCall, ToolSpec
from amplifier_core.models import HookResult, ToolResult

_PREVIEW = 200


class DemoLoop:
    """Runs turns with the first mounted provider; keeps nothing between them."""

    def __init__(self, max_rounds: int) -> None:
        self._max_rounds = max_rounds

    async def execute(
        self,
        prompt: str,
        context: ContextManager,
        providers: dict[str, Provider],
        tools: dict[str, Tool],
        hooks: HookRegistry,
        *,
        coordinator: ModuleCoordinator,
    ) -> str:
        """The model's answer to ``prompt``, or a sentence that says why there is none."""
        coordinator.reset_turn()
        turn = _Turn(context, next(iter(providers.values())), tools, hooks, coordinator)
        answer, status = await turn.run(prompt, self._max_rounds)
        facts = {"response": answer, "response_preview": answer[:_PREVIEW], "length": len(answer)}
        await hooks.emit(PROMPT_COMPLETE, facts)
        await hooks.emit(ORCHESTRATOR_COMPLETE, {"orchestrator": "demo-loop", "turn_count": 1, "status": status})
        return answer


async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> None:
    """Mounts the loop; ``max_rounds`` limits how often the model is asked in one turn."""
    await coordinator.mount("orchestrator", DemoLoop(max_rounds=config.get("max_rounds", 8)))


class _DeniedError(Exception):
    """A hook refused a step without which the turn cannot go on."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One prompt on its way to an answer."""

    context: ContextManager
    provider: Provider
    tools: dict[str, Tool]
    hooks: HookRegistry
    coordinator: ModuleCoordinator

    async def run(self, prompt: str, max_rounds: int) -> tuple[str, str]:
        """The answer and how the turn ended: ``success``, ``cancelled`` or ``incomplete``."""
        try:
            facts = await self._permitted(PROMPT_SUBMIT, {"prompt": prompt})
            await self.context.add_message({"role": "user", "content": facts["prompt"]})
            for _ in range(max_rounds):
                if self.coordinator.cancellation.is_cancelled:
                    return "Cancelled.", "cancelled"
                response = await self._query()
                calls = self.provider.parse_tool_calls(response)
                if not calls:
                    return _text_of(response), "success"
                await self._answer_calls(calls)
        except _DeniedError as denial:
            return f"Denied: {denial}", "incomplete"
        return f"There is no answer after {max_rounds} rounds; raise 'max_rounds' of the loop.", "incomplete"

    async def _query(self) -> ChatResponse:
        messages = await self.context.get_messages_for_request(provider=self.provider)
        facts = {"provider": self.provider.name, "messages": messages, "model": None}
        verdict = await self._tell(PROVIDER_REQUEST, facts)
        if verdict.action == "deny":
            raise _DeniedError(verdict.reason)
        if verdict.action == "inject_context":
            messages = [*messages, {"role": verdict.context_injection_role, "content": verdict.context_injection}]
        response = await self.provider.complete(
            ChatRequest(
                messages=[Message.model_validate(message) for message in messages],
                tools=[ToolSpec.from_tool(tool) for tool in self.tools.values()],
            )
        )
        await self._tell(
            PROVIDER_RESPONSE, {"provider": self.provider.name, "response": response, "usage": response.usage}
        )
        content = [block.model_dump(exclude_none=True) for block in response.content]
        await self.context.add_message({"role": "assistant", "content": content})
        return response

    async def _answer_calls(self, calls: list[ToolCall]) -> None:
        # The conversation must not keep a call without a result, however the tools end.
        open_calls = list(calls)
        try:
            while open_calls:
                result = await self._result_of(open_calls[0])
                await self._store_result(open_calls.pop(0), result)
        finally:
            for call in open_calls:
                stopped = ToolResult(success=False, error={"message": "stopped before it finished"})
                await self._store_result(call, stopped)

    async def _store_result(self, call: ToolCall, result: ToolResult) -> None:
        message = {"role": "tool", "tool_call_id": call.id, "name": call.name}
        await self.context.add_message({**message, "content": result.get_serialized_output()})

    async def _result_of(self, call: ToolCall) -> ToolResult:
        # A copy: what the hooks have seen is what the tool gets.
        facts = {"tool_name": call.name, "tool_call_id": call.id, "tool_input": deepcopy(call.arguments)}
        try:
            facts = await self._permitted(TOOL_PRE, facts)
        except _DeniedError as denial:
            return ToolResult(success=False, error={"message": f"Denied: {denial}"})
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            return ToolResult(success=False, error={"message": f"No tool '{call.name}'; mounted: {known}"})
        return await self._execute(tool, facts)

    async def _execute(self, tool: Tool, facts: dict[str, Any]) -> ToolResult:
        try:
            result = await tool.execute(facts["tool_input"])
        except Exception as error:
            await self._tell(TOOL_ERROR, {**facts, "error": {"type": type(error).__name__, "msg": str(error)}})
            return ToolResult(success=False, error={"message": f"{type(error).__name__}: {error}"})
        await self._tell(TOOL_POST, {**facts, "tool_result": result, "result": result})
        return result

    async def _permitted(self, event: str, facts: dict[str, Any]) -> dict[str, Any]:
        """``facts`` as the hooks leave them; raises ``_DeniedError`` when one refuses."""
        verdict = await self._tell(event, facts)
        if verdict.action == "deny":
            raise _DeniedError(verdict.reason or "a hook gave no reason")
        return {**facts, **(verdict.data or {})} if verdict.action == "modify" else facts

    async def _tell(self, event: str, facts: dict[str, Any]) -> HookResult:
        """What the hooks say to ``event``, after questions were asked and messages shown."""
        return await self.coordinator.process_hook_result(await self.hooks.emit(event, facts), event)


def _text_of(response: ChatResponse) -> str:
    return "\n".join(block.text for block in response.content if isinstance(block, TextBlock))

from typing import Any

from amplifier_core import ChatRequest, HookRegistry, Message, ToolResult, ToolSpec
from amplifier_core.events import (
    PROMPT_SUBMIT,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
)


class OpenLoop:
    def __init__(self, config: dict[str, Any]):
        self.max_iterations = config.get("max_iterations", 10)

    async def execute(
        self,
        prompt: str,
        context: Any,
        providers: dict[str, Any],
        tools: dict[str, Any],
        hooks: HookRegistry,
        **kwargs: Any,
    ) -> str:
        coordinator = kwargs.get("coordinator")
        result = await hooks.emit(PROMPT_SUBMIT, {"prompt": prompt})
        if coordinator:
            result = await coordinator.process_hook_result(result, PROMPT_SUBMIT, "orchestrator")
        if result.action == "deny":
            return f"Operation denied: {result.reason}"
        await context.add_message({"role": "user", "content": prompt})

        provider_name, provider = self._select_provider(providers)
        if provider is None:
            return "Error: No providers available"
        for _ in range(self.max_iterations):
            if hasattr(context, "get_messages_for_request"):
                messages = await context.get_messages_for_request(provider=provider)
            else:
                messages = await context.get_messages()
            await hooks.emit(PROVIDER_REQUEST, {"provider": provider_name, "messages": messages})
            request = ChatRequest(
                messages=[Message(**message) for message in messages],
                tools=[ToolSpec.from_tool(tool) for tool in tools.values()] or None,
            )
            response = await provider.complete(request)
            await hooks.emit(PROVIDER_RESPONSE, {"provider": provider_name, "usage": response.usage})
            await context.add_message({"role": "assistant", "content": [b.model_dump() for b in response.content]})
            tool_calls = provider.parse_tool_calls(response)
            if not tool_calls:
                return "".join(getattr(block, "text", "") for block in response.content)
            for tool_call in tool_calls:
                output = await self._call(tool_call, tools, hooks, coordinator)
                await context.add_message({"role": "tool", "tool_call_id": tool_call.id, "content": output})
        return "Error: too many iterations"

    def _select_provider(self, providers):
        if not providers:
            return None, None
        return sorted(providers.items(), key=lambda item: getattr(item[1], "priority", 100))[0]

    async def _call(self, tool_call, tools, hooks, coordinator) -> str:
        pre = await hooks.emit(TOOL_PRE, {"tool_name": tool_call.name, "tool_input": tool_call.arguments})
        if coordinator:
            pre = await coordinator.process_hook_result(pre, TOOL_PRE, tool_call.name)
        if pre.action == "deny":
            return f"Denied: {pre.reason}"
        tool = tools.get(tool_call.name)
        if tool is None:
            return f"Error: Tool '{tool_call.name}' not found"
        try:
            result: ToolResult = await tool.execute(tool_call.arguments)
        except Exception as e:
            await hooks.emit(TOOL_ERROR, {"tool_name": tool_call.name, "error": str(e)})
            return f"Error: {e}"
        await hooks.emit(TOOL_POST, {"tool_name": tool_call.name, "tool_result": result.model_dump()})
        return result.get_serialized_output()

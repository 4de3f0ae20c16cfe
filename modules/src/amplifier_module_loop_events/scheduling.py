"""A turn in which schedulers have a say: hooks may choose another tool for a call, or refuse it, before it runs."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from amplifier_core.events import PROVIDER_ERROR
from amplifier_core.models import ToolResult
from amplifier_modkit.events import ERROR_PROVIDER, ERROR_TOOL, TOOL_SELECTED, TOOL_SELECTING
from amplifier_modkit.messages import plain
from amplifier_modkit.turns.calls import RequestedCall
from amplifier_modkit.turns.gate import DeniedError, HookGate
from amplifier_modkit.turns.results import failure
from amplifier_modkit.turns.turn import Turn


class SchedulerGate(HookGate):
    """Tells failures of providers also under the name that schedulers listen to."""

    @override
    async def announce(self, event: str, data: dict[str, Any]) -> None:
        """Tells what has happened."""
        await super().announce(event, data)
        if event == PROVIDER_ERROR:
            facts = {"error_type": data["error"]["type"], "error_message": data["error"]["msg"]}
            await super().announce(ERROR_PROVIDER, {**facts, "severity": "error", "provider": data["provider"]})


class ScheduledTurn(Turn):
    """A turn whose tool calls go through ``tool:selecting`` and ``tool:selected``."""

    gate_class = SchedulerGate

    @override
    async def run_tool(self, call: RequestedCall, group_id: str) -> ToolResult:
        """One tool call as the schedulers want it, through all its hooks."""
        try:
            selected = await self._select(call, group_id)
        except DeniedError as denial:
            return failure(f"Denied: {denial}", type="denied")
        result = await super().run_tool(selected, group_id)
        if not result.success:
            await self._tell_failure(selected, result)
        return result

    async def _select(self, call: RequestedCall, group_id: str) -> RequestedCall:
        offered = {"tool_name": call.name, "tool": call.name, "tool_input": plain(call.arguments)}
        place = {"tool_call_id": call.id, "parallel_group_id": group_id}
        facts = {**offered, **place, "available_tools": list(self.world.tools)}
        chosen, is_modified = await self.gate.judge(TOOL_SELECTING, facts)
        # Schedulers say their choice under either name; whichever differs from the model's choice counts.
        name = next((chosen[key] for key in ("tool_name", "tool") if chosen.get(key) != call.name), call.name)
        arguments: Any = chosen["tool_input"] if is_modified else call.arguments
        told = {"tool_name": name, "tool": name, "tool_input": plain(arguments), **place}
        source = "scheduler" if name != call.name else "llm"
        await self.gate.permit(TOOL_SELECTED, {**told, "source": source, "original_tool": call.name})
        return RequestedCall(call.id, str(name), plain(arguments))

    async def _tell_failure(self, call: RequestedCall, result: ToolResult) -> None:
        error = result.error or {}
        facts = {"error_type": error.get("type", "ToolFailure"), "error_message": error.get("message", "")}
        await self.gate.announce(
            ERROR_TOOL, {**facts, "severity": "error", "tool_name": call.name, "tool_call_id": call.id}
        )

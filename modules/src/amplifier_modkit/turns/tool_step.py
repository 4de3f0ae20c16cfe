"""One tool call, from ``tool:pre`` to ``tool:post`` or ``tool:error``: what hooks judged is what runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from copy import deepcopy
from inspect import isawaitable
from typing import Any

from amplifier_core.cancellation import CancellationToken
from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE
from amplifier_core.interfaces import Tool
from amplifier_core.models import ToolResult
from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.current_call import carrying_out
from amplifier_modkit.messages import plain
from amplifier_modkit.turns.calls import ArgumentChecker, CallError, RequestedCall, read_arguments
from amplifier_modkit.turns.gate import DeniedError, HookGate
from amplifier_modkit.turns.results import failure, to_result
from amplifier_modkit.turns.stopping import GRACE_S, finish, is_being_cancelled

logger = logging.getLogger(__name__)

Facts = dict[str, Any]

STOPPED = "Stopped before it finished; it may have had effects already."
CANCELLED_ITSELF = "The tool cancelled itself; it may have had effects already."
_MOST_TOOLS_NAMED = 50
_MOST_NAME_CHARS = 200


class ToolStep:
    """Carries out tool calls for one turn; whatever happens to a call, there is a result to tell the model.

    Only a cancellation of the task comes out as an exception.
    """

    def __init__(
        self,
        gate: HookGate,
        tools: Mapping[str, Tool],
        token: CancellationToken,
        *,
        checks_arguments: bool = True,
        timeout_s: float | None = None,
    ) -> None:
        self._gate = gate
        self._tools = tools
        self._token = token
        self._checker = ArgumentChecker() if checks_arguments else None
        self._timeout_s = timeout_s

    async def run(self, call: RequestedCall, group_id: str) -> ToolResult:
        """The result of ``call``; ``group_id`` names the calls that the model made together with it."""
        facts: Facts = {"tool_name": call.name, "tool_call_id": call.id, "parallel_group_id": group_id}
        try:
            tool = self._require_tool(call.name)
            arguments = self._fitting(call.name, tool, plain(read_arguments(call)))
            # Hooks get a copy: only by a ``modify``, which guards judge, can anybody change what will run.
            facts, is_modified = await self._gate.judge(TOOL_PRE, {**facts, "tool_input": plain(arguments)})
            if is_modified:
                # Guards judged this name with these arguments, so nothing else may run.
                tool = self._require_tool(facts["tool_name"])
                arguments = self._fitting(facts["tool_name"], tool, deepcopy(facts["tool_input"]))
                facts |= {"tool_call_id": call.id, "parallel_group_id": group_id}
        except DeniedError as denial:
            return failure(f"Denied: {denial}", type="denied")
        except CallError as error:
            return await self._tell_error(facts, error, str(error))
        except Exception as error:
            return await self._tell_error(facts, error, f"{type(error).__name__}: {error}")
        if is_being_cancelled():
            raise asyncio.CancelledError  # a hook has swallowed it, and nothing may begin any more
        return await self._execute(tool, arguments, facts)

    def _require_tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            known = sorted(self._tools)[:_MOST_TOOLS_NAMED]
            told = clip_chars(str(name), _MOST_NAME_CHARS)
            raise CallError(f"There is no tool '{told}'. Available tools: {', '.join(known) or 'none'}.")
        return tool

    def _fitting(self, name: str, tool: Tool, arguments: Any) -> dict[str, Any]:
        if not isinstance(arguments, dict):
            raise CallError(f"A hook replaced the arguments of tool '{name}' by something that is no object.")
        if self._checker is not None:
            self._checker.require_fit(name, tool, arguments)  # pyright: ignore[reportUnknownArgumentType]
        return arguments  # pyright: ignore[reportUnknownVariableType]

    async def _execute(self, tool: Tool, arguments: dict[str, Any], facts: Facts) -> ToolResult:
        call_id: str = facts["tool_call_id"]
        self._token.register_tool_start(call_id, facts["tool_name"])
        started = time.perf_counter()
        try:
            with carrying_out(call_id):
                result = to_result(await self._within_time(tool.execute(arguments)))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            return await self._tell_error({**facts, "duration_ms": _ms_since(started)}, error, told)
        except asyncio.CancelledError as error:
            facts = {**facts, "duration_ms": _ms_since(started)}
            if is_being_cancelled():
                await finish(self._tell_error(facts, asyncio.CancelledError(STOPPED), STOPPED))
                raise
            return await self._tell_error(facts, error, CANCELLED_ITSELF)
        finally:
            self._token.register_tool_complete(call_id)
        return await self._tell_result({**facts, "duration_ms": _ms_since(started)}, result)

    async def _within_time(self, work: Any) -> Any:
        if not isawaitable(work):
            return work
        if self._timeout_s is None:
            return await work
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task,), timeout=self._timeout_s)
        finally:
            is_late = not task.done()
            if is_late:
                task.cancel()
                await finish(_cleaned_up(task))
        if is_late:
            raise TimeoutError(f"the tool did not end within {self._timeout_s:g} s and was stopped")
        return task.result()

    async def _tell_result(self, facts: Facts, result: ToolResult) -> ToolResult:
        shown = result.safe_hook_presentation()
        before = shown.copy()  # hooks may write into what they are shown, and hand that back
        try:
            told, is_modified = await self._gate.judge(TOOL_POST, {**facts, "tool_result": result, "result": shown})
        except DeniedError as denial:
            return failure(f"Denied: {denial}", type="denied")
        given = told["result"] if is_modified and told["result"] != before else told["tool_result"]
        return to_result(given)

    async def _tell_error(self, facts: Facts, error: BaseException, told: str) -> ToolResult:
        details = {"type": type(error).__name__, "msg": str(error)}
        if not isinstance(facts.get("tool_input", {}), dict):
            facts = {key: value for key, value in facts.items() if key != "tool_input"}
        verdict = await self._gate.tell(TOOL_ERROR, {**facts, "error": details})
        if verdict.action == "deny":
            return failure(f"Denied: {verdict.reason or 'no reason was given'}", type="denied")
        return failure(told, type=details["type"])


async def _cleaned_up(task: asyncio.Future[Any]) -> None:
    await asyncio.wait((task,), timeout=GRACE_S)
    if not task.done():
        logger.error("A tool ignores its cancellation for %g s and is left behind: %r", GRACE_S, task)
    elif not task.cancelled():
        task.exception()  # what it raises after its time is up is nobody's business any more


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)

"""One call of a tool as a loop would make it: hooks judge it before, and are told its result.

The loop that does this for agents is a module, and the command knows modules by their ids alone. So this is the step of
the orchestrator contract by itself, on the kernel's own means: ``tool:pre`` goes through ``process_hook_result``, which
asks whoever answers questions; what hooks judged is what runs; ``tool:post`` or ``tool:error`` follows.
"""

from __future__ import annotations

import time
from copy import deepcopy
from typing import Any, NamedTuple, cast
from uuid import uuid4

from amplifier.nearest import nearest
from amplifier.problems import Problem, UsageProblem

Arguments = dict[str, Any]


class Answer(NamedTuple):
    """What a call gave back."""

    success: bool
    output: Any
    error: str | None
    duration_ms: float


class DeniedProblem(Problem):
    """A hook or a person did not allow the call."""

    kind = "denied"


async def invoke(session: Any, name: str, arguments: Arguments) -> Answer:
    """Calls a tool of a session; raises ``DeniedProblem`` for a call that is not allowed."""
    from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE

    coordinator = session.coordinator
    tool = require_tool(session, name)
    facts: dict[str, Any] = {"tool_name": name, "tool_call_id": f"call-{uuid4().hex[:12]}"}
    judged = await _told(coordinator, TOOL_PRE, {**facts, "tool_input": deepcopy(arguments)})
    if judged is not None:
        # Guards judged this name with these arguments, so nothing else may run.
        tool, arguments = require_tool(session, str(judged["tool_name"])), deepcopy(judged["tool_input"])
        facts["tool_name"] = judged["tool_name"]
    facts["tool_input"] = arguments
    started = time.perf_counter()
    try:
        result = _as_result(await tool.execute(deepcopy(arguments)))
    except Exception as error:
        facts["duration_ms"] = _ms_since(started)
        await _told(coordinator, TOOL_ERROR, {**facts, "error": {"type": type(error).__name__, "msg": str(error)}})
        return Answer(False, None, f"{type(error).__name__}: {error}", facts["duration_ms"])
    facts["duration_ms"] = _ms_since(started)
    shown = result.safe_hook_presentation()
    before = shown.copy()  # hooks may write into what they are shown, and hand that back
    told = await _told(coordinator, TOOL_POST, {**facts, "tool_result": result, "result": shown})
    if told is not None:
        result = _as_result(told["result"] if told["result"] != before else told["tool_result"])
    return Answer(result.success, result.output, _error_text(result.error), facts["duration_ms"])


def require_tool(session: Any, name: str) -> Any:
    """The tool of this name; raises ``UsageProblem`` with the nearest one if there is none."""
    tools: dict[str, Any] = session.coordinator.get("tools")
    if name in tools:
        return tools[name]
    near = nearest(name, tools)
    meant = f"; did you mean '{near}'?" if near else "."
    raise UsageProblem(f"There is no tool '{name}'{meant}", f"There is: {', '.join(sorted(tools)) or 'none'}.")


async def _told(coordinator: Any, event: str, data: dict[str, Any]) -> dict[str, Any] | None:
    """Emits an event and does what hooks ask; the data they left, if they changed them."""
    result = await coordinator.hooks.emit(event, data)
    verdict = await coordinator.process_hook_result(result, event)
    if verdict.action == "deny":
        raise DeniedProblem(
            f"The call is not allowed: {verdict.reason or 'a hook refuses it'}",
            "Rules are in permissions.allow (amplifier config); --permission-mode says how much is asked.",
        )
    changed = verdict.data if verdict.action in ("modify", "inject_context") else None
    return None if changed is None else {**data, **changed}


def _as_result(given: Any) -> Any:
    """A result in the kernel's form; hooks may give a dict, and a tool may give its output alone."""
    from amplifier_core.models import ToolResult

    if isinstance(given, ToolResult):
        return given
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return ToolResult.model_validate(fields) if "success" in fields else ToolResult(output=cast("Any", given))


def _error_text(error: dict[str, Any] | None) -> str | None:
    return None if error is None else str(error.get("message", error))


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)

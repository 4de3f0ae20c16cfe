"""What tools can be asked to do: to execute input that fits, that does not, and that is far too large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amplifier_core.message_models import ToolSpec
from amplifier_core.models import ToolResult
from amplifier_kit.chaos._calls import describe
from amplifier_kit.chaos._exercises import Exercise, shown
from amplifier_kit.chaos._samples import fitting_input, huge_inputs, malformed_inputs
from amplifier_kit.chaos._stage import Stage


def ordinary(stage: Stage) -> list[Exercise]:
    """Each tool of the module with input that fits."""
    return [_execution(tool, name, _fitting(stage, tool)) for name, tool in stage.own("tools").items()]


def malformed(stage: Stage) -> Iterator[Exercise]:
    """Each tool with everything that a model may give it by mistake."""
    for name, tool in stage.own("tools").items():
        for given in malformed_inputs(_schema(tool), _fitting(stage, tool)):
            yield _execution(tool, name, given)


def huge(stage: Stage) -> Iterator[Exercise]:
    """Each tool with input of a megabyte."""
    for name, tool in stage.own("tools").items():
        for given in huge_inputs(_schema(tool), _fitting(stage, tool)):
            yield _execution(tool, name, given)


def _execution(tool: Any, name: str, given: dict[str, Any]) -> Exercise:
    return Exercise(
        told=f"execute({shown(given)}) of tool '{name}'",
        call=lambda: tool.execute(given),
        complaint=_complaint,
        is_success=lambda result: result.success,
    )


def _complaint(result: Any) -> str | None:
    if not isinstance(result, ToolResult):
        return f"returned {shown(result)}, expected a ToolResult"
    try:
        result.get_serialized_output()
    except Exception as error:
        return f"returned a ToolResult that cannot be told to a model: {describe(error)}"
    return None


def _fitting(stage: Stage, tool: Any) -> dict[str, Any]:
    given = stage.subject.sample_input
    return fitting_input(_schema(tool)) if given is None else dict(given)


def _schema(tool: Any) -> dict[str, Any]:
    try:
        return ToolSpec.from_tool(tool).parameters
    except Exception:  # a broken schema is a finding of the validators; chaos goes on without
        return {}

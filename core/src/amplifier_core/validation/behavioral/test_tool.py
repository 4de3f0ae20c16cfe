"""The behaviour of a tool."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core._error_text import describe_error
from amplifier_core.models import ToolResult
from amplifier_core.validation.behavioral._promises import CRASHES, no_crash, require_all_members

_ALMOST_EMPTY_INPUT = {"_tool_call_id": "test-call-id"}
_FAILED_RESULT = "return ToolResult(success=False, error={'message': …}) for input it cannot use"


class ToolBehaviorTests:
    """What every tool promises a loop that calls it; to be inherited by its author's tests."""

    @pytest.mark.asyncio
    async def test_mount_succeeds(self, tool_module: Any) -> None:
        """Mounting puts a complete tool in place."""
        require_all_members("tool", tool_module)

    @pytest.mark.asyncio
    async def test_tool_has_name(self, tool_module: Any) -> None:
        """The tool has a name by which the model calls it."""
        name = tool_module.name
        assert isinstance(name, str), f"The tool's name is {type(name).__name__}, expected a string"
        assert name, "The tool's name is empty: the model calls the tool by it"

    @pytest.mark.asyncio
    async def test_tool_has_description(self, tool_module: Any) -> None:
        """The tool has a description for the model."""
        description = tool_module.description
        assert isinstance(description, str), (
            f"The tool's description is {type(description).__name__}, expected a string"
        )
        assert description, "The tool's description is empty: the model chooses a tool by what it reads there"

    @pytest.mark.asyncio
    async def test_tool_has_execute_method(self, tool_module: Any) -> None:
        """The tool can be executed."""
        assert callable(getattr(tool_module, "execute", None)), (
            f"{type(tool_module).__name__} has no execute() method; write: async def execute(self, input) -> ToolResult"
        )

    @pytest.mark.asyncio
    async def test_execute_returns_tool_result(self, tool_module: Any) -> None:
        """Executing gives a result, also when the input lacks what the tool needs."""
        result = await _result_of(tool_module)
        assert isinstance(result, ToolResult), (
            f"execute({_ALMOST_EMPTY_INPUT}) returned {type(result).__name__}, expected ToolResult; {_FAILED_RESULT}"
        )

    @pytest.mark.asyncio
    async def test_tool_result_has_required_fields(self, tool_module: Any) -> None:
        """A result says whether it is a success, what came out, and what went wrong."""
        result = await _result_of(tool_module)
        missing = [field for field in ("success", "output", "error") if not hasattr(result, field)]
        assert not missing, f"The result of execute() lacks {', '.join(missing)}; return a ToolResult"
        assert isinstance(result.success, bool), (
            f"success of the result is {type(result.success).__name__}, expected True or False"
        )

    @pytest.mark.asyncio
    async def test_invalid_input_returns_error_result(self, tool_module: Any) -> None:
        """Input that the tool does not know leads to a result or a refusal, never to a crash."""
        unknown = {"__invalid_parameter__": "no tool has this"}
        with no_crash(f"execute({unknown})", f"Look at the input first; {_FAILED_RESULT}.", (*CRASHES, KeyError)):
            result = await tool_module.execute(unknown)
            if not isinstance(result, ToolResult):
                pytest.fail(f"execute({unknown}) returned {type(result).__name__}; {_FAILED_RESULT}", pytrace=False)


async def _result_of(tool: Any) -> Any:
    try:
        return await tool.execute(dict(_ALMOST_EMPTY_INPUT))
    except Exception as error:
        pytest.fail(f"execute({_ALMOST_EMPTY_INPUT}) raised {describe_error(error)}; {_FAILED_RESULT}")

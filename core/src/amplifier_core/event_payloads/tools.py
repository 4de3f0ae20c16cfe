"""Tools: payloads of the events around a tool call and what tools do to files."""

from typing import Annotated, Any, NotRequired

from pydantic import Field

from amplifier_core.event_payloads.base import DurationMs, ErrorDetails, EventDefaults

ToolInput = Annotated[dict[str, Any], Field(description="The arguments of the call.")]


class ToolCallFields(EventDefaults):
    """What identifies a tool call in each of its events."""

    tool_name: Annotated[str, Field(description="Name of the tool.")]
    tool_call_id: NotRequired[Annotated[str, Field(description="Id that the model gave to the call.")]]
    parallel_group_id: NotRequired[
        Annotated[str, Field(description="Id that the calls of one model answer share, as they run together.")]
    ]


class ToolPre(ToolCallFields):
    """Emitted by the orchestrator: a tool is about to run.

    A deny keeps it from running and its reason becomes the result; modified `tool_input` is what the tool gets.
    """

    tool_input: ToolInput


class ToolPost(ToolCallFields):
    """Emitted by the orchestrator: a tool has returned, with success or without.

    A tool that reports failure in its result ends here; one that raises ends in `tool:error`. Never both.
    """

    tool_input: ToolInput
    tool_result: Annotated[Any, Field(description="What the tool returned, usually a `ToolResult`: the very object.")]
    result: NotRequired[
        Annotated[
            Any,
            Field(description="The same as a dict with `success`, `output` and `error`; a `modify` of either counts."),
        ]
    ]
    duration_ms: NotRequired[DurationMs]


class ToolError(ToolCallFields):
    """Emitted by the orchestrator: a tool raised, there is no tool of that name, or the arguments do not fit it."""

    tool_input: NotRequired[ToolInput]
    error: Annotated[ErrorDetails, Field(description="What went wrong.")]
    duration_ms: NotRequired[DurationMs]


class ArtifactRead(EventDefaults):
    """Emitted by a tool: it has read a file."""

    path: Annotated[str, Field(description="Path of the file.")]
    bytes: Annotated[int, Field(description="Number of bytes read.")]


class ArtifactWrite(EventDefaults):
    """Emitted by a tool: it has written a file."""

    path: Annotated[str, Field(description="Path of the file.")]
    bytes: Annotated[int, Field(description="Number of bytes written.")]

"""Approvals and policy: payloads of the events by which a guard tells what it asked for and decided."""

from typing import Annotated, NotRequired

from pydantic import Field

from amplifier_core.event_payloads.base import EventDefaults

ToolName = Annotated[str, Field(description="Name of the tool that wants to run.")]
ToolCallId = Annotated[str, Field(description="Id of the tool call in question.")]


class ApprovalRequired(EventDefaults):
    """Emitted by a hook: it is about to ask whether a tool may run."""

    tool_name: ToolName
    action: Annotated[str, Field(description="What the tool would do, in words for the user.")]
    risk_level: Annotated[str, Field(description="How risky the hook thinks that is, for example `high`.")]
    tool_call_id: NotRequired[ToolCallId]


class ApprovalVerdict(EventDefaults):
    """What both answers to an approval request carry."""

    tool_name: ToolName
    reason: Annotated[str | None, Field(description="Why it was decided so, or nothing if no reason was given.")]
    tool_call_id: NotRequired[ToolCallId]


class ApprovalGranted(ApprovalVerdict):
    """Emitted by a hook: the tool may run."""


class ApprovalDenied(ApprovalVerdict):
    """Emitted by a hook: the tool may not run."""


class PolicyViolation(EventDefaults):
    """Emitted by a hook: something broke a rule, whether or not it was stopped."""

    reason: Annotated[str, Field(description="Which rule was broken and how.")]
    policy: NotRequired[Annotated[str, Field(description="Name of the rule.")]]
    tool_name: NotRequired[Annotated[str, Field(description="Name of the tool that broke it.")]]
    tool_call_id: NotRequired[ToolCallId]

"""The moments at which command hooks run: their names in the convention, our events, and what a command is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amplifier_core.events import (
    CONTEXT_PRE_COMPACT,
    ORCHESTRATOR_COMPLETE,
    PROMPT_SUBMIT,
    SESSION_END,
    SESSION_RESUME,
    SESSION_START,
    TOOL_ERROR,
    TOOL_POST,
    TOOL_PRE,
    USER_NOTIFICATION,
)

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """One kind of moment."""

    name: str
    events: tuple[str, ...]
    fields: Mapping[str, str]
    """What a command is told beside the common fields: its name there, and the field of the event."""
    subject: str = ""
    """The field, by its name there, that a matcher is about."""
    can_refuse: bool = False
    """Whether what is told can still be prevented."""
    can_advise: bool = False
    """Whether a reason or a text for the model still reaches it."""
    takes_text: bool = False
    """Whether plain output is a text for the model."""


_TOOL = {"tool_name": "tool_name", "tool_input": "tool_input", "tool_use_id": "tool_call_id"}
_STOP = {"status": "status", "reason": "reason", "orchestrator": "orchestrator"}

MOMENTS: tuple[Moment, ...] = (
    Moment("PreToolUse", (TOOL_PRE,), _TOOL, "tool_name", can_refuse=True, can_advise=True),
    Moment("PostToolUse", (TOOL_POST,), {**_TOOL, "tool_response": "result"}, "tool_name", can_advise=True),
    Moment("PostToolUseFailure", (TOOL_ERROR,), {**_TOOL, "error": "error"}, "tool_name", can_advise=True),
    Moment(
        "UserPromptSubmit", (PROMPT_SUBMIT,), {"prompt": "prompt"}, can_refuse=True, can_advise=True, takes_text=True
    ),
    Moment("Stop", (ORCHESTRATOR_COMPLETE,), _STOP, can_advise=True),
    Moment("SubagentStop", (ORCHESTRATOR_COMPLETE,), _STOP, can_advise=True),
    Moment("SessionStart", (SESSION_START, SESSION_RESUME), {}, "source", takes_text=True),
    Moment("SessionEnd", (SESSION_END,), {"reason": "status"}, "reason"),
    Moment("PreCompact", (CONTEXT_PRE_COMPACT,), {"message_count": "message_count"}, "trigger", can_refuse=True),
    Moment("Notification", (USER_NOTIFICATION,), {"message": "message", "level": "level"}),
)
BY_NAME = {moment.name: moment for moment in MOMENTS}

_SOURCES = {SESSION_START: "startup", SESSION_RESUME: "resume"}


def moment_of(event: str, data: Data) -> Moment:
    """The moment that ``event`` is; the end of a turn differs for a session that another one has started."""
    if event == ORCHESTRATOR_COMPLETE:
        return BY_NAME["SubagentStop" if data.get("parent_id") else "Stop"]
    return next(moment for moment in MOMENTS if event in moment.events)


def told(moment: Moment, event: str, data: Data) -> Data:
    """What a command is told of the event, beside the common fields."""
    fields = {name: data[field] for name, field in moment.fields.items() if field in data}
    if moment.name == "PostToolUse" and "tool_response" not in fields and "tool_result" in data:
        fields["tool_response"] = data["tool_result"]
    if moment.name == "SessionStart":
        fields["source"] = _SOURCES[event]
    if moment.name == "PreCompact":
        fields["trigger"] = "auto"
    if moment.name in ("Stop", "SubagentStop"):
        # Nothing that a command says makes the turn go on, so none is ever asked because of another one.
        fields["stop_hook_active"] = False
    return fields

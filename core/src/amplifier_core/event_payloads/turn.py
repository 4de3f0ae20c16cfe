"""Turns: payloads of the events around one prompt and its answer."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from amplifier_core.event_payloads.base import DurationMs, EventDefaults

Prompt = Annotated[str, Field(description="The user's prompt.")]
Reason = Annotated[
    str,
    Field(
        description="Why there is no plain answer: `max_iterations`, `repeated_calls`, `denied`, `refused`, `empty`, "
        "`cancelled` or `error`."
    ),
]
ErrorText = Annotated[str, Field(description="Type and text of the exception that ended the turn.")]


class PromptSubmit(EventDefaults):
    """Emitted by the orchestrator: a prompt has arrived and nothing has been done with it.

    A deny ends the turn before the prompt enters the context.
    """

    prompt: Prompt


class PromptComplete(EventDefaults):
    """Emitted by the orchestrator: the prompt is answered."""

    response_preview: Annotated[str, Field(description="The first 200 characters of the answer.")]
    length: Annotated[int, Field(description="Number of characters of the whole answer.")]
    response: NotRequired[Annotated[str, Field(description="The whole answer.")]]


class PlanStart(EventDefaults):
    """Emitted by the orchestrator: it begins to plan before it acts.

    Only from an orchestrator that plans.
    """

    prompt: NotRequired[Annotated[str, Field(description="What the plan is made for.")]]


class PlanEnd(EventDefaults):
    """Emitted by the orchestrator: its plan is made.

    Only from an orchestrator that plans.
    """

    plan: NotRequired[Annotated[Any, Field(description="The plan in the orchestrator's own form.")]]


class ExecutionStart(EventDefaults):
    """Emitted by the orchestrator: its loop begins to work on a prompt."""

    prompt: Prompt


class ExecutionEnd(EventDefaults):
    """Emitted by the orchestrator: its loop stops working on a prompt, whatever the reason."""

    response: Annotated[str, Field(description="The answer, empty if there is none.")]
    status: Annotated[Literal["completed", "cancelled", "error"], Field(description="Why the loop stopped.")]
    reason: NotRequired[Reason]
    error: NotRequired[ErrorText]
    duration_ms: NotRequired[DurationMs]


class OrchestratorComplete(EventDefaults):
    """Emitted by the orchestrator: the turn is over, and everything it had to say has been emitted."""

    orchestrator: Annotated[str, Field(description="Name of the orchestrator.")]
    turn_count: Annotated[int, Field(description="Number of model calls that the turn took.")]
    status: Annotated[
        Literal["success", "incomplete", "cancelled"],
        Field(description="How the turn ended; `incomplete` means that a limit stopped it."),
    ]
    reason: NotRequired[Reason]
    error: NotRequired[ErrorText]
    duration_ms: NotRequired[DurationMs]
    continuations: NotRequired[
        Annotated[int, Field(description="How often the loop went on by itself to reach a goal.")]
    ]
    goal_turn: NotRequired[
        Annotated[
            int | None, Field(description="Number of this turn among those spent on a goal, or nothing without one.")
        ]
    ]
    goal_final: NotRequired[Annotated[bool, Field(description="Whether work on the goal ends with this turn.")]]


class CancelRequested(EventDefaults):
    """Emitted by the orchestrator: it has noticed that somebody wants the turn cancelled.

    Once per turn. The request itself, made through the coordinator or the token, emits nothing.
    """

    was_immediate: NotRequired[
        Annotated[bool, Field(description="Whether running work is to be stopped instead of finished.")]
    ]
    running_tools: NotRequired[
        Annotated[list[str], Field(description="Names of the tools that are running at this moment.")]
    ]


class CancelCompleted(EventDefaults):
    """Emitted by the kernel or the orchestrator: a cancelled turn has come to its end."""

    was_immediate: Annotated[bool, Field(description="Whether running work was stopped instead of finished.")]
    error: NotRequired[Annotated[str, Field(description="Text of the exception that ended the turn, where one did.")]]


class UserNotification(EventDefaults):
    """Emitted by the app or any module: there is something the user should notice."""

    message: Annotated[str, Field(description="What to tell the user.")]
    level: NotRequired[Annotated[Literal["info", "warning", "error"], Field(description="How serious it is.")]]
    source: NotRequired[Annotated[str, Field(description="Who says so, for example a module id.")]]

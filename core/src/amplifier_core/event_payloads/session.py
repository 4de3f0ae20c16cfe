"""Session: payloads of the events that mark the life of a session."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from amplifier_core.event_payloads.base import ParentId, SessionId, Timestamped

RedactedPlan = Annotated[
    dict[str, Any], Field(description="The whole mount plan with secrets replaced; present in raw mode only.")
]
Metadata = Annotated[
    dict[str, Any], Field(description="The `session.metadata` of the mount plan; present when it is not empty.")
]


class SessionOpening(Timestamped):
    """What a session tells about itself before its first turn."""

    session_id: SessionId
    parent_id: ParentId
    config: Annotated[dict[str, Any], Field(description="The session's mount plan with secrets replaced.")]
    metadata: NotRequired[Metadata]
    raw: NotRequired[RedactedPlan]


class SessionStart(SessionOpening):
    """Emitted by the kernel: a new session is about to run its first turn.

    Once per session object, however often it runs; a resumed session emits `session:resume` instead.
    """


class SessionResume(SessionOpening):
    """Emitted by the kernel: a resumed session is about to run its first turn.

    Once per session object, in place of `session:start`.
    """


class SessionFork(Timestamped):
    """Emitted by the kernel: a child session is initialised.

    It comes from the child, after all its modules are mounted and ready.
    """

    parent: Annotated[str, Field(description="Id of the parent session, the same as `parent_id`.")]
    session_id: SessionId
    parent_id: NotRequired[ParentId]
    metadata: NotRequired[Metadata]
    raw: NotRequired[RedactedPlan]


class SessionEnd(Timestamped):
    """Emitted by the kernel: a session that was initialised begins its clean-up.

    Once per initialised life, before any clean-up function runs, so that the modules still work.
    """

    session_id: SessionId
    parent_id: NotRequired[ParentId]
    status: Annotated[
        Literal["running", "completed", "failed", "cancelled"],
        Field(description="How the last turn ended; `running` if there was none."),
    ]
    stats: Annotated[
        dict[str, Any],
        Field(description="The session's status as JSON data: times, counters, cost and the last error."),
    ]


class SessionConfig(Timestamped):
    """Emitted by the kernel: a turn is about to run in a session whose plan asks for raw mode.

    Raw mode is `session.raw: true` in the mount plan.
    """

    session_id: SessionId
    parent_id: NotRequired[ParentId]
    raw: Annotated[dict[str, Any], Field(description="The whole mount plan with secrets replaced.")]

"""What several payloads share: the default fields of every event, the id of a model call, and how a failure is told.

Every payload admits further fields: a module may add its own, and nobody may refuse an event for having them.
"""

from typing import Annotated, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

SessionId = Annotated[str, Field(description="Id of the session that the event belongs to.")]
ParentId = Annotated[str | None, Field(description="Id of the parent session, or nothing for a top-level session.")]

DurationMs = Annotated[float, Field(description="How long it took, in milliseconds.")]

OPEN = ConfigDict(extra="allow")


@with_config(OPEN)
class Timestamped(TypedDict):
    """The one field that the hook registry itself writes."""

    timestamp: NotRequired[
        Annotated[str, Field(description="When the event was emitted, in UTC, as ISO 8601 text ending in `+00:00`.")]
    ]


class EventDefaults(Timestamped):
    """The fields that a session adds to every event on its way to the handlers; an emitter leaves them out."""

    session_id: NotRequired[SessionId]
    parent_id: NotRequired[ParentId]


class CorrelatedDefaults(EventDefaults):
    """The default fields of the events of one model call, which share an id."""

    request_id: NotRequired[
        Annotated[
            str, Field(description="Id that all events of one model call share; added where the emitter has none.")
        ]
    ]


@with_config(OPEN)
class ErrorDetails(TypedDict):
    """A failure, told in two texts."""

    type: Annotated[str, Field(description="Class name of the exception.")]
    msg: Annotated[str, Field(description="Text of the exception.")]

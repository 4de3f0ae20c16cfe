"""What a vendor gives to the kit: its requests and answers as data, without client and clock.

A vendor implements ``Wire`` with pure functions; everything that takes time or can fail on the way is the kit's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from amplifier_core.message_models import ChatRequest, ChatResponse, Degradation
from amplifier_core.models import ModelInfo

STOP = "stop"
TOOL_CALLS = "tool_calls"
LENGTH = "length"
CONTENT_FILTER = "content_filter"
PAUSE = "pause"
OTHER = "other"
FINISH_REASONS = frozenset({STOP, TOOL_CALLS, LENGTH, CONTENT_FILTER, PAUSE, OTHER})
"""Why an answer ended: said all, wants tools, was cut at a limit, was refused or filtered, wants to go on, or what a
vendor says beside these. The vendor's own word goes into ``metadata["stop_reason"]``."""

PieceKind = Literal["start", "delta", "end"]
BlockType = Literal["text", "thinking", "tool_use"]


@dataclass(frozen=True, slots=True)
class WireCall:
    """One HTTP request as data; ``path`` is joined to the base URL, ``headers`` come beside the authorisation.

    ``facts`` are told with ``llm:request``: ``thinking_enabled``, ``thinking_budget``.
    """

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    degradations: Sequence[Degradation] = ()
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Piece:
    """Something to tell while a stream runs: a block begins, grows or ends.

    Never changed once made; not frozen only because a frozen one takes three times as long to make.
    """

    kind: PieceKind
    index: int
    block_type: BlockType
    text: str = ""
    name: str | None = None


class WireError(Exception):
    """The vendor said no inside an answer that began well; ``status`` is the HTTP status that it would have had."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code


class StreamReader(Protocol):
    """One answer, put together from its stream."""

    def feed(self, event: str, data: str) -> Iterable[Piece]:
        """Takes one server-sent event (``event`` is ``"message"`` where the vendor names none).

        Raises ``WireError`` for an error that the vendor sends, ``ValueError`` for data that cannot be read.
        """
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the vendor's last event came."""
        ...

    def response(self) -> ChatResponse:
        """The whole answer, or what came so far."""
        ...


class Wire(Protocol):
    """How one vendor writes requests and answers."""

    def to_call(self, request: ChatRequest, model: str, *, stream: bool) -> WireCall:
        """The request for ``model`` as the vendor reads it.

        Its history is in order (see ``repair``): calls stand in the content as blocks, each is answered by a ``tool``
        message. Keywords of ``complete()`` are among the request's extras. Raises ``InvalidRequestError`` for what
        cannot be sent.
        """
        ...

    def read_answer(self, body: Mapping[str, Any]) -> ChatResponse:
        """The answer in ``body``; raises ``WireError`` where it is an error, ``ValueError`` where it is none at all."""
        ...

    def open_stream(self) -> StreamReader:
        """A reader for one streamed answer."""
        ...

    def read_models(self, body: Mapping[str, Any]) -> list[ModelInfo]:
        """The models that the vendor lists."""
        ...

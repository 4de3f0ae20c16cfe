"""What a module of each kind must offer, as protocols for type checkers and ``isinstance``, and the kernel's own check.

The kernel checks with ``implements``: ``isinstance`` with a protocol differs between Python versions and does not catch
what properties raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import BaseModel, Field, field_validator

from amplifier_core.message_models import ChatRequest, ChatResponse, ToolCall
from amplifier_core.models import HookResult, ModelInfo, ProviderInfo, ToolResult

if TYPE_CHECKING:
    from amplifier_core.hooks import HookRegistry


@runtime_checkable
class Orchestrator(Protocol):
    """Runs the agent loop of one turn."""

    async def execute(
        self,
        prompt: str,
        context: ContextManager,
        providers: dict[str, Provider],
        tools: dict[str, Tool],
        hooks: HookRegistry,
        **kwargs: Any,
    ) -> str:
        """Answers ``prompt``.

        An implementation may leave ``**kwargs`` out: the kernel passes ``coordinator`` and the caller's options only to
        one that takes them.
        """
        ...


@runtime_checkable
class Provider(Protocol):
    """Translates between the kernel's messages and one vendor's API."""

    @property
    def name(self) -> str:
        """The name under which it is mounted."""
        ...

    def get_info(self) -> ProviderInfo:
        """Describes the provider."""
        ...

    async def list_models(self) -> list[ModelInfo]:
        """Lists the models it offers."""
        ...

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Answers a request."""
        ...

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """Reads the tool calls out of a response."""
        ...


@runtime_checkable
class Tool(Protocol):
    """Something the model can call.

    A tool may also describe its input with ``input_schema`` or ``get_schema()``; ``ToolSpec.from_tool`` reads either.
    """

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model to read."""
        ...

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Does the work; a failure is a result as well."""
        ...


@runtime_checkable
class ContextManager(Protocol):
    """Remembers the conversation and decides what of it fits into a request."""

    async def add_message(self, message: dict[str, Any]) -> None:
        """Appends a message."""
        ...

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[dict[str, Any]]:
        """The messages to send, compacted to the budget that is given or that ``provider`` implies."""
        ...

    async def get_messages(self) -> list[dict[str, Any]]:
        """All messages, never compacted."""
        ...

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces all messages, to resume a session."""
        ...

    async def clear(self) -> None:
        """Forgets all messages."""
        ...


@runtime_checkable
class HookHandler(Protocol):
    """Observes or guards the events it is registered for."""

    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        """Answers one event."""
        ...


class ApprovalRequest(BaseModel):
    """What a tool wants to do and how risky that is; ``timeout`` is in seconds, ``None`` waits for ever."""

    tool_name: str
    action: str
    details: dict[str, Any] = Field(default_factory=dict[str, Any])
    risk_level: str
    timeout: float | None = None

    @field_validator("timeout")
    @classmethod
    def _check_timeout(cls, timeout: float | None) -> float | None:
        if timeout is not None and not timeout > 0:
            raise ValueError("Timeout must be positive or None")
        return timeout


class ApprovalResponse(BaseModel):
    """A person's answer; ``remember`` asks not to be asked again."""

    approved: bool
    reason: str | None = None
    remember: bool = False


@runtime_checkable
class ApprovalProvider(Protocol):
    """Decides on approval requests."""

    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        """Answers a request."""
        ...


_ATTRIBUTES: dict[str, tuple[str, ...]] = {"provider": ("name",), "tool": ("name", "description")}
_CALLABLES: dict[str, tuple[str, ...]] = {
    "provider": ("get_info", "list_models", "complete", "parse_tool_calls"),
    "tool": ("execute",),
    "orchestrator": ("execute",),
    "context": ("add_message", "get_messages_for_request", "get_messages", "set_messages", "clear"),
    "hook": ("__call__",),
    "resolver": ("resolve",),
}
# A resolver may be async only.
_STAND_INS = {"resolve": "async_resolve"}

_MISSING = object()


def missing_members(kind: str, obj: object) -> list[str]:
    """The members that ``obj`` lacks to be a module instance of ``kind``, in the order of the contract.

    A property that raises counts as missing. Raises ``ValueError`` for a kind that does not exist.
    """
    if kind not in _CALLABLES:
        raise ValueError(f"Unknown module kind '{kind}'; expected one of: {', '.join(_CALLABLES)}")
    missing = [name for name in _ATTRIBUTES.get(kind, ()) if _read(obj, name) is _MISSING]
    return missing + [name for name in _CALLABLES[kind] if not _offers(obj, name)]


def implements(kind: str, obj: object) -> bool:
    """Whether ``obj`` has everything that a module instance of ``kind`` needs."""
    return not missing_members(kind, obj)


def _offers(obj: object, name: str) -> bool:
    if name == "__call__":
        return callable(obj)
    return callable(_read(obj, name)) or (name in _STAND_INS and callable(_read(obj, _STAND_INS[name])))


def _read(obj: object, name: str) -> object:
    try:
        return getattr(obj, name)
    except Exception:
        return _MISSING

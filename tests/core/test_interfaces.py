"""The module protocols and the kernel's structural check."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from pydantic import ValidationError

from amplifier_core.interfaces import (
    ApprovalProvider,
    ApprovalRequest,
    ApprovalResponse,
    ContextManager,
    HookHandler,
    Orchestrator,
    Provider,
    Tool,
    implements,
    missing_members,
)
from amplifier_core.models import HookResult, ToolResult


class GoodTool:
    name = "good"
    description = "is good"

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return ToolResult(output=input)


class GoodProvider:
    @property
    def name(self) -> str:
        return "good"

    def get_info(self) -> Any: ...

    async def list_models(self) -> Any: ...

    async def complete(self, request: Any, **kwargs: Any) -> Any: ...

    def parse_tool_calls(self, response: Any) -> Any: ...


class GoodOrchestrator:
    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
        return prompt


class GoodContext:
    async def add_message(self, message: Any) -> None: ...

    async def get_messages_for_request(self, token_budget: Any = None, provider: Any = None) -> Any: ...

    async def get_messages(self) -> Any: ...

    async def set_messages(self, messages: Any) -> None: ...

    async def clear(self) -> None: ...


class GoodHook:
    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        return HookResult()


class GoodApproval:
    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=True)


class GoodResolver:
    def resolve(self, module_id: str) -> Any: ...


class AsyncResolver:
    async def async_resolve(self, module_id: str) -> Any: ...


class Nothing:
    pass


GOOD: dict[str, object] = {
    "provider": GoodProvider(),
    "tool": GoodTool(),
    "orchestrator": GoodOrchestrator(),
    "context": GoodContext(),
    "hook": GoodHook(),
    "resolver": GoodResolver(),
}

NEEDED = {
    "provider": ["name", "get_info", "list_models", "complete", "parse_tool_calls"],
    "tool": ["name", "description", "execute"],
    "orchestrator": ["execute"],
    "context": ["add_message", "get_messages_for_request", "get_messages", "set_messages", "clear"],
    "hook": ["__call__"],
    "resolver": ["resolve"],
}


@pytest.mark.parametrize(
    ("protocol", "instance"),
    [
        (Tool, GoodTool()),
        (Provider, GoodProvider()),
        (Orchestrator, GoodOrchestrator()),
        (ContextManager, GoodContext()),
        (HookHandler, GoodHook()),
        (ApprovalProvider, GoodApproval()),
    ],
)
def test_isinstance_works_with_every_protocol(protocol: type, instance: object) -> None:
    """Protocols can be checked at run time; an object without the members is no instance."""
    assert isinstance(instance, protocol)
    assert not isinstance(Nothing(), protocol)


def test_a_tool_needs_no_schema() -> None:
    """Name, description and execute make a tool; nothing else is a member of the protocol."""
    members = {name for name in vars(Tool) if not name.startswith("_")}
    assert members == {"name", "description", "execute"}


@pytest.mark.parametrize(
    ("protocol", "method", "parameters"),
    [
        (Orchestrator, "execute", ["prompt", "context", "providers", "tools", "hooks", "kwargs"]),
        (Provider, "get_info", []),
        (Provider, "list_models", []),
        (Provider, "complete", ["request", "kwargs"]),
        (Provider, "parse_tool_calls", ["response"]),
        (Tool, "execute", ["input"]),
        (ContextManager, "add_message", ["message"]),
        (ContextManager, "get_messages_for_request", ["token_budget", "provider"]),
        (ContextManager, "get_messages", []),
        (ContextManager, "set_messages", ["messages"]),
        (ContextManager, "clear", []),
        (HookHandler, "__call__", ["event", "data"]),
        (ApprovalProvider, "request_approval", ["request"]),
    ],
)
def test_method_signatures(protocol: type, method: str, parameters: list[str]) -> None:
    """Methods take the parameters of the contract, and all but two are async."""
    function = getattr(protocol, method)
    assert list(inspect.signature(function).parameters) == ["self", *parameters]
    assert inspect.iscoroutinefunction(function) is (method not in {"get_info", "parse_tool_calls"})


def test_orchestrator_takes_further_keywords() -> None:
    """The kernel passes its coordinator through one catch-all keyword parameter."""
    kinds = [parameter.kind for parameter in inspect.signature(Orchestrator.execute).parameters.values()]
    assert kinds.count(inspect.Parameter.VAR_KEYWORD) == 1


@pytest.mark.parametrize("kind", GOOD)
def test_good_instances_implement_their_kind(kind: str) -> None:
    """An object with all members implements its kind."""
    assert missing_members(kind, GOOD[kind]) == []
    assert implements(kind, GOOD[kind])


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("wrong", [None, Nothing(), 7, "text"])
def test_everything_missing_is_named_in_order(kind: str, wrong: object) -> None:
    """An object without any member lacks all of them, in the order of the contract."""
    assert missing_members(kind, wrong) == NEEDED[kind]
    assert not implements(kind, wrong)


@pytest.mark.parametrize(
    ("kind", "member"), [(kind, member) for kind in GOOD for member in NEEDED[kind] if member != "__call__"]
)
def test_each_missing_member_is_named(kind: str, member: str) -> None:
    """Taking one member away is noticed and named, also when reading it raises."""

    def gone(self: object) -> None:
        raise AttributeError(member)

    def broken(self: object) -> None:
        raise RuntimeError("no database")

    for getter in (gone, broken):
        crippled = type("Crippled", (type(GOOD[kind]),), {member: property(getter)})()
        assert missing_members(kind, crippled) == [member]
        assert not implements(kind, crippled)


@pytest.mark.parametrize("kind", ["provider", "tool", "orchestrator", "context", "resolver"])
def test_methods_must_be_callable(kind: str) -> None:
    """A member that should be a method and is data counts as missing."""
    methods = [member for member in NEEDED[kind] if member not in {"name", "description"}]
    crippled = type("Crippled", (type(GOOD[kind]),), dict.fromkeys(methods, "data"))()
    assert missing_members(kind, crippled) == methods


def test_a_resolver_may_be_async_only() -> None:
    """Either way of resolving makes a resolver."""
    assert implements("resolver", AsyncResolver())
    assert not implements("resolver", type("Odd", (), {"async_resolve": 1})())


def test_a_function_is_a_hook() -> None:
    """Anything callable can handle events."""
    assert implements("hook", lambda event, data: None)
    assert implements("hook", GoodTool().execute)


def test_what_is_no_ordinary_error_travels_on() -> None:
    """A property that is interrupted is not taken for a missing one."""

    class Interrupted(GoodTool):
        @property
        def description(self) -> str:  # type: ignore[override]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        missing_members("tool", Interrupted())


def test_unknown_kind_is_an_error() -> None:
    """A kind that does not exist is refused with the list of those that do."""
    for check in (missing_members, implements):
        with pytest.raises(ValueError, match="kind") as caught:
            check("tools", GoodTool())
        assert str(caught.value) == (
            "Unknown module kind 'tools'; expected one of: provider, tool, orchestrator, context, hook, resolver"
        )


def test_approval_request_defaults() -> None:
    """A request needs tool, action and risk; details are empty and there is no time limit."""
    request = ApprovalRequest(tool_name="bash", action="run", risk_level="high")
    assert request.model_dump() == {
        "tool_name": "bash",
        "action": "run",
        "details": {},
        "risk_level": "high",
        "timeout": None,
    }
    for name in ("tool_name", "action", "risk_level"):
        with pytest.raises(ValidationError):
            ApprovalRequest.model_validate({"tool_name": "a", "action": "b", "risk_level": "c", name: None})


@pytest.mark.parametrize("timeout", [0, -1, -0.5, float("nan")])
def test_approval_request_needs_a_positive_timeout(timeout: float) -> None:
    """A time limit that is not positive is refused."""
    with pytest.raises(ValueError, match="Timeout must be positive or None"):
        ApprovalRequest(tool_name="bash", action="run", risk_level="high", timeout=timeout)
    assert ApprovalRequest(tool_name="bash", action="run", risk_level="high", timeout=0.1).timeout == 0.1


def test_approval_response_defaults() -> None:
    """An answer needs the decision only."""
    assert ApprovalResponse(approved=False).model_dump() == {"approved": False, "reason": None, "remember": False}
    with pytest.raises(ValidationError):
        ApprovalResponse()  # type: ignore[call-arg]

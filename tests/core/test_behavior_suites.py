"""The behaviour suites: every promise they test is kept by the fakes and found broken in a module that breaks it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult, ModelInfo, ProviderInfo, ToolResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockCoordinator,
    MockProvider,
    MockTool,
    ScriptedOrchestrator,
    ask_provider,
)
from amplifier_core.validation import behavioral
from amplifier_core.validation.behavioral import (
    ContextBehaviorTests,
    HookBehaviorTests,
    OrchestratorBehaviorTests,
    ProviderBehaviorTests,
    ToolBehaviorTests,
)

TESTS = {
    "ProviderBehaviorTests": [
        "test_mount_succeeds",
        "test_get_info_returns_valid_provider_info",
        "test_list_models_returns_list",
        "test_provider_has_name_attribute",
        "test_parse_tool_calls_returns_list",
    ],
    "ToolBehaviorTests": [
        "test_mount_succeeds",
        "test_tool_has_name",
        "test_tool_has_description",
        "test_tool_has_execute_method",
        "test_execute_returns_tool_result",
        "test_tool_result_has_required_fields",
        "test_invalid_input_returns_error_result",
    ],
    "HookBehaviorTests": [
        "test_mount_succeeds",
        "test_handler_returns_hook_result",
        "test_hook_result_has_valid_action",
        "test_cleanup_is_callable_if_present",
        "test_cleanup_does_not_raise",
        "test_handler_does_not_crash_on_malformed_data",
        "test_handler_does_not_crash_on_empty_data",
    ],
    "OrchestratorBehaviorTests": [
        "test_mount_succeeds",
        "test_orchestrator_has_execute_method",
        "test_execute_returns_string",
        "test_execute_with_empty_prompt",
        "test_orchestrator_uses_provider",
        "test_orchestrator_updates_context",
    ],
    "ContextBehaviorTests": [
        "test_mount_succeeds",
        "test_context_has_required_methods",
        "test_message_round_trip",
        "test_multiple_messages",
        "test_clear_removes_messages",
        "test_get_messages_for_request_returns_messages",
        "test_internal_should_compact_returns_bool",
        "test_internal_compact_does_not_crash",
        "test_add_invalid_message_does_not_crash",
        "test_get_messages_never_returns_none",
    ],
}

Broken: Any = (AssertionError, pytest.fail.Exception)


def deps() -> tuple[MockContextManager, dict[str, Any], dict[str, Any], EventRecorder]:
    """Collaborators of an orchestrator."""
    return MockContextManager(), {"default": MockProvider(["answer"])}, {"test_tool": MockTool()}, EventRecorder()


def with_hooks(*handlers: Any) -> MockCoordinator:
    """A coordinator on which handlers of two events are registered."""
    coordinator = MockCoordinator()
    for handler in handlers:
        for event in ("tool:pre", "session:start"):
            coordinator.hooks.register(event, handler, name=getattr(handler, "__name__", "handler"))
    return coordinator


def without(whole: Any, *names: str) -> Any:
    """An object that has every public member of another but these."""
    members = {name: getattr(whole, name) for name in dir(whole) if not name.startswith("_") and name not in names}
    return with_members(type(whole).__name__, members)


def with_members(name: str, members: dict[str, Any]) -> Any:
    """An object of a new class of that name."""
    made = type(name, (), {})()
    for member, value in members.items():
        setattr(made, member, value)
    return made


def test_classes_and_tests_have_their_published_names() -> None:
    """Authors inherit them by these names and override them by these names; each says what it tests, and is async."""
    assert sorted(behavioral.__all__) == sorted(TESTS)
    for name, tests in TESTS.items():
        suite = getattr(behavioral, name)
        assert [test for test in vars(suite) if test.startswith("test_")] == tests
        for test in tests:
            function = getattr(suite, test)
            assert function.__doc__
            assert [mark.name for mark in function.pytestmark] == ["asyncio"]
        assert (
            suite.__module__
            == f"amplifier_core.validation.behavioral.test_{name.removesuffix('BehaviorTests').lower()}"
        )


@pytest.mark.parametrize("test", TESTS["ProviderBehaviorTests"])
async def test_a_good_provider_passes(test: str) -> None:
    """Every promise is kept by the fake provider."""
    assert await getattr(ProviderBehaviorTests(), test)(MockProvider()) is None


def provider(**replaced: Any) -> Any:
    """A provider with something else in some of its places."""
    made = MockProvider()
    for name, value in replaced.items():
        setattr(made, name, value)
    return made


async def gives_tuple() -> Any:
    return ()


async def gives_names() -> Any:
    return [ModelInfo(id="a", display_name="a", context_window=1, max_output_tokens=1), "model-b"]


@pytest.mark.parametrize(
    ("test", "broken", "message"),
    [
        (
            "test_mount_succeeds",
            without(MockProvider(), "complete", "get_info"),
            "is no provider: it lacks get_info, complete",
        ),
        ("test_get_info_returns_valid_provider_info", provider(get_info=dict), "returned dict, expected ProviderInfo"),
        (
            "test_get_info_returns_valid_provider_info",
            provider(get_info=lambda: ProviderInfo(id="", display_name="x")),
            "ProviderInfo.id is empty",
        ),
        (
            "test_get_info_returns_valid_provider_info",
            provider(get_info=lambda: ProviderInfo(id="x", display_name="")),
            "ProviderInfo.display_name is empty",
        ),
        (
            "test_list_models_returns_list",
            provider(list_models=list),
            "crashed with TypeError: .*async def list_models",
        ),
        (
            "test_list_models_returns_list",
            provider(list_models=gives_tuple),
            "gave tuple, expected a list of ModelInfo",
        ),
        ("test_list_models_returns_list", provider(list_models=gives_names), "has str in its list"),
        ("test_provider_has_name_attribute", provider(name=5), "name is int, expected a string"),
        ("test_provider_has_name_attribute", provider(name=""), "name is empty"),
        (
            "test_parse_tool_calls_returns_list",
            provider(parse_tool_calls=lambda response: response.tool_calls),
            "returned NoneType for a response with 0 tool calls, expected a list",
        ),
        (
            "test_parse_tool_calls_returns_list",
            provider(parse_tool_calls=lambda response: tuple(response.tool_calls or ()) or []),
            "returned tuple for a response with 1 tool calls, expected a list",
        ),
    ],
)
async def test_a_broken_provider_fails(test: str, broken: Any, message: str) -> None:
    """The failure says which promise broke."""
    with pytest.raises(Broken, match=message):
        await getattr(ProviderBehaviorTests(), test)(broken)


async def test_a_provider_that_cannot_reach_its_service_is_not_judged() -> None:
    """Where models are listed by a service that does not answer, the test is skipped and says why."""

    async def unreachable() -> Any:
        raise ConnectionError("no network")

    with pytest.raises(pytest.skip.Exception, match="could not be answered here: ConnectionError: no network"):
        await ProviderBehaviorTests().test_list_models_returns_list(provider(list_models=unreachable))


@pytest.mark.parametrize("test", TESTS["ToolBehaviorTests"])
async def test_a_good_tool_passes(test: str) -> None:
    """Every promise is kept by the fake tool."""
    assert await getattr(ToolBehaviorTests(), test)(MockTool()) is None


def tool(execute: Any = None, **replaced: Any) -> Any:
    """A tool that executes like this, or has something else in some of its places."""
    made = MockTool()
    for name, value in {**replaced, **({"execute": execute} if execute else {})}.items():
        setattr(made, name, value)
    return made


async def gives_text(input: dict[str, Any]) -> Any:
    return "done"


async def looks_for_text(input: dict[str, Any]) -> Any:
    return ToolResult(output=input["text"])


async def refuses(input: dict[str, Any]) -> Any:
    raise ValueError("unknown parameter")


class OddResult:
    success = "yes"
    output = error = None


async def gives_odd_result(input: dict[str, Any]) -> Any:
    return OddResult()


@pytest.mark.parametrize(
    ("test", "broken", "message"),
    [
        ("test_mount_succeeds", without(MockTool(), "description"), "is no tool: it lacks description"),
        ("test_tool_has_name", tool(name=None), "name is NoneType"),
        ("test_tool_has_name", tool(name=""), "name is empty"),
        ("test_tool_has_description", tool(description=None), "description is NoneType"),
        ("test_tool_has_description", tool(description=""), "description is empty"),
        ("test_tool_has_execute_method", without(MockTool(), "execute"), r"MockTool has no execute\(\) method; write"),
        ("test_execute_returns_tool_result", tool(gives_text), "returned str, expected ToolResult; return ToolResult"),
        ("test_execute_returns_tool_result", tool(looks_for_text), "raised KeyError: 'text'; return ToolResult"),
        ("test_tool_result_has_required_fields", tool(gives_text), "lacks success, output, error; return a ToolResult"),
        ("test_tool_result_has_required_fields", tool(gives_odd_result), "success of the result is str"),
        ("test_invalid_input_returns_error_result", tool(looks_for_text), "crashed with KeyError: 'text'"),
        ("test_invalid_input_returns_error_result", tool(lambda input: None), "crashed with TypeError"),
        ("test_invalid_input_returns_error_result", tool(gives_text), "returned str; return ToolResult"),
    ],
)
async def test_a_broken_tool_fails(test: str, broken: Any, message: str) -> None:
    """The failure says which promise broke."""
    with pytest.raises(Broken, match=message):
        await getattr(ToolBehaviorTests(), test)(broken)


async def test_a_tool_may_refuse_unknown_input() -> None:
    """An exception that tells the caller off is no crash."""
    assert await ToolBehaviorTests().test_invalid_input_returns_error_result(tool(refuses)) is None


async def hook_test(test: str, coordinator: MockCoordinator, cleanup: Any = None) -> None:
    """Runs a test of the hook suite."""
    arguments = {"hook_cleanup": cleanup, "coordinator": coordinator}
    function = getattr(HookBehaviorTests(), test)
    taken = function.__func__.__code__.co_varnames[: function.__func__.__code__.co_argcount]
    await function(**{name: value for name, value in arguments.items() if name in taken})


async def goes_on(event: str, data: dict[str, Any]) -> HookResult:
    return HookResult(action="continue")


def says_nothing(event: str, data: dict[str, Any]) -> None: ...


async def answers_with_a_dict(event: str, data: dict[str, Any]) -> Any:
    return {"action": "deny", "reason": "no"}


async def raises(event: str, data: dict[str, Any]) -> Any:
    return data["a field that is never there"]


async def answers_with_text(event: str, data: dict[str, Any]) -> Any:
    return "continue"


async def answers_with_unknown_action(event: str, data: dict[str, Any]) -> Any:
    return {"action": "block"}


async def exits(event: str, data: dict[str, Any]) -> Any:
    sys.exit(1)


async def close_later() -> None: ...


@pytest.mark.parametrize("test", TESTS["HookBehaviorTests"])
@pytest.mark.parametrize("handlers", [(), (EventRecorder(), goes_on, says_nothing, answers_with_a_dict, raises)])
@pytest.mark.parametrize("cleanup", [None, lambda: None, close_later])
async def test_a_good_hook_passes(test: str, handlers: tuple[Any, ...], cleanup: Any) -> None:
    """Handlers of every style pass, also one that raises, which no emitter notices; so does a module without any."""
    await hook_test(test, with_hooks(*handlers), cleanup)
    assert all(isinstance(names, list) for names in with_hooks(*handlers).hooks.list_handlers().values())


def cleanup_that_raises() -> None:
    raise OSError("shut")


@pytest.mark.parametrize(
    ("test", "handler", "message"),
    [
        ("test_mount_succeeds", "no function", "registered str for 'tool:pre', which cannot be called"),
        (
            "test_handler_returns_hook_result",
            answers_with_text,
            "(?s)'answers_with_text' answered 'tool:pre' with str .*return a HookResult",
        ),
        ("test_handler_returns_hook_result", answers_with_unknown_action, "'answers_with_unknown_action' answered"),
        ("test_handler_returns_hook_result", exits, "Handler 'exits' called sys.exit on 'tool:pre'"),
        (
            "test_hook_result_has_valid_action",
            answers_with_unknown_action,
            "with the action 'block'; expected one of: continue, deny, modify, inject_context, ask_user",
        ),
        ("test_handler_does_not_crash_on_malformed_data", exits, "sys.exit on 'tool:pre' with None for data"),
        ("test_handler_does_not_crash_on_empty_data", exits, "sys.exit on 'tool:pre' with {} for data"),
    ],
)
async def test_a_broken_hook_fails(test: str, handler: Any, message: str) -> None:
    """The failure names handler and event."""
    with pytest.raises(Broken, match=message):
        await hook_test(test, with_hooks(handler))


@pytest.mark.parametrize(
    ("test", "cleanup", "message"),
    [
        ("test_cleanup_is_callable_if_present", [], "The clean-up is list; return a function"),
        ("test_cleanup_does_not_raise", cleanup_that_raises, "The clean-up raised OSError: shut; it must not"),
    ],
)
async def test_a_broken_cleanup_fails(test: str, cleanup: Any, message: str) -> None:
    """The failure says what a clean-up has to be."""
    with pytest.raises(Broken, match=message):
        await hook_test(test, with_hooks(goes_on), cleanup)


async def test_a_registry_that_answers_rubbish_fails() -> None:
    """A module that puts itself between the emitter and the registry is found out."""

    class Registry(HookRegistry):
        async def emit(self, event: str, data: Any = None) -> Any:
            return None

    coordinator: Any = type("Coordinator", (), {"hooks": Registry()})()
    coordinator.hooks.register("tool:pre", goes_on)
    with pytest.raises(Broken, match="Emitting 'tool:pre' gave NoneType"):
        await hook_test("test_handler_does_not_crash_on_empty_data", coordinator)


def loop(execute: Any) -> Any:
    """An orchestrator that executes like this."""
    return with_members("Loop", {"execute": execute})


async def orchestrator_test(test: str, orchestrator: Any) -> None:
    """Runs a test of the orchestrator suite."""
    function = getattr(OrchestratorBehaviorTests(), test)
    await (function(orchestrator) if "has_execute" in test or "mount" in test else function(orchestrator, deps()))


@pytest.mark.parametrize("test", TESTS["OrchestratorBehaviorTests"])
async def test_a_good_orchestrator_passes(test: str) -> None:
    """Every promise is kept by the fake orchestrator, when it is told to ask the provider."""
    orchestrator = ScriptedOrchestrator([ask_provider])
    await orchestrator_test(test, orchestrator)
    assert orchestrator.call_count == (0 if "has_execute" in test or "mount" in test else 1)


async def answers_nothing(prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> Any:
    return None


async def answers_empty(prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> Any:
    return ""


async def trips(prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> Any:
    return {}[prompt]


async def answers_only(prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> Any:
    return "answer"


async def refuses_empty(prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> Any:
    raise ValueError("say something")


@pytest.mark.parametrize(
    ("test", "execute", "message"),
    [
        ("test_mount_succeeds", None, "is no orchestrator: it lacks execute"),
        ("test_orchestrator_has_execute_method", None, r"Loop has no execute\(\) method; write: async def execute"),
        ("test_execute_returns_string", answers_nothing, "returned NoneType, expected the answer as text"),
        ("test_execute_returns_string", answers_empty, "returned an empty text"),
        ("test_execute_with_empty_prompt", trips, "with an empty prompt crashed with KeyError"),
        ("test_execute_with_empty_prompt", answers_nothing, "with an empty prompt returned NoneType"),
        ("test_orchestrator_uses_provider", answers_only, r"without a call of provider.complete\(\)"),
        ("test_orchestrator_updates_context", answers_only, "left no message in the context"),
    ],
)
async def test_a_broken_orchestrator_fails(test: str, execute: Any, message: str) -> None:
    """The failure says which promise broke."""
    with pytest.raises(Broken, match=message):
        await orchestrator_test(test, loop(execute))


@pytest.mark.parametrize("execute", [refuses_empty, answers_empty])
async def test_an_empty_prompt_may_be_refused_or_answered_with_nothing(execute: Any) -> None:
    """Only a crash counts."""
    assert await orchestrator_test("test_execute_with_empty_prompt", loop(execute)) is None


@pytest.mark.parametrize("test", TESTS["ContextBehaviorTests"])
async def test_a_good_context_passes(test: str) -> None:
    """Every promise is kept by the fake context."""
    assert await getattr(ContextBehaviorTests(), test)(MockContextManager()) is None


class Memory(MockContextManager):
    """A context in which a test replaces methods."""

    def __init__(self, **replaced: Any) -> None:
        super().__init__()
        for name, value in replaced.items():
            setattr(self, name, value)


async def forgets(*arguments: Any) -> None: ...


async def gives_none(*arguments: Any) -> Any:
    return None


async def needs_role(message: dict[str, Any]) -> None:
    message["role"].upper()


async def refuses_without_role(message: dict[str, Any]) -> None:
    raise ValueError("Message must have 'role' field")


async def trips_over_none(message: Any) -> None:
    message.get("role").upper()


def compacts_badly() -> None:
    raise TypeError("'NoneType' object is not iterable")


@pytest.mark.parametrize(
    ("test", "broken", "message"),
    [
        ("test_mount_succeeds", None, r"call coordinator.mount\('context', …\)"),
        ("test_context_has_required_methods", without(MockContextManager(), "clear"), "is no context: it lacks clear"),
        ("test_message_round_trip", Memory(add_message=forgets), r"ends with \[\] after \['Hello'\] were added"),
        ("test_multiple_messages", Memory(add_message=forgets), r"keep every message, in order"),
        ("test_clear_removes_messages", Memory(clear=forgets), r"1 messages are left after clear\(\)"),
        (
            "test_get_messages_for_request_returns_messages",
            Memory(get_messages_for_request=gives_none),
            r"get_messages_for_request\(\) gave NoneType, expected a list",
        ),
        ("test_internal_should_compact_returns_bool", Memory(_should_compact=lambda: 0), "gave int, expected True"),
        ("test_internal_compact_does_not_crash", Memory(_compact_internal=compacts_badly), "crashed with TypeError"),
        ("test_add_invalid_message_does_not_crash", Memory(add_message=trips_over_none), "crashed with AttributeError"),
        ("test_get_messages_never_returns_none", Memory(get_messages=gives_none), r"get_messages\(\) gave NoneType"),
        (
            "test_get_messages_never_returns_none",
            Memory(get_messages_for_request=gives_none),
            r"get_messages_for_request\(\) gave NoneType for an empty context; return \[\]",
        ),
    ],
)
async def test_a_broken_context_fails(test: str, broken: Any, message: str) -> None:
    """The failure says which promise broke."""
    with pytest.raises(Broken, match=message):
        await getattr(ContextBehaviorTests(), test)(broken)


@pytest.mark.parametrize("add_message", [needs_role, refuses_without_role])
async def test_a_context_may_refuse_a_message(add_message: Any) -> None:
    """A missing key or a clear refusal is no crash."""
    test = ContextBehaviorTests().test_add_invalid_message_does_not_crash
    assert await test(Memory(add_message=add_message)) is None


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("test_internal_should_compact_returns_bool", "_should_compact"),
        ("test_internal_compact_does_not_crash", "_compact_internal"),
    ],
)
@pytest.mark.parametrize(
    ("method", "reason"), [(None, "has no {}"), (lambda budget: True, "takes arguments"), (type, "takes arguments")]
)
async def test_how_a_context_compacts_inside_is_its_own_affair(test: str, name: str, method: Any, reason: str) -> None:
    """Without such a method, or with parameters of its own, the test is skipped."""
    with pytest.raises(pytest.skip.Exception, match=reason.format(name)):
        await getattr(ContextBehaviorTests(), test)(Memory(**{name: method}))

"""Modules and tests written the way the module contracts show them, run as they stand.

Each test is a small stretch of an author's code: a module of some kind, and what its author may rely on.
"""

import logging
from datetime import datetime
from typing import Any

import pytest

from amplifier_core import AmplifierSession, ChatRequest, ChatResponse, HookRegistry, Message, ToolCall, ToolSpec
from amplifier_core.interfaces import ContextManager, HookHandler, Orchestrator, Provider, Tool
from amplifier_core.models import HookResult, ModelInfo, ProviderInfo, ToolResult
from amplifier_core.testing import (
    EventRecorder,
    MockContextManager,
    MockProvider,
    MockTool,
    ScriptedOrchestrator,
    TestCoordinator,
    create_test_coordinator,
)

logger = logging.getLogger(__name__)


class WordCount:
    """A tool with a schema given by a method, as the tool contract recommends."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = config or {}

    @property
    def name(self) -> str:
        return "word_count"

    @property
    def description(self) -> str:
        return "Counts the words of a text."

    def get_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            text = input.get("text")
            if not text:
                return ToolResult(success=False, error={"message": "text is required"})
            return ToolResult(success=True, output=len(text.split()))
        except Exception as error:
            return ToolResult(success=False, error={"message": str(error), "type": type(error).__name__})


class Echo:
    """A provider that says what it was told."""

    name = "echo"

    def __init__(self, api_key: str, config: dict[str, Any]) -> None:
        self.closed = False

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id="echo", display_name="Echo")

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        return ChatResponse(content=[{"type": "text", "text": str(request.messages[-1].content)}])  # type: ignore[list-item]

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return response.tool_calls or []


class PlainLoop:
    """An orchestrator with the contract's five parameters and no more."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = config or {}

    async def execute(self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any) -> str:
        await context.add_message({"role": "user", "content": prompt})
        name = self.config.get("default_provider", next(iter(providers)))
        messages = await context.get_messages_for_request()
        await hooks.emit("provider:request", {"provider": name, "messages": messages, "model": "any"})
        request = ChatRequest(messages=[Message(**message) for message in messages])
        response = await providers[name].complete(request)
        await hooks.emit("provider:response", {"provider": name, "response": response, "usage": response.usage})
        answer = "".join(block.text for block in response.content)
        await context.add_message({"role": "assistant", "content": answer})
        return answer


class Memory:
    """A context with the five methods of the context contract."""

    def __init__(self, max_tokens: int = 1000) -> None:
        self._messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        if "role" not in message:
            raise ValueError("Message must have 'role' field")
        self._messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any = None) -> list[Any]:
        return list(self._messages)

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self._messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self._messages = list(messages)

    async def clear(self) -> None:
        self._messages = []


async def mount_loop(coordinator: Any, config: dict[str, Any]) -> Any:
    loop = PlainLoop(config=config)
    await coordinator.mount("session", loop, name="orchestrator")
    return loop


async def mount_memory(coordinator: Any, config: dict[str, Any]) -> Any:
    memory = Memory(max_tokens=config.get("max_tokens", 100000))
    await coordinator.mount("session", memory, name="context")
    return memory


async def mount_tool(coordinator: Any, config: dict[str, Any]) -> Any:
    tool = WordCount(config=config)
    await coordinator.mount("tools", tool, name="word-count")
    return tool


async def mount_provider(coordinator: Any, config: dict[str, Any]) -> Any:
    api_key = config.get("api_key")
    if not api_key:
        logger.warning("No API key - provider not mounted")
        return None
    provider = Echo(api_key=api_key, config=config)
    await coordinator.mount("providers", provider, name="echo")

    async def cleanup() -> None:
        provider.closed = True

    return cleanup


class Shelf:
    """A loader that holds mount functions by id."""

    def __init__(self, **mounts: Any) -> None:
        self.mounts = {name.replace("_", "-"): mount for name, mount in mounts.items()}

    async def load(self, module_id: str, config: Any = None, source_hint: Any = None, coordinator: Any = None) -> Any:
        async def mount(coordinator: Any) -> Any:
            return await self.mounts[module_id](coordinator, config or {})

        return mount


PLAN: dict[str, Any] = {
    "session": {"orchestrator": "plain-loop", "context": "memory"},
    "providers": [{"module": "echo", "config": {"api_key": "k"}}],
    "tools": [{"module": "word-count"}],
}
SHELF = {"plain_loop": mount_loop, "memory": mount_memory, "echo": mount_provider, "word_count": mount_tool}


async def test_a_session_of_contract_modules_answers() -> None:
    """A plan of modules that only know the contracts runs a turn from prompt to answer."""
    async with AmplifierSession(PLAN, loader=Shelf(**SHELF)) as session:
        assert await session.execute("one two three") == "one two three"
        assert [message["role"] for message in await session.coordinator.get("context").get_messages()] == [
            "user",
            "assistant",
        ]
        provider = session.coordinator.get("providers", "echo")
    assert provider.closed


def test_contract_modules_are_instances_of_the_protocols() -> None:
    """``isinstance`` works with all five protocols."""

    async def handler(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="continue")

    assert isinstance(WordCount(), Tool)
    assert isinstance(Echo("k", {}), Provider)
    assert isinstance(PlainLoop(), Orchestrator)
    assert isinstance(Memory(), ContextManager)
    assert isinstance(handler, HookHandler)
    assert not isinstance(object(), Tool)


async def test_a_tool_reports_bad_input_as_a_result() -> None:
    """An author's test of a tool: good input succeeds, bad input is a failed result that says why."""
    tool = WordCount(config={})
    good = await tool.execute({"text": "a b"})
    bad = await tool.execute({})
    assert good.success
    assert good.error is None
    assert not bad.success
    assert bad.get_serialized_output() == "text is required"


def test_a_schema_given_by_a_method_reaches_the_model() -> None:
    """``get_schema()`` and ``input_schema`` lead to the same tool spec."""

    class WithProperty:
        name = "word_count"
        description = "Counts the words of a text."
        input_schema = WordCount().get_schema()

    assert ToolSpec.from_tool(WordCount()) == ToolSpec.from_tool(WithProperty())


async def test_a_provider_mounts_and_cleans_up() -> None:
    """An author's test of a provider: mounted under its name, and a clean-up to await."""
    coordinator = create_test_coordinator()
    cleanup = await mount_provider(coordinator, {"api_key": "test-key"})
    assert "echo" in coordinator.get_mounted("providers")
    await cleanup()
    assert coordinator.get("providers", "echo").closed


async def test_a_provider_without_its_key_mounts_nothing() -> None:
    """A provider may decline by returning nothing; the session goes on and the report tells."""
    plan = {
        **PLAN,
        "providers": [{"module": "echo"}, {"module": "echo", "instance_id": "b", "config": {"api_key": "k"}}],
    }
    async with AmplifierSession(plan, loader=Shelf(**SHELF)) as session:
        assert list(session.coordinator.get("providers")) == ["b"]
        assert [problem.module_id for problem in session.report.skipped] == ["echo"]


async def test_a_hook_registers_by_keywords_and_cleans_up_synchronously() -> None:
    """An author's hook module: handlers registered with all keywords, removed by a plain function."""

    async def refuse_passwords(event: str, data: dict[str, Any]) -> HookResult:
        if data["tool_input"].get("file_path") == "/etc/passwd":
            return HookResult(action="deny", reason="Access denied")
        return HookResult(action="continue")

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        registry: HookRegistry = coordinator.hooks
        handlers = [
            registry.register(event="tool:pre", handler=refuse_passwords, priority=10, name="refuse_passwords"),
            registry.register("tool:post", refuse_passwords, priority=20),
        ]

        def cleanup() -> None:
            for unregister in handlers:
                unregister()

        return cleanup

    coordinator = TestCoordinator()
    cleanup = await mount(coordinator, {})
    denied = await coordinator.hooks.emit(
        "tool:pre", {"tool_name": "Write", "tool_input": {"file_path": "/etc/passwd"}}
    )
    assert (denied.action, denied.reason) == ("deny", "Access denied")
    cleanup()
    assert coordinator.hooks.list_handlers() == {"tool:pre": [], "tool:post": []}


async def test_an_event_recorder_keeps_names_and_data() -> None:
    """Recorded events are pairs of name and data."""
    recorder = EventRecorder()
    await recorder.record("tool:pre", {"tool_name": "Write"})
    events = recorder.get_events()
    assert len(events) == 1
    assert events[0][0] == "tool:pre"
    assert events[0][1]["tool_name"] == "Write"


async def test_a_mock_tool_tells_how_it_was_called() -> None:
    """The fake tool counts its calls and keeps the last input."""
    tool = MockTool(name="test_tool", description="Test tool", return_value="mock result")
    result = await tool.execute({"a": 1})
    assert result.output == "mock result"
    assert (tool.call_count, tool.last_input) == (1, {"a": 1})


async def test_an_orchestrator_is_tested_with_fakes() -> None:
    """An author's test of a loop needs no session: fakes for all collaborators and a bare registry."""
    context = MockContextManager()
    result = await PlainLoop(config={}).execute(
        prompt="Test prompt",
        context=context,
        providers={"test": MockProvider()},
        tools={"test_tool": MockTool()},
        hooks=HookRegistry(),
    )
    assert isinstance(result, str)
    assert len(context.messages) > 0


async def test_a_scripted_orchestrator_answers_in_order() -> None:
    """Responses come in the given order."""
    loop = ScriptedOrchestrator(responses=["Response 1", "Response 2"])
    arguments: Any = {"context": MockContextManager(), "providers": {}, "tools": {}, "hooks": EventRecorder()}
    assert [await loop.execute(prompt="p", **arguments) for _ in range(2)] == ["Response 1", "Response 2"]


async def run_tool_with_hooks(coordinator: Any, tool: Any, tool_input: dict[str, Any]) -> Any:
    """One tool call as an orchestrator makes it: ask, process, act on the answer, tell."""
    pre = await coordinator.hooks.emit("tool:pre", {"tool_name": tool.name, "tool_input": tool_input})
    processed = await coordinator.process_hook_result(result=pre, event="tool:pre", hook_name="security")
    if processed.action == "deny":
        raise PermissionError(processed.reason)
    if processed.action == "modify":
        tool_input = processed.data.get("tool_input", tool_input)
    result = await tool.execute(tool_input)
    post = await coordinator.hooks.emit(
        "tool:post", {"tool_name": tool.name, "tool_input": tool_input, "tool_result": result}
    )
    await coordinator.process_hook_result(result=post, event="tool:post", hook_name="linter")
    return result


async def test_a_modification_reaches_the_tool() -> None:
    """What a hook puts in place of the input is what the tool gets."""
    coordinator = TestCoordinator()

    async def shorten(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "tool_input": {"text": "only this"}})

    coordinator.hooks.register("tool:pre", shorten)
    assert (await run_tool_with_hooks(coordinator, WordCount(), {"text": "a much longer text"})).output == 2


async def test_a_denial_stops_the_tool_and_feedback_reaches_the_context() -> None:
    """A deny becomes the author's PermissionError; an injection after a call becomes a message with its origin."""
    coordinator = TestCoordinator()
    context = Memory()
    await coordinator.mount("context", context)

    async def lint(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="inject_context", context_injection="3 findings", user_message="Linting issues")

    coordinator.hooks.register("tool:post", lint, name="lint")
    await run_tool_with_hooks(coordinator, WordCount(), {"text": "a"})
    (message,) = await context.get_messages()
    assert (message["content"], message["metadata"]["hook_name"]) == ("3 findings", "lint")

    coordinator.hooks.register("tool:pre", lambda event, data: HookResult(action="deny", reason="not now"))
    with pytest.raises(PermissionError, match="not now"):
        await run_tool_with_hooks(coordinator, WordCount(), {"text": "a"})


def test_a_denied_call_can_be_answered_with_an_error_result() -> None:
    """``is_error`` is another way to say that a tool failed; a call's arguments are also its input."""
    result = ToolResult(is_error=True, output="denied")
    assert (result.success, result.output) == (False, "denied")
    assert ToolCall(id="1", name="t", arguments={"a": 1}).input == {"a": 1}


async def test_an_agent_module_delegates_to_a_child_by_hand() -> None:
    """A module can merge its parent's plan with an overlay and run a child session with its own lineage."""

    async def delegate(coordinator: Any, task: str) -> tuple[str, str | None]:
        parent = coordinator.session
        config = parent._merge_configs(parent.config, {"agents": {"researcher": {"max_iterations": 5}}})
        child = AmplifierSession(config=config, loader=Shelf(**SHELF), parent_id=coordinator.session_id)
        async with child as session:
            return await session.execute(task), session.coordinator.parent_id

    async with AmplifierSession(PLAN, loader=Shelf(**SHELF)) as session:
        answer, parent_id = await delegate(session.coordinator, "a task")
        assert (answer, parent_id) == ("a task", session.session_id)


async def test_ready_callbacks_see_every_module() -> None:
    """What is wired in ``on_session_ready`` can rely on all modules being mounted."""
    seen: list[Any] = []

    async def subscribe(coordinator: Any) -> None:
        contributions = await coordinator.collect_contributions("observability.events")
        seen.extend(event for events in contributions for event in events)
        coordinator.register_capability("wiring.tool", (coordinator.get("tools") or {}).get("word-count"))

    async def mount_announcing(coordinator: Any, config: dict[str, Any]) -> None:
        coordinator.register_contributor("observability.events", "late", lambda: ["late:started", "late:done"])

    class ReadyShelf(Shelf):
        async def load(self, module_id: str, *arguments: Any, **options: Any) -> Any:
            mount = await super().load(module_id, *arguments, **options)
            if module_id == "plain-loop":
                mount.__on_session_ready__ = (module_id, subscribe)
            return mount

        queue: list[Any] = []

        def enqueue_on_session_ready(self, module_id: str, callback: Any) -> None:
            self.queue.append((module_id, callback))

        def get_on_session_ready_queue(self) -> list[Any]:
            return list(self.queue)

        def clear_on_session_ready_queue(self) -> None:
            self.queue.clear()

    plan = {**PLAN, "hooks": [{"module": "late"}]}
    async with AmplifierSession(plan, loader=ReadyShelf(**SHELF, late=mount_announcing)) as session:
        assert {"late:started", "late:done"} <= set(seen)
        assert isinstance(session.coordinator.get_capability("wiring.tool"), WordCount)


async def test_a_resolver_is_mounted_without_awaiting(tmp_path: Any) -> None:
    """An application mounts its resolver in one plain line and loads through it by the seed of a profile."""
    from amplifier_core.loader import AmplifierModuleLoader

    package = tmp_path / "amplifier_module_tool_from_profile"
    package.mkdir()
    (package / "__init__.py").write_text("async def mount(coordinator, config):\n    return lambda: config\n")

    class Folder:
        def __init__(self, path: Any) -> None:
            self.path = path

        def resolve(self) -> Any:
            return self.path

    class ByProfile:
        def resolve(self, module_id: str, profile_hint: Any = None) -> Folder:
            return Folder(profile_hint)

    coordinator = TestCoordinator()
    coordinator.mount("module-source-resolver", ByProfile())
    loader = AmplifierModuleLoader(coordinator)
    try:
        mount = await loader.load("tool-from-profile", {"a": 1}, tmp_path)
        assert (await mount(coordinator))() == {"a": 1}
    finally:
        loader.cleanup()


async def test_infrastructure_context_is_there_while_mounting() -> None:
    """A module being mounted finds ids, plan, loader and its peers on the coordinator."""
    found: dict[str, Any] = {}

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        found.update(
            session_id=coordinator.session_id,
            parent_id=coordinator.parent_id,
            orchestrator=coordinator.config.get("session", {}).get("orchestrator"),
            context=coordinator.get("context"),
            providers=list(coordinator.mount_points["providers"]),
            loader=coordinator.loader,
        )
        undo = coordinator.hooks.register("custom:event", lambda event, data: None, priority=10)
        coordinator.register_cleanup(undo)
        await coordinator.hooks.emit("custom:event", {"at": datetime.now()})

    shelf = Shelf(**SHELF, hook=mount)
    async with AmplifierSession({**PLAN, "hooks": [{"module": "hook"}]}, loader=shelf) as session:
        assert isinstance(found.pop("context"), Memory)
        assert found == {
            "session_id": session.session_id,
            "parent_id": None,
            "orchestrator": "plain-loop",
            "providers": ["echo"],
            "loader": shelf,
        }

"""Laws of hooks: over any handlers, an emit gives what a simple model of it says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import ContextInjection, HookRegistry, HookResult

NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = "2024-01-02T03:04:05.678901+00:00"
LEVELS = ["info", "warning", "error"]
INVALID = HookResult(action="deny", reason="Hook handler returned invalid response")


@dataclass
class Plan:
    """What one handler does, whatever it is told; ``number`` makes its contributions unique."""

    kind: str
    priority: int
    is_guard: bool
    is_async: bool
    message: str | None
    level: Any
    source: str | None
    suppress: bool
    injections: list[ContextInjection]
    as_list: bool
    number: int = 0

    @property
    def name(self) -> str:
        return f"h{self.number}"

    def answer(self, data: dict[str, Any]) -> Any:
        """What the handler returns or raises."""
        said: dict[str, Any] = {
            "user_message": self.message,
            "user_message_level": self.level,
            "user_message_source": self.source,
            "suppress_output": self.suppress,
        }
        match self.kind:
            case "fail":
                raise ValueError(self.name)
            case "rubbish":
                return self.name
            case "nothing":
                return None
            case "modify":
                return HookResult(action="modify", data={**data, self.name: self.number}, **said)
            case "replace":
                return HookResult(action="modify", data={self.name: self.number}, **said)
            case "inject_context":
                return HookResult(action="inject_context", **self._injection_fields(), **said)
            case "ask_user":
                return HookResult(action="ask_user", approval_prompt=f"{self.name}?", **said)
            case _:
                return {"action": self.kind, "reason": self.name, **said}

    def _injection_fields(self) -> dict[str, Any]:
        if self.as_list:
            return {"context_injections": self.injections}
        one = self.injections[0]
        return {
            "context_injection": one.content,
            "context_injection_role": one.role,
            "ephemeral": one.ephemeral,
            "append_to_last_tool_result": one.append_to_last_tool_result,
        }

    def stamped_injections(self) -> list[ContextInjection]:
        """What the emitter must find of this handler's injections."""
        given_ = self.injections if self.as_list else self.injections[:1]
        return [item.model_copy(update={"hook_name": self.name, "event": "e"}) for item in given_]


texts = st.text(max_size=5)
injections = st.lists(
    st.builds(
        ContextInjection,
        content=texts,
        role=st.sampled_from(["system", "user", "assistant"]),
        ephemeral=st.booleans(),
        append_to_last_tool_result=st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


def plans(kinds: list[str], guards: st.SearchStrategy[bool]) -> st.SearchStrategy[Plan]:
    """Handlers of these kinds."""
    return st.builds(
        Plan,
        kind=st.sampled_from(kinds),
        priority=st.integers(-2, 2),
        is_guard=guards,
        is_async=st.booleans(),
        message=st.none() | texts,
        level=st.sampled_from(LEVELS),
        source=st.none() | st.sampled_from(["a", "b"]),
        suppress=st.booleans(),
        injections=injections,
        as_list=st.booleans(),
    )


harmless = ["continue", "nothing", "modify", "inject_context", "ask_user"]
# A guard that throws everything away cannot agree with another one: only handlers that are no guards replace data.
handler_lists = st.lists(
    plans([*harmless, "replace", "fail"], st.just(False))
    | plans(harmless, st.just(True))
    | plans([*harmless, "deny", "rubbish", "fail"], st.booleans()),
    max_size=7,
).map(lambda made: [_numbered(plan, number) for number, plan in enumerate(made)])


def _numbered(plan: Plan, number: int) -> Plan:
    plan.number = number
    return plan


@dataclass
class Expected:
    """What a model of an emit says must come out."""

    called: list[str] = field(default_factory=list[str])
    denial: HookResult | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    said: list[Plan] = field(default_factory=list[Plan])
    is_modified: bool = False

    def contributions(self, kind: str) -> list[Plan]:
        return [plan for plan in self.said if plan.kind == kind]

    @property
    def injections(self) -> list[ContextInjection]:
        return [item for plan in self.contributions("inject_context") for item in plan.stamped_injections()]

    @property
    def questions(self) -> list[str]:
        return [f"{plan.name}?" for plan in self.contributions("ask_user")]

    @property
    def action(self) -> str:
        if self.questions:
            return "ask_user"
        return "inject_context" if self.injections else "modify" if self.is_modified else "continue"


def expected_of(handlers: list[Plan], data: dict[str, Any]) -> Expected:
    """The model: handlers in stable order of priority, until one denies; guards before the last change once more."""
    ordered = sorted(handlers, key=lambda plan: plan.priority)
    model = Expected(data={**data, "timestamp": STAMP})
    last_change = 0
    for position, plan in enumerate(ordered):
        model.called.append(plan.name)
        match plan.kind:
            case "deny":
                model.denial = HookResult(**plan.answer({}))
            case "rubbish":
                model.denial = INVALID
            case "fail" if plan.is_guard:
                reason = f"Guard '{plan.name}' failed on 'e': ValueError: {plan.name}"
                model.denial = HookResult(action="deny", reason=reason)
            case "modify" | "replace":
                model.data = plan.answer(model.data).data
                model.is_modified, last_change = True, position
            case _:
                pass
        if model.denial is not None:
            return model
    model.said = [plan for plan in ordered if plan.kind not in ("fail", "nothing")]
    for plan in ordered[:last_change]:
        if plan.is_guard and plan.kind == "modify":
            model.data = plan.answer(model.data).data
    return model


def registry_with(registry: HookRegistry, handlers: list[Plan], called: list[str]) -> HookRegistry:
    """Registers the handlers, sync or async as planned."""

    def make(plan: Plan) -> Any:
        def sync(event: str, data: dict[str, Any]) -> Any:
            called.append(plan.name)
            return plan.answer(data)

        async def coroutine(event: str, data: dict[str, Any]) -> Any:
            return sync(event, data)

        return coroutine if plan.is_async else sync

    for plan in handlers:
        on_error: Any = "deny" if plan.is_guard else "continue"
        registry.register("e", make(plan), plan.priority, plan.name, on_error=on_error)
    return registry


@pytest.mark.slow
@given(handlers=handler_lists)
def test_an_emit_gives_what_the_model_says(handlers: list[Plan]) -> None:
    """Data, injections, questions, messages and suppression survive together; a deny ends it."""
    called: list[str] = []
    registry = registry_with(HookRegistry(clock=lambda: NOW), handlers, called)
    result = asyncio.run(registry.emit("e", {"given": 1}))
    model = expected_of(handlers, {"given": 1})
    if not handlers:
        assert result == HookResult(data={"given": 1})
        return
    assert called[: len(model.called)] == model.called
    if model.denial is not None:
        assert result == model.denial
        assert called == model.called
        return
    speaking = [plan for plan in model.said if plan.message]
    expected = HookResult(
        action=model.action,  # pyright: ignore[reportArgumentType]
        data=model.data,
        approval_prompt=model.questions[0] if model.questions else None,
        user_message="\n".join(plan.message or "" for plan in speaking) if speaking else None,
        user_message_level=max((plan.level for plan in speaking), key=LEVELS.index, default="info"),
        user_message_source=", ".join(dict.fromkeys(plan.source for plan in speaking if plan.source)) or None,
        suppress_output=any(plan.suppress for plan in model.said),
        context_injections=model.injections,
        context_injection="\n\n".join(item.content for item in model.injections) if model.injections else None,
        context_injection_role=model.injections[0].role if model.injections else "system",
        ephemeral=any(item.ephemeral for item in model.injections),
        append_to_last_tool_result=any(item.append_to_last_tool_result for item in model.injections),
    )
    told = [plan.name for plan in model.contributions("continue") if plan.message or plan.suppress]
    if model.action == "continue" and told:
        expected.reason = told[0]
    assert result.model_dump() == expected.model_dump()


@pytest.mark.slow
@given(handlers=handler_lists, denied_at=st.none() | st.integers(0, 3))
def test_processing_an_emit_asks_everything_and_loses_nothing(handlers: list[Plan], denied_at: int | None) -> None:
    """Questions one after another until one is denied; then, or only then, nothing is injected or shown."""

    class Outside:
        """Approval, display and context of a session, as far as hooks see them."""

        def __init__(self) -> None:
            self.prompts, self.shown, self.stored = list[str](), list[str](), list[str]()

        async def request_approval(self, prompt: str, *_: Any) -> str:
            self.prompts.append(prompt)
            return "Deny" if len(self.prompts) - 1 == denied_at else "Allow"

        def show_message(self, message: str, level: str, source: str) -> None:
            self.shown.append(message)

        async def add_message(self, message: dict[str, Any]) -> None:
            self.stored.append(message["content"])

    outside = Outside()
    coordinator = ModuleCoordinator(approval_system=outside, display_system=outside, clock=lambda: NOW)
    coordinator.hooks.set_default_fields()
    coordinator.mount("context", outside)
    registry_with(coordinator.hooks, handlers, [])
    model = expected_of(handlers, {})

    async def emit_and_process() -> tuple[HookResult, HookResult]:
        result = await coordinator.hooks.emit("e", {})
        return result, await coordinator.process_hook_result(result, "e")

    result, processed = asyncio.run(emit_and_process())
    if model.denial is not None:
        assert processed is result
        assert (outside.prompts, outside.stored) == ([], [])
        return
    if denied_at is not None and denied_at < len(model.questions):
        assert outside.prompts == model.questions[: denied_at + 1]
        assert processed == HookResult(action="deny", reason=f"User denied: {model.questions[denied_at]}")
        assert (outside.stored, outside.shown) == ([], [])
        return
    kept = [item.content for item in map(_sanitised, model.injections) if item.ephemeral and item.content]
    assert outside.prompts == model.questions
    assert outside.stored == [
        item.content for item in map(_sanitised, model.injections) if not item.ephemeral and item.content
    ]
    assert outside.shown == [result.user_message] * bool(result.user_message)
    assert [item.content for item in processed.context_injections] == kept
    assert processed.action == ("inject_context" if kept else "modify" if model.is_modified else "continue")
    assert processed.suppress_output == result.suppress_output
    if model.is_modified:
        assert processed.data == model.data


def _sanitised(item: ContextInjection) -> ContextInjection:
    kept = [char for char in item.content if char in "\t\n\r" or not (char < " " or "\x7f" <= char <= "\x9f")]
    return item.model_copy(update={"content": "".join(char for char in kept if not "\ud800" <= char <= "\udfff")})


@given(st.lists(st.tuples(st.integers(), st.booleans()), max_size=30))
def test_handlers_run_in_stable_order_of_priority(made: list[tuple[int, bool]]) -> None:
    """Over any priorities, with any of the handlers removed again."""
    registry, order = HookRegistry(), list[int]()

    def handler(number: int) -> Any:
        return lambda event, data: order.append(number)

    for number, (priority, is_kept) in enumerate(made):
        undo = registry.register("e", handler(number), priority, str(number))
        if not is_kept:
            undo()
    asyncio.run(registry.emit("e", {}))
    kept = [(priority, number) for number, (priority, is_kept) in enumerate(made) if is_kept]
    assert order == [number for _, number in sorted(kept)]
    assert registry.list_handlers("e")["e"] == [str(number) for number in order]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 5)), max_size=40))
def test_names_are_stacks(steps: list[tuple[str, str, int]]) -> None:
    """Over any registrations and removals by name or callable, a model made of lists agrees."""
    registry, model, removers = HookRegistry(), list[tuple[str, str, Any]](), list[Any]()

    async def ignore(event: str, data: dict[str, Any]) -> None: ...

    for event, name, choice in steps:
        if choice <= 2:
            undo = registry.register(event, ignore, name=name)
            model.append((event, name, undo))
            removers.append(undo)
        elif choice == 3:
            registry.unregister(name)
            latest = next((entry for entry in reversed(model) if entry[1] == name), None)
            model = [entry for entry in model if entry is not latest]
        elif removers:
            undo = removers.pop(len(removers) // 2)
            undo()
            model = [entry for entry in model if entry[2] is not undo]
        for each in "ab":
            assert registry.list_handlers(each)[each] == [named for at, named, _ in model if at == each]

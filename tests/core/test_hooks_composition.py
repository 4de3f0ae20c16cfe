"""Answers of several handlers become one result in which nothing is lost."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import ContextInjection, HookRegistry, HookResult

NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = "2024-01-02T03:04:05.678901+00:00"
ACTIONS = ("continue", "modify", "inject_context", "ask_user", "deny")


@pytest.fixture
def registry() -> HookRegistry:
    """A registry whose time stands still."""
    return HookRegistry(clock=lambda: NOW)


def says(answer: Any) -> Any:
    """A handler with that answer."""
    return lambda event, data: answer


class Approver:
    """An approval system that writes down what it is asked and gives its answers in turn."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    async def request_approval(self, prompt: str, options: list[str], timeout: float, default: str) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0) if self.answers else "Allow"


@pytest.mark.parametrize("actions", list(itertools.product(ACTIONS, repeat=3)), ids="-".join)
async def test_every_combination_of_three_actions_composes(registry: HookRegistry, actions: tuple[str, ...]) -> None:
    """The strongest action wins and all that the weaker ones brought is still there; a deny ends the emit."""
    calls: list[str] = []

    def handler(name: str, action: str) -> Any:
        def handle(event: str, data: dict[str, Any]) -> HookResult:
            calls.append(name)
            return HookResult(
                action=action,  # pyright: ignore[reportArgumentType]
                data={**data, name: action} if action == "modify" else None,
                context_injection=f"text of {name}" if action == "inject_context" else None,
                approval_prompt=f"question of {name}" if action == "ask_user" else None,
                reason=f"{action} of {name}",
                user_message=f"message of {name}",
            )

        return handle

    named = [(f"h{number}", action) for number, action in enumerate(actions)]
    for name, action in named:
        registry.register("e", handler(name, action), name=name)
    result = await registry.emit("e", {"a": 1})

    if "deny" in actions:
        denier = actions.index("deny")
        assert calls == [name for name, _ in named[: denier + 1]]
        assert result == HookResult(action="deny", reason=f"deny of h{denier}", user_message=f"message of h{denier}")
        return
    assert calls == ["h0", "h1", "h2"]
    strongest = next(action for action in ("ask_user", "inject_context", "modify", "continue") if action in actions)
    texts = [f"text of {name}" for name, action in named if action == "inject_context"]
    questions = [f"question of {name}" for name, action in named if action == "ask_user"]
    assert result.action == strongest
    assert result.reason == f"{strongest} of h{actions.index(strongest)}"
    assert result.data == {
        "a": 1,
        "timestamp": STAMP,
        **{name: action for name, action in named if action == "modify"},
    }
    assert [item.content for item in result.context_injections] == texts
    assert result.context_injection == ("\n\n".join(texts) or None)
    assert result.user_message == "message of h0\nmessage of h1\nmessage of h2"
    assert result.approval_prompt == (questions[0] if questions else None)
    approver = Approver()
    await ModuleCoordinator(approval_system=approver).process_hook_result(result, "e")
    assert approver.prompts == questions


async def test_a_deny_is_returned_as_its_handler_gave_it(registry: HookRegistry) -> None:
    """It is the very object; what earlier handlers said is dropped, later ones are not asked."""
    calls: list[str] = []
    denial = HookResult(action="deny", reason="no", data={"mine": 1})
    registry.register("e", says(HookResult(action="inject_context", context_injection="x", user_message="m")))
    registry.register("e", says(HookResult(action="ask_user", approval_prompt="?")))
    registry.register("e", says(denial))
    registry.register("e", lambda event, data: calls.append("later"))
    assert await registry.emit("e", {}) is denial
    assert denial == HookResult(action="deny", reason="no", data={"mine": 1})
    assert calls == []


async def test_a_deny_may_come_as_a_dict_or_another_model(registry: HookRegistry) -> None:
    """Both are read as a result; missing fields have their defaults, unknown ones are ignored."""

    class Verdict(BaseModel):
        action: str = "deny"
        reason: str = "model"
        score: float = 0.5

    registry.register("model", says(Verdict()))
    registry.register("dict", says({"action": "deny", "reason": "dict", "score": 0.5}))
    assert await registry.emit("model", {}) == HookResult(action="deny", reason="model")
    assert await registry.emit("dict", {}) == HookResult(action="deny", reason="dict")


async def test_injections_keep_their_order_fields_handler_and_event(registry: HookRegistry) -> None:
    """Scalars of older loops are made from the list: texts joined, role of the first, any of the flags."""
    registry.register("e", says(HookResult(action="inject_context", context_injection="one")), name="first")
    listed = [
        ContextInjection(content="two", role="user", ephemeral=True, hook_name="pretends", event="other"),
        ContextInjection(content="three", role="assistant", append_to_last_tool_result=True),
    ]
    both = HookResult(action="inject_context", context_injection="ignored", context_injections=listed)
    registry.register("e", says(both), name="second")
    result = await registry.emit("e", {"a": 1})
    assert result.context_injections == [
        ContextInjection(content="one", hook_name="first", event="e"),
        ContextInjection(content="two", role="user", ephemeral=True, hook_name="second", event="e"),
        ContextInjection(
            content="three", role="assistant", append_to_last_tool_result=True, hook_name="second", event="e"
        ),
    ]
    assert listed[0].hook_name == "pretends"
    assert (result.action, result.context_injection) == ("inject_context", "one\n\ntwo\n\nthree")
    assert (result.context_injection_role, result.ephemeral, result.append_to_last_tool_result) == (
        "system",
        True,
        True,
    )
    assert result.data == {"a": 1, "timestamp": STAMP}


async def test_one_injection_keeps_its_flags_and_the_final_data(registry: HookRegistry) -> None:
    """A handler's scalars become a list of one; ``data`` that do not modify are not taken."""
    answer = HookResult(
        action="inject_context",
        context_injection="text",
        context_injection_role="user",
        ephemeral=True,
        append_to_last_tool_result=True,
        data={"not": "a modification"},
        user_message="shown",
        reason="because",
    )
    registry.register("e", says(answer), name="h")
    result = await registry.emit("e", {"a": 1})
    item = ContextInjection(
        content="text", role="user", ephemeral=True, append_to_last_tool_result=True, hook_name="h", event="e"
    )
    expected = answer.model_copy(update={"data": {"a": 1, "timestamp": STAMP}, "context_injections": [item]})
    assert result.model_dump() == expected.model_dump()


async def test_an_empty_injection_counts_and_a_missing_one_does_not(registry: HookRegistry) -> None:
    """Empty text is an injection; no text at all, or a list beside another action, is none."""
    registry.register("empty", says(HookResult(action="inject_context", context_injection="")), name="h")
    registry.register("missing", says(HookResult(action="inject_context")))
    registry.register("beside", says(HookResult(context_injections=[ContextInjection(content="x")], user_message="m")))
    empty = await registry.emit("empty", {})
    assert (empty.action, empty.context_injection) == ("inject_context", "")
    assert empty.context_injections == [ContextInjection(content="", hook_name="h", event="empty")]
    for event in ("missing", "beside"):
        result = await registry.emit(event, {})
        assert (result.action, result.context_injection, result.context_injections) == ("continue", None, [])


async def test_messages_are_joined_with_the_worst_level_and_every_source(registry: HookRegistry) -> None:
    """Also those of answers that only continue; empty messages do not count."""
    registry.register("e", says(HookResult(user_message="one", user_message_level="warning", user_message_source="a")))
    registry.register("e", says(HookResult(action="modify", data={"x": 1}, user_message="two")))
    registry.register("e", says(HookResult(user_message="", user_message_level="error", user_message_source="z")))
    registry.register("e", says(HookResult(user_message="three", user_message_source="b")))
    registry.register("e", says(HookResult(user_message="four", user_message_source="a")))
    result = await registry.emit("e", {})
    assert result.model_dump() == {
        **HookResult(action="modify", data={"x": 1}).model_dump(),
        "user_message": "one\ntwo\nthree\nfour",
        "user_message_level": "warning",
        "user_message_source": "a, b",
    }


@pytest.mark.parametrize(
    ("levels", "worst"),
    [(("info", "info"), "info"), (("warning", "info"), "warning"), (("info", "error", "warning"), "error")],
)
async def test_the_worst_level_wins(registry: HookRegistry, levels: tuple[Any, ...], worst: str) -> None:
    """Info, warning, error, in this order."""
    for level in levels:
        registry.register("e", says(HookResult(user_message="m", user_message_level=level)))
    assert (await registry.emit("e", {})).user_message_level == worst


async def test_suppression_survives_from_any_handler(registry: HookRegistry) -> None:
    """One that asks for it is enough."""
    registry.register("e", says(HookResult(suppress_output=True)))
    registry.register("e", says(HookResult(action="inject_context", context_injection="x")))
    result = await registry.emit("e", {})
    assert (result.action, result.suppress_output) == ("inject_context", True)


async def test_the_public_fields_hold_the_first_question(registry: HookRegistry) -> None:
    """All of its settings, none of a later one's."""
    first = HookResult(
        action="ask_user",
        approval_prompt="first?",
        approval_options=["Yes", "No"],
        approval_timeout=5.0,
        approval_default="allow",
    )
    registry.register("e", says(first))
    registry.register("e", says(HookResult(action="ask_user", approval_prompt="second?")))
    result = await registry.emit("e", {})
    assert result.model_dump() == {**first.model_dump(), "data": {"timestamp": STAMP}}


async def test_a_composed_result_looks_like_a_plain_one(registry: HookRegistry) -> None:
    """It is a ``HookResult`` with the same fields and the same JSON."""
    registry.register("e", says(HookResult(action="ask_user", approval_prompt="?")))
    registry.register("e", says(HookResult(action="inject_context", context_injection="x")), name="h")
    result = await registry.emit("e", {"a": 1})
    assert isinstance(result, HookResult)
    read = HookResult.model_validate_json(result.model_dump_json())
    assert read.model_dump() == result.model_dump()
    assert list(json.loads(result.model_dump_json())) == list(HookResult.model_fields)


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda result: result.model_copy(update={"reason": "x"}),
        lambda result: pickle.loads(pickle.dumps(result)),
    ],
    ids=["copy", "deepcopy", "model_copy", "pickle"],
)
async def test_every_question_survives_copying(registry: HookRegistry, copied: Any) -> None:
    """A copy asks as much as the original."""
    for number in range(3):
        registry.register("e", says(HookResult(action="ask_user", approval_prompt=f"{number}?")))
    approver = Approver()
    result = copied(await registry.emit("e", {}))
    await ModuleCoordinator(approval_system=approver).process_hook_result(result, "e")
    assert approver.prompts == ["0?", "1?", "2?"]


async def test_a_handler_that_hands_on_a_composed_answer_hands_on_every_question(registry: HookRegistry) -> None:
    """An answer that stands for several questions is not reduced to its first."""
    for number in range(2):
        registry.register("inner", says(HookResult(action="ask_user", approval_prompt=f"inner {number}?")))

    async def forward(event: str, data: dict[str, Any]) -> HookResult:
        return await registry.emit("inner", data)

    registry.register("outer", forward)
    registry.register("outer", says(HookResult(action="ask_user", approval_prompt="outer?")))
    approver = Approver()
    result = await registry.emit("outer", {})
    await ModuleCoordinator(approval_system=approver).process_hook_result(result, "outer")
    assert approver.prompts == ["inner 0?", "inner 1?", "outer?"]


async def test_an_answer_turned_into_a_question_is_asked(registry: HookRegistry) -> None:
    """A composed result without questions that is made one of its own counts as that question."""
    registry.register("e", says(HookResult(action="inject_context", context_injection="x")))
    result = await registry.emit("e", {})
    result.action, result.approval_prompt = "ask_user", "sure?"
    approver = Approver("Deny")
    processed = await ModuleCoordinator(approval_system=approver).process_hook_result(result, "e")
    assert (approver.prompts, processed.action) == (["sure?"], "deny")


async def test_an_answer_of_several_handlers_accepts_any_data(registry: HookRegistry) -> None:
    """Keys that are no strings and values that are no JSON do not matter to the result."""
    thing = object()
    registry.register("e", says(HookResult(action="inject_context", context_injection="x")))
    result = await registry.emit("e", {1: thing})
    assert result.data == {1: thing, "timestamp": STAMP}


async def test_lists_of_two_results_are_not_shared(registry: HookRegistry) -> None:
    """Changing one answer does not change the next."""
    first, second = await registry.emit("e", {}), await registry.emit("e", {})
    first.context_injections.append(ContextInjection(content="x"))
    assert second.context_injections == []
    assert HookResult().context_injections == []

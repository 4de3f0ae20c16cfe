"""Answers that cannot be read as a ``HookResult`` refuse the operation, whoever gives them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import BaseModel

from amplifier_core.hooks import ContextInjection, HookRegistry, HookResult

DENIED = HookResult(action="deny", reason="Hook handler returned invalid response")


def changed(**fields: Any) -> HookResult:
    """A result that was sound when it was made."""
    result = HookResult(action="inject_context", context_injection="text")
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def without(field: str) -> HookResult:
    """A result that lost a field."""
    result = HookResult()
    delattr(result, field)
    return result


def with_item(**fields: Any) -> HookResult:
    """A result with an injection that was changed after it was made."""
    item = ContextInjection(content="text")
    for name, value in fields.items():
        setattr(item, name, value)
    return HookResult(action="inject_context", context_injections=[item])


class Truthless:
    """A value that does not answer whether it is true."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


class Undumpable(BaseModel):
    action: str = "continue"

    def model_dump(self, **_: Any) -> dict[str, Any]:
        raise ValueError("cannot be dumped")


class OtherModel(BaseModel):
    action: str = "approve"


class Lying(HookResult):
    @property
    def user_message(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError("not today")


RUBBISH: dict[str, Any] = {
    "string": "deny",
    "empty string": "",
    "json": '{"action": "continue"}',
    "number": 5,
    "zero": 0,
    "true": True,
    "false": False,
    "list": [],
    "pairs": [("action", "continue")],
    "object": object(),
    "the class itself": HookResult,
    "generator": (_ for _ in ()),
    "bad action": {"action": "allow"},
    "action None": {"action": None},
    "action in another case": {"action": "Continue"},
    "data no dict": {"action": "modify", "data": "x"},
    "bad role": {"action": "inject_context", "context_injection": "x", "context_injection_role": "tool"},
    "bad text": {"action": "inject_context", "context_injection": 5},
    "bad default": {"action": "ask_user", "approval_default": "maybe"},
    "bad level": {"user_message": "x", "user_message_level": "fatal"},
    "other model": OtherModel(),
    "model that cannot be dumped": Undumpable(),
    "subclass that raises": Lying(action="ask_user"),
    "constructed": HookResult.model_construct(action="maybe"),  # pyright: ignore[reportArgumentType]
    "constructed data": HookResult.model_construct(action="modify", data=[1]),  # pyright: ignore[reportArgumentType]
    "empty shell": HookResult.__new__(HookResult),
    "without action": without("action"),
    "without message": without("user_message"),
    "without injections": without("context_injections").model_copy(update={"action": "inject_context"}),
    "changed action": changed(action="allow"),
    "changed action to an object": changed(action=object()),
    "changed data": changed(action="modify", data="x"),
    "changed reason": changed(action="deny", reason=5),
    "changed text": changed(context_injection=5),
    "changed role": changed(context_injection_role="wizard"),
    "changed ephemeral": changed(ephemeral="sometimes"),
    "changed injections": changed(context_injections="x"),
    "changed injections to dicts": changed(context_injections=[{"content": "x"}]),
    "changed injections to None": changed(context_injections=None),
    "changed item text": with_item(content=5),
    "changed item role": with_item(role="tool"),
    "changed prompt": changed(action="ask_user", approval_prompt=5),
    "changed options": changed(action="ask_user", approval_options="Allow"),
    "changed option": changed(action="ask_user", approval_options=["Allow", 5]),
    "changed timeout": changed(action="ask_user", approval_timeout="soon"),
    "changed default": changed(action="ask_user", approval_default="maybe"),
    "changed message": changed(action="continue", user_message=5),
    "changed level": changed(action="continue", user_message="x", user_message_level="fatal"),
    "changed suppression": changed(action="continue", suppress_output="yes"),
    "message without truth": changed(action="continue", user_message=Truthless()),
}


@pytest.mark.parametrize("on_error", ["continue", "deny"])
@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH.keys())
async def test_an_unreadable_answer_denies(caplog: pytest.LogCaptureFixture, rubbish: Any, on_error: Any) -> None:
    """Whatever the failure policy: the reason is fixed, the log says SECURITY, later handlers are not asked."""
    registry, later = HookRegistry(), list[str]()

    async def handler(event: str, data: dict[str, Any]) -> Any:
        return rubbish

    registry.register("tool:pre", handler, name="odd", on_error=on_error)
    registry.register("tool:pre", lambda event, data: later.append(event))
    result = await registry.emit("tool:pre", {})
    assert type(result) is HookResult
    assert result == DENIED
    assert later == []
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("amplifier_core.hooks", logging.ERROR)
    begin = "SECURITY: Hook handler returned unparseable result for event 'tool:pre' (handler 'odd')"
    assert record.getMessage().startswith(f"{begin}, the operation is denied: {type(rubbish).__name__} ")


@pytest.mark.parametrize("on_error", ["continue", "deny"])
@pytest.mark.parametrize(
    "answer",
    [None, {}, {"action": "continue"}, {"unknown": 1}, {"data": {"a": 1}}, HookResult(), HookResult(data={"a": 1})],
)
async def test_an_answer_that_says_nothing_lets_things_go_on(
    caplog: pytest.LogCaptureFixture, answer: Any, on_error: Any
) -> None:
    """``None``, an empty dict and unknown keys mean continue; data beside continue are not taken."""
    registry = HookRegistry()
    registry.register("e", lambda event, data: answer, on_error=on_error)
    result = await registry.emit("e", {"x": 1})
    assert result.action == "continue"
    assert result.data is not None
    assert set(result.data) == {"x", "timestamp"}
    assert caplog.records == []


async def test_an_answer_with_data_that_only_a_composed_result_can_have_is_readable() -> None:
    """A handler may hand on what another emit gave, keys that are no strings included."""
    registry = HookRegistry()
    registry.register("inner", lambda event, data: HookResult(action="inject_context", context_injection="x"))

    async def forward(event: str, data: dict[str, Any]) -> HookResult:
        return await registry.emit("inner", {1: "int key"})

    registry.register("outer", forward, name="forward")
    result = await registry.emit("outer", {})
    assert (result.action, result.context_injection) == ("inject_context", "x")
    assert result.context_injections[0].hook_name == "forward"


async def test_a_subclass_of_the_result_is_as_good_as_the_class() -> None:
    """Its own fields do not matter; a deny comes back as the very object."""

    class Verdict(HookResult):
        score: float = 0.0

    denial = Verdict(action="deny", reason="low", score=0.1)
    registry = HookRegistry()
    registry.register("deny", lambda event, data: denial)
    registry.register("go on", lambda event, data: Verdict(score=0.9))
    assert await registry.emit("deny", {}) is denial
    assert (await registry.emit("go on", {})).action == "continue"

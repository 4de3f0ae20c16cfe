"""Questions to the user: which answers approve, what happens when nobody answers, and what goes on afterwards."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import ContextInjection, HookResult

LOGGER = "amplifier_core._hook_results"


class Approver:
    """An approval system that writes down how it is called, and gives or raises its answers in turn."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[Any, ...]] = []

    async def request_approval(self, *arguments: Any) -> Any:
        self.calls.append(arguments)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def ask(prompt: str | None = "Delete?", **fields: Any) -> HookResult:
    """An answer that asks the user."""
    return HookResult(action="ask_user", approval_prompt=prompt, **fields)


async def processed(answer: HookResult, *decisions: Any) -> HookResult:
    """What is left of ``answer`` when the user decides so."""
    return await ModuleCoordinator(approval_system=Approver(*decisions)).process_hook_result(answer, "tool:pre", "h")


async def test_the_system_is_asked_positionally_with_everything_the_hook_said() -> None:
    """Prompt, options, time-out, default."""
    approver = Approver("Yes")
    answer = ask(approval_options=["Yes", "No"], approval_timeout=5.0, approval_default="allow")
    coordinator = ModuleCoordinator(approval_system=approver)
    assert await coordinator.process_hook_result(answer, "tool:pre") == HookResult()
    assert approver.calls == [("Delete?", ["Yes", "No"], 5.0, "allow")]


async def test_prompt_and_options_have_defaults_only_when_there_are_none() -> None:
    """An empty prompt and an empty list are passed on."""
    approver = Approver("Allow", "Allow")
    coordinator = ModuleCoordinator(approval_system=approver)
    await coordinator.process_hook_result(ask(None), "e")
    await coordinator.process_hook_result(ask("", approval_options=[]), "e")
    assert approver.calls == [
        ("Allow this operation?", ["Allow", "Deny"], 300.0, "deny"),
        ("", [], 300.0, "deny"),
    ]


async def test_a_system_may_be_sync() -> None:
    """What it returns is the decision."""
    coordinator = ModuleCoordinator()
    coordinator.approval_system = SimpleNamespace(request_approval=lambda *arguments: "allow")
    assert (await coordinator.process_hook_result(ask(), "e")).action == "continue"


@pytest.mark.parametrize("decision", ["Allow", "allow", "ALLOW", "Allow once", "aLLOW ONCE", "Allow always"])
async def test_three_answers_always_approve(caplog: pytest.LogCaptureFixture, decision: str) -> None:
    """In any case, whatever the options; the result is new and empty."""
    assert await processed(ask(approval_options=["Other"]), decision) == HookResult()
    assert caplog.records == []


@pytest.mark.parametrize(
    "option",
    [
        "Approve",
        "Yes",
        "ok",
        "OK, go on",
        "Accept the risk",
        "Proceed",
        "continue",
        "Allow for this session",
        "allow: always here",
        "Yes!",
    ],
)
async def test_another_answer_approves_if_the_hook_offered_it_and_its_first_word_agrees(option: str) -> None:
    """In any case; the same answer that nobody offered denies."""
    assert (await processed(ask(approval_options=["No", option]), option)).action == "continue"
    assert (await processed(ask(approval_options=["No", option]), option.swapcase())).action == "continue"
    assert (await processed(ask(approval_options=["No", "Maybe"]), option)).action == "deny"
    assert (await processed(ask(), option)).action == "deny"


@pytest.mark.parametrize(
    "decision", ["No", "Never", "", "Okay", "Yessir", "Allowed", "don't allow", "Not yes", "Deny", "1", "...", "да"]
)
async def test_every_other_answer_denies_even_if_it_was_offered(decision: str) -> None:
    """The reason repeats the question."""
    result = await processed(ask(approval_options=[decision]), decision)
    assert result == HookResult(action="deny", reason="User denied: Delete?")


async def test_an_answer_that_is_no_known_denial_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody wonders why ``yes`` did not approve."""
    await processed(ask(), "DENY")
    assert caplog.records == []
    await processed(ask(), "yes")
    told = "Approval answer 'yes' is not a known approval and counts as a denial"
    assert caplog.record_tuples == [(LOGGER, logging.WARNING, told)]


async def test_a_long_prompt_is_cut_in_the_reason() -> None:
    """After 200 characters."""
    assert (await processed(ask("x" * 200), "Deny")).reason == "User denied: " + "x" * 200
    assert (await processed(ask("x" * 201), "Deny")).reason == "User denied: " + "x" * 200 + "...[truncated]"


@pytest.mark.parametrize("decision", [None, True, 1, ["Allow"], b"Allow"])
async def test_a_decision_that_is_no_text_is_a_type_error(decision: Any) -> None:
    """The error says what an approval system must answer."""
    message = f"An approval system must answer with one of the options as text, got {type(decision).__name__}"
    with pytest.raises(TypeError, match=f"^{message}$"):
        await processed(ask(), decision)


async def test_when_nobody_answers_the_hook_s_default_counts() -> None:
    """Allow goes on, deny says why."""
    assert await processed(ask(approval_default="allow"), ApprovalTimeoutError()) == HookResult()
    denied = await processed(ask(), ApprovalTimeoutError("late"))
    assert denied == HookResult(action="deny", reason="Approval timeout - denied by default: Delete?")


@pytest.mark.parametrize("error", [TimeoutError("socket"), RuntimeError("broken"), asyncio.CancelledError()])
async def test_any_other_error_of_the_system_comes_out(error: BaseException) -> None:
    """A builtin ``TimeoutError`` is no answer, whatever the default."""
    with pytest.raises(type(error)) as caught:
        await processed(ask(approval_default="allow"), error)
    assert caught.value is error


async def test_without_a_system_a_question_is_denied() -> None:
    """Nobody can approve, whatever the default."""
    result = await ModuleCoordinator().process_hook_result(ask(approval_default="allow"), "e")
    assert result == HookResult(action="deny", reason="No approval system available")


class Outside:
    """Context and display that write down what reaches them."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.shown: list[str] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.stored.append(message["content"])

    def show_message(self, message: str, level: str, source: str) -> None:
        self.shown.append(message)


def busy_coordinator(approver: Approver, *, is_modified: bool, ephemeral: bool) -> tuple[ModuleCoordinator, Outside]:
    """A coordinator whose event ``e`` brings two questions, an injection, a message and perhaps a modification."""
    outside = Outside()
    coordinator = ModuleCoordinator(approval_system=approver, display_system=outside)
    coordinator.mount("context", outside)
    hooks = coordinator.hooks
    hooks.set_default_fields()
    answers = [
        ask("first?", user_message="a message"),
        HookResult(action="modify", data={"new": 1} if is_modified else None),
        HookResult(action="inject_context", context_injection="stored"),
        HookResult(action="inject_context", context_injection="rest", ephemeral=ephemeral, suppress_output=True),
        ask("second?", approval_default="allow"),
    ]
    for number, answer in enumerate(answers):
        hooks.register("e", lambda event, data, answer=answer: answer, name=f"h{number}")
    return coordinator, outside


async def test_all_questions_are_asked_and_then_everything_else_goes_on() -> None:
    """On approval injections are stored, messages shown, and the ephemeral rest left with the data."""
    approver = Approver("Allow", ApprovalTimeoutError())
    coordinator, outside = busy_coordinator(approver, is_modified=True, ephemeral=True)
    result = await coordinator.process_hook_result(await coordinator.hooks.emit("e", {"old": 1}), "e")
    assert [call[0] for call in approver.calls] == ["first?", "second?"]
    assert (outside.stored, outside.shown) == (["stored"], ["a message"])
    rest = ContextInjection(content="rest", ephemeral=True, hook_name="h3", event="e")
    assert result == HookResult(
        action="inject_context",
        context_injection="rest",
        ephemeral=True,
        context_injections=[rest],
        data={"new": 1},
        suppress_output=True,
    )


async def test_after_approval_a_modification_is_left_when_nothing_is_ephemeral() -> None:
    """The orchestrator finds ``modify`` with the data."""
    coordinator, outside = busy_coordinator(Approver("Allow", "Allow"), is_modified=True, ephemeral=False)
    result = await coordinator.process_hook_result(await coordinator.hooks.emit("e", {"old": 1}), "e")
    assert outside.stored == ["stored", "rest"]
    assert result == HookResult(action="modify", data={"new": 1}, suppress_output=True)


async def test_after_approval_of_unchanged_data_the_answer_is_continue() -> None:
    """Data that nobody modified are not in it."""
    coordinator, outside = busy_coordinator(Approver("Allow", "Allow"), is_modified=False, ephemeral=False)
    result = await coordinator.process_hook_result(await coordinator.hooks.emit("e", {"old": 1}), "e")
    assert outside.stored == ["stored", "rest"]
    assert result == HookResult(suppress_output=True)


@pytest.mark.parametrize("decisions", [("Deny",), ("Allow", "Deny")])
async def test_one_denial_ends_it_and_nothing_else_happens(decisions: tuple[str, ...]) -> None:
    """Later questions are not asked; nothing is injected, charged or shown."""
    approver = Approver(*decisions)
    coordinator, outside = busy_coordinator(approver, is_modified=True, ephemeral=True)
    result = await coordinator.process_hook_result(await coordinator.hooks.emit("e", {}), "e")
    prompt = ["first?", "second?"][len(decisions) - 1]
    assert result == HookResult(action="deny", reason=f"User denied: {prompt}")
    assert len(approver.calls) == len(decisions)
    assert (outside.stored, outside.shown, coordinator._current_turn_injections) == ([], [], 0)


async def test_an_approved_injection_beyond_the_limit_is_still_an_error() -> None:
    """Approval does not lift the plan's limits."""
    coordinator, outside = busy_coordinator(Approver("Allow", "Allow"), is_modified=False, ephemeral=False)
    coordinator.config["session"] = {"injection_size_limit": 5}
    with pytest.raises(ValueError, match="^Context injection exceeds 5 characters"):
        await coordinator.process_hook_result(await coordinator.hooks.emit("e", {}), "e")
    assert outside.stored == []


async def test_scalar_text_beside_a_question_is_not_injected() -> None:
    """Only what handlers asked to inject is."""
    outside = Outside()
    coordinator = ModuleCoordinator(approval_system=Approver("Allow"))
    coordinator.mount("context", outside)
    result = await coordinator.process_hook_result(ask(context_injection="beside"), "e")
    assert (result, outside.stored) == (HookResult(), [])

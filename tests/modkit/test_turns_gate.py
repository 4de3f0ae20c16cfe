"""The gate between a loop and its hooks: every action is carried out, nothing is lost, and no failure opens it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.hooks import HookRegistry
from amplifier_core.models import HookResult
from amplifier_core.testing import MockContextManager, TestCoordinator
from amplifier_modkit.turns.gate import DeniedError, HookGate

EVENT = "tool:pre"
DATA = {"tool_input": {"n": 1}}


class Stage:
    """A gate with hooks that give fixed answers, an approval system that says ``answer``, and a context."""

    def __init__(self, *answers: HookResult, answer: str = "Allow", size_limit: int | None = None) -> None:
        self.coordinator = TestCoordinator({"session": {"injection_size_limit": size_limit}})
        self.coordinator.approval_system.answer = answer
        self.context = MockContextManager()
        self.coordinator.mount("context", self.context)
        self.hooks = HookRegistry()
        for number, result in enumerate(answers):
            self.hooks.register(EVENT, lambda event, data, result=result: result, name=f"hook-{number}")
        self.gate = HookGate(self.hooks, self.coordinator)

    @property
    def stored(self) -> list[str]:
        """What hooks put into the conversation."""
        return [message["content"] for message in self.context.messages]

    @property
    def shown(self) -> list[str]:
        """What was shown to the user."""
        return [message for message, _, _ in self.coordinator.display_system.messages]

    def ephemeral(self) -> list[str]:
        """What goes into the next request."""
        return [item.content for item in self.gate.take_injections()]


def ask(**fields: Any) -> HookResult:
    """The answer of a hook that wants the user asked."""
    return HookResult(action="ask_user", approval_prompt="Really?", **fields)


def inject(text: str, **fields: Any) -> HookResult:
    """The answer of a hook that puts something into the conversation."""
    return HookResult(action="inject_context", context_injection=text, **fields)


def modify(**data: Any) -> HookResult:
    """The answer of a hook that changes the data."""
    return HookResult(action="modify", data=data)


def deny(reason: str | None = "no") -> HookResult:
    """The answer of a hook that refuses."""
    return HookResult(action="deny", reason=reason)


async def test_without_hooks_everything_goes_on_with_the_very_data() -> None:
    """Nothing is copied or added."""
    data = dict(DATA)
    permitted, is_modified = await Stage().gate.judge(EVENT, data)
    assert (permitted is data, is_modified) == (True, False)
    assert await Stage(HookResult()).gate.permit(EVENT, data) is data


async def test_a_modification_takes_effect_and_the_rest_stays() -> None:
    """A hook that gives only the field it changes does not lose the others."""
    permitted, is_modified = await Stage(modify(tool_input={"n": 2})).gate.judge(EVENT, {**DATA, "tool_name": "t"})
    assert ({key: permitted[key] for key in ("tool_input", "tool_name")}, is_modified) == (
        {"tool_input": {"n": 2}, "tool_name": "t"},
        True,
    )


async def test_writing_into_the_event_without_a_modify_changes_no_field() -> None:
    """Each hook has a dict of its own; only an answer counts."""
    stage = Stage()

    async def scribble(event: str, data: dict[str, Any]) -> HookResult:
        data["tool_input"] = {"n": 3}
        return HookResult()

    stage.hooks.register(EVENT, scribble)
    assert await stage.gate.permit(EVENT, DATA) == {"tool_input": {"n": 1}}


@pytest.mark.parametrize(
    ("reason", "told"), [("no", "no"), (None, "a hook refused 'tool:pre' without giving a reason")]
)
async def test_a_refusal_is_an_error_with_its_reason(reason: str | None, told: str) -> None:
    """There is always something to tell."""
    for step in ("judge", "permit"):
        with pytest.raises(DeniedError) as denied:
            await getattr(Stage(deny(reason)).gate, step)(EVENT, DATA)
        assert str(denied.value) == told


async def test_a_refusal_of_what_has_happened_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It comes too late, and whoever wrote the hook should know."""
    await Stage(deny()).gate.announce(EVENT, DATA)
    await Stage(HookResult()).gate.announce(EVENT, DATA)
    assert caplog.messages == ["A hook denies 'tool:pre', which only tells what has happened: no"]


async def test_messages_are_shown_with_every_action() -> None:
    """Also beside a refusal, and in the joined form."""
    said: dict[str, Any] = {"user_message": "look"}
    for result in (HookResult(**said), deny().model_copy(update=said), modify(a=1).model_copy(update=said)):
        stage = Stage(result)
        await stage.gate.tell(EVENT, DATA)
        assert stage.shown == ["look"]


@pytest.mark.parametrize("answer", ["Allow", "allow always"])
async def test_an_approved_question_lets_things_go_on(answer: str) -> None:
    """With the data as they were."""
    stage = Stage(ask(), answer=answer)
    assert await stage.gate.permit(EVENT, DATA) == DATA
    assert stage.coordinator.approval_system.request_approval.call_count == 1


async def test_a_question_that_is_answered_with_no_is_a_refusal() -> None:
    """And nothing of the same answer is carried out."""
    stage = Stage(ask(), inject("stored"), modify(tool_input={}), answer="Deny")
    with pytest.raises(DeniedError, match="^User denied: Really\\?$"):
        await stage.gate.permit(EVENT, DATA)
    assert (stage.stored, stage.ephemeral()) == ([], [])


@pytest.mark.parametrize("default", ["allow", "deny"])
async def test_a_question_without_an_answer_in_time_takes_its_default(default: Any) -> None:
    """The hook says what silence means."""
    stage = Stage(ask(approval_default=default))
    stage.coordinator.approval_system.request_approval.side_effect = ApprovalTimeoutError("late")
    if default == "allow":
        assert await stage.gate.permit(EVENT, DATA) == DATA
    else:
        with pytest.raises(DeniedError, match="^Approval timeout - denied by default"):
            await stage.gate.permit(EVENT, DATA)


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("failure", [OSError("no terminal"), asyncio.CancelledError("window closed")])
async def test_a_question_that_cannot_be_asked_is_a_refusal(
    failure: BaseException, holds: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """An approval system that crashes, or breaks off by itself, consents to nothing and does not end the turn."""
    stage = Stage(ask())
    stage.coordinator.approval_system.request_approval.side_effect = failure
    if holds:
        stage.gate.hold()
    told = f"{type(failure).__name__}: {failure}"
    with pytest.raises(DeniedError) as denied:
        await stage.gate.permit(EVENT, DATA)
    assert str(denied.value) == f"the question could not be asked: {told}"
    assert caplog.messages == [f"Nobody could be asked about 'tool:pre', so it is denied: {told}"]


async def test_the_cancellation_of_the_task_goes_through_a_question() -> None:
    """A turn that is stopped while the user thinks is stopped, not denied."""
    stage, asked = Stage(ask()), asyncio.Event()

    async def think(*args: Any) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "Allow"

    stage.coordinator.approval_system.request_approval.side_effect = think
    task = asyncio.create_task(stage.gate.permit(EVENT, DATA))
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_without_anybody_to_ask_a_question_is_a_refusal() -> None:
    """As in a test without an application."""
    stage = Stage(ask())
    stage.coordinator.approval_system = None
    with pytest.raises(DeniedError, match="No approval system available"):
        await stage.gate.permit(EVENT, DATA)


async def test_injections_are_stored_or_kept_for_the_next_request() -> None:
    """Ephemeral ones are taken once, with their place and the hook they come from."""
    stage = Stage(inject("stored"), inject("once", ephemeral=True, append_to_last_tool_result=True))
    await stage.gate.tell(EVENT, DATA)
    assert stage.stored == ["stored"]
    (item,) = stage.gate.take_injections()
    assert (item.content, item.append_to_last_tool_result, item.hook_name, item.event) == (
        "once",
        True,
        "hook-1",
        EVENT,
    )
    assert stage.gate.take_injections() == []


@pytest.mark.parametrize("holds", [False, True])
async def test_a_modification_a_question_a_message_and_injections_survive_together(holds: bool) -> None:
    """All that several hooks say about one event is carried out."""
    stage = Stage(
        modify(tool_input={"n": 2}),
        ask(),
        inject("stored"),
        inject("once", ephemeral=True),
        HookResult(user_message="look"),
    )
    if holds:
        stage.gate.hold()
    permitted, is_modified = await stage.gate.judge(EVENT, DATA)
    assert (permitted["tool_input"], is_modified, stage.shown) == ({"n": 2}, True, ["look"])
    await stage.gate.release()
    assert (stage.stored, stage.ephemeral(), stage.shown) == (["stored"], ["once"], ["look"])


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("is_modified", [False, True])
async def test_beside_an_injection_it_is_known_whether_the_data_changed(holds: bool, is_modified: bool) -> None:
    """An injection alone is no modification, with or without the user being asked."""
    for also in ([], [ask()]):
        for ephemeral in (False, True):
            changes = [modify(tool_input={"n": 2})] if is_modified else []
            stage = Stage(*changes, *also, inject("x", ephemeral=ephemeral))
            if holds:
                stage.gate.hold()
            permitted, found = await stage.gate.judge(EVENT, DATA)
            assert (permitted["tool_input"], found) == ({"n": 2} if is_modified else {"n": 1}, is_modified)


async def test_while_calls_are_open_nothing_is_stored() -> None:
    """What hooks inject meanwhile waits, in order, and is stored by the release; only once."""
    stage = Stage(inject("one"), inject("two", ephemeral=True))
    stage.gate.hold()
    assert not stage.gate.is_holding_back
    await stage.gate.tell(EVENT, DATA)
    await stage.gate.tell(EVENT, DATA)
    assert (stage.stored, stage.ephemeral(), stage.gate.is_holding_back) == ([], [], True)
    await stage.gate.release()
    assert (stage.stored, stage.ephemeral(), stage.gate.is_holding_back) == (["one", "one"], ["two", "two"], False)
    await stage.gate.release()
    await stage.gate.tell(EVENT, DATA)
    assert stage.stored == ["one", "one", "one"]


async def test_a_question_is_asked_even_while_calls_are_open() -> None:
    """A refusal then drops the injection that came with it."""
    stage = Stage(ask(), inject("stored"), answer="Deny")
    stage.gate.hold()
    with pytest.raises(DeniedError):
        await stage.gate.permit(EVENT, DATA)
    assert not stage.gate.is_holding_back


@pytest.mark.parametrize("is_modified", [False, True])
async def test_an_injection_that_fails_takes_no_modification_along(
    is_modified: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A hook that says too much cannot undo what another, such as one that hides secrets, has changed."""
    changes = [modify(tool_input={"n": 2})] if is_modified else []
    stage = Stage(*changes, inject("far too long"), size_limit=3)
    permitted, found = await stage.gate.judge(EVENT, DATA)
    assert (permitted["tool_input"], found) == ({"n": 2} if is_modified else {"n": 1}, is_modified)
    assert stage.stored == []
    assert caplog.messages[-1].startswith(
        "What hooks wanted to put into the conversation at 'tool:pre' is left out: ValueError: Context injection"
    )


async def test_a_context_that_cannot_store_an_injection_does_not_break_the_event() -> None:
    """Neither at once nor at the release."""
    for holds in (False, True):
        stage = Stage(inject("text"))
        stage.context.add_message.side_effect = OSError("disk full")
        if holds:
            stage.gate.hold()
        assert await stage.gate.permit(EVENT, DATA) == DATA
        await stage.gate.release()


async def test_after_the_turn_nobody_is_told_and_nothing_is_permitted() -> None:
    """Something that was left behind finds the gate closed: no guard is asked, so nothing may happen."""
    stage = Stage(inject("late"))
    stage.gate.close()
    assert (await stage.gate.tell(EVENT, DATA)).action == "continue"
    for step in ("judge", "permit"):
        with pytest.raises(DeniedError, match="^the turn is over$"):
            await getattr(stage.gate, step)(EVENT, DATA)
    assert stage.stored == []


async def test_what_went_into_the_conversation_can_be_asked_for_once() -> None:
    """Whoever builds a request at that moment needs to know; what was denied or ephemeral is not among it."""
    stage = Stage(inject("stored"), inject("once", ephemeral=True))
    await stage.gate.tell(EVENT, DATA)
    assert [item.content for item in stage.gate.take_stored()] == ["stored"]
    assert stage.gate.take_stored() == []
    denied = Stage(ask(), inject("stored"), answer="Deny")
    await denied.gate.tell(EVENT, DATA)
    assert denied.gate.take_stored() == []


async def test_a_refusal_stays_one_when_its_message_cannot_be_shown() -> None:
    """Whatever goes wrong around it."""

    class Failing(TestCoordinator):
        async def process_hook_result(self, result: HookResult, event: str, hook_name: str = "unknown") -> HookResult:
            raise OSError("broken")

    hooks = HookRegistry()
    hooks.register(EVENT, lambda event, data: HookResult(action="deny", reason="no", user_message="look"))
    with pytest.raises(DeniedError, match="^no$"):
        await HookGate(hooks, Failing()).permit(EVENT, DATA)

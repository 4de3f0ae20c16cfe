"""Carrying out an answer: what is injected, charged and shown, and what is left for the orchestrator."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.hooks import ContextInjection, HookResult

NOW = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
LOGGER = "amplifier_core._hook_results"


class Context:
    """A context that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)


def coordinator_with(context: Any = None, display: Any = None, **limits: Any) -> ModuleCoordinator:
    """A coordinator whose time stands still, with limits of the plan."""
    session = SimpleNamespace(session_id="s", parent_id=None, config={"session": limits})
    coordinator = ModuleCoordinator(session, display_system=display, clock=lambda: NOW)
    coordinator.mount("context", context)
    return coordinator


def inject(text: str | None, **fields: Any) -> HookResult:
    """An answer that injects one text."""
    return HookResult(action="inject_context", context_injection=text, **fields)


async def test_an_injection_is_stored_with_its_provenance(caplog: pytest.LogCaptureFixture) -> None:
    """The message says which hook put it there, on which event and when; an audit line is logged."""
    context = Context()
    coordinator = coordinator_with(context)
    with caplog.at_level(logging.INFO):
        result = await coordinator.process_hook_result(
            result=inject("12345678", context_injection_role="user"), event="tool:post", hook_name="lint"
        )
    assert context.messages == [
        {
            "role": "user",
            "content": "12345678",
            "metadata": {
                "source": "hook",
                "hook_name": "lint",
                "event": "tool:post",
                "timestamp": "2024-01-02T03:04:05+00:00",
                "requested_role": "user",
                "ephemeral": False,
                "persisted": True,
            },
        }
    ]
    assert result == HookResult()
    audit = "Hook context injection (hook=lint, event=tool:post, chars=8, role=user, tokens=2, ephemeral=False)"
    assert caplog.record_tuples == [(LOGGER, logging.INFO, audit)]


async def test_without_a_name_the_hook_is_unknown() -> None:
    """``hook_name`` may be left out."""
    context = Context()
    await coordinator_with(context).process_hook_result(inject("x"), "e")
    assert context.messages[0]["metadata"]["hook_name"] == "unknown"


async def test_every_listed_injection_is_stored_under_its_own_name() -> None:
    """The scalar text beside a list does not count, nor do name and event of the call."""
    context = Context()
    items = [
        ContextInjection(content="one", hook_name="a", event="ea"),
        ContextInjection(content="two", role="assistant", hook_name="b", event="eb"),
    ]
    await coordinator_with(context).process_hook_result(inject("ignored", context_injections=items), "e", "h")
    told = [(m["role"], m["content"], m["metadata"]["hook_name"], m["metadata"]["event"]) for m in context.messages]
    assert told == [("system", "one", "a", "ea"), ("assistant", "two", "b", "eb")]


async def test_text_is_sanitised_before_it_is_measured_and_stored() -> None:
    """Control characters and lone surrogates go; tab and line ends stay; the limit counts what is left."""
    context = Context()
    coordinator = coordinator_with(context, injection_size_limit=5)
    await coordinator.process_hook_result(inject("a\x00\x08b\ud800\t\n\r\x7f\x9f"), "e")
    assert [message["content"] for message in context.messages] == ["ab\t\n\r"]
    assert coordinator._current_turn_injections == 1


@pytest.mark.parametrize("text", [None, "", "\x00\ud800"])
async def test_a_text_without_content_injects_nothing(caplog: pytest.LogCaptureFixture, text: str | None) -> None:
    """Nothing is stored, charged or logged, and nothing is left to do."""
    context = Context()
    coordinator = coordinator_with(context)
    with caplog.at_level(logging.INFO):
        result = await coordinator.process_hook_result(inject(text, reason="because"), "e")
    assert (context.messages, coordinator._current_turn_injections, caplog.records) == ([], 0, [])
    assert result == HookResult(reason="because")


async def test_one_text_beyond_the_size_limit_refuses_them_all(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is stored, charged or shown; the error names the hook and the way out."""
    shown: list[Any] = []
    context, display = Context(), SimpleNamespace(show_message=lambda *said: shown.append(said))
    coordinator = coordinator_with(context, display, injection_size_limit=4)
    items = [
        ContextInjection(content="1234", hook_name="short", event="e"),
        ContextInjection(content="12345", ephemeral=True, hook_name="long", event="e"),
    ]
    message = (
        r"^Context injection exceeds 4 characters: hook 'long' on 'e' gave 5; "
        r"shorten it or raise session\.injection_size_limit$"
    )
    answer = inject(None, context_injections=items, user_message="shown?")
    with pytest.raises(ValueError, match=message):
        await coordinator.process_hook_result(answer, "e")
    assert (context.messages, coordinator._current_turn_injections, shown) == ([], 0, [])
    assert caplog.record_tuples == [(LOGGER, logging.ERROR, "Context injection of hook 'long' is too long: 5 > 4")]


async def test_the_size_limit_is_for_each_text_alone() -> None:
    """Together they may be longer."""
    context = Context()
    coordinator = coordinator_with(context, injection_size_limit=4)
    items = [ContextInjection(content="1234"), ContextInjection(content="5678")]
    await coordinator.process_hook_result(inject(None, context_injections=items), "e")
    assert len(context.messages) == 2


async def test_the_budget_only_warns(caplog: pytest.LogCaptureFixture) -> None:
    """Four characters are a token; what goes beyond the budget is stored all the same."""
    context = Context()
    coordinator = coordinator_with(context, injection_budget_per_turn=2)
    await coordinator.process_hook_result(inject("x" * 11), "e", "h")
    assert (coordinator._current_turn_injections, caplog.records) == (2, [])
    await coordinator.process_hook_result(inject("x" * 4), "e", "h")
    assert coordinator._current_turn_injections == 3
    assert len(context.messages) == 2
    told = "Warning: Hook injection budget exceeded (hook=h, used=3, budget=2 tokens)"
    assert caplog.record_tuples == [(LOGGER, logging.WARNING, told)]


async def test_a_new_turn_begins_a_new_budget(caplog: pytest.LogCaptureFixture) -> None:
    """``reset_turn`` forgets what was charged."""
    coordinator = coordinator_with(Context(), injection_budget_per_turn=2)
    for _ in range(3):
        coordinator.reset_turn()
        await coordinator.process_hook_result(inject("x" * 8), "e")
    assert caplog.records == []


async def test_injections_are_charged_even_if_they_are_not_stored() -> None:
    """Ephemeral ones are, and those that find no context, or one that takes no messages."""
    coordinator = coordinator_with(Context())
    await coordinator.process_hook_result(inject("x" * 8, ephemeral=True), "e")
    assert coordinator._current_turn_injections == 2
    for context in (None, object(), SimpleNamespace(add_message="no function")):
        coordinator.mount("context", context)
        coordinator.reset_turn()
        assert await coordinator.process_hook_result(inject("x" * 8), "e") == HookResult()
        assert coordinator._current_turn_injections == 2


async def test_a_context_may_be_sync_and_its_errors_come_out() -> None:
    """The kernel does not hide that history could not be written."""
    stored: list[Any] = []
    coordinator = coordinator_with(SimpleNamespace(add_message=stored.append))
    await coordinator.process_hook_result(inject("x"), "e")
    assert [message["content"] for message in stored] == ["x"]

    async def full(message: dict[str, Any]) -> None:
        raise OSError("disk full")

    coordinator.mount("context", SimpleNamespace(add_message=full))
    with pytest.raises(OSError, match="^disk full$"):
        await coordinator.process_hook_result(inject("x"), "e")


async def test_the_ephemeral_rest_is_left_to_the_orchestrator() -> None:
    """Stored items are out; the scalars are made from what is left; the other fields stay."""
    context = Context()
    items = [
        ContextInjection(content="stored", role="user", append_to_last_tool_result=True),
        ContextInjection(content="one\x00", role="assistant", ephemeral=True),
        ContextInjection(content="", ephemeral=True),
        ContextInjection(content="two", ephemeral=True),
    ]
    answer = inject("", context_injections=items, data={"d": 1}, reason="r", user_message="m", suppress_output=True)
    result = await coordinator_with(context).process_hook_result(answer, "e")
    assert [message["content"] for message in context.messages] == ["stored"]
    assert result == HookResult(
        action="inject_context",
        context_injection="one\n\ntwo",
        context_injection_role="assistant",
        ephemeral=True,
        append_to_last_tool_result=False,
        context_injections=[
            ContextInjection(content="one", role="assistant", ephemeral=True),
            ContextInjection(content="two", ephemeral=True),
        ],
        data={"d": 1},
        reason="r",
        user_message="m",
        suppress_output=True,
    )
    assert [item.content for item in answer.context_injections] == ["stored", "one\x00", "", "two"]


async def test_a_single_ephemeral_injection_is_left_with_its_place() -> None:
    """Scalars alone become a list of one that names the hook of the call."""
    answer = inject("x", ephemeral=True, append_to_last_tool_result=True, context_injection_role="user")
    result = await coordinator_with(Context()).process_hook_result(answer, "tool:post", "reminder")
    item = ContextInjection(
        content="x",
        role="user",
        ephemeral=True,
        append_to_last_tool_result=True,
        hook_name="reminder",
        event="tool:post",
    )
    assert result == answer.model_copy(update={"context_injections": [item]})


async def test_what_was_stored_is_not_in_the_result_again() -> None:
    """All injection fields are reset; a second processing changes nothing."""
    context = Context()
    coordinator = coordinator_with(context)
    answer = inject("x", context_injection_role="user", append_to_last_tool_result=True, approval_prompt="p")
    result = await coordinator.process_hook_result(answer, "e")
    assert result == HookResult(approval_prompt="p")
    assert await coordinator.process_hook_result(result, "e") is result
    assert len(context.messages) == 1


async def test_a_modification_beside_an_injection_is_left_once_the_injection_is_stored() -> None:
    """An orchestrator finds ``modify`` and the data; with an ephemeral rest it finds both."""
    coordinator = coordinator_with(Context())
    hooks = coordinator.hooks
    hooks.set_default_fields()
    for event, ephemeral in (("stored", False), ("rest", True)):
        hooks.register(event, lambda event, data: HookResult(action="modify", data={"new": 1}))
        answer = inject("text", ephemeral=ephemeral)
        hooks.register(event, lambda event, data, answer=answer: answer, name="h")
    stored = await coordinator.process_hook_result(await hooks.emit("stored", {}), "stored")
    assert stored.model_dump() == HookResult(action="modify", data={"new": 1}).model_dump()
    rest = await coordinator.process_hook_result(await hooks.emit("rest", {}), "rest")
    assert (rest.action, rest.context_injection, rest.data) == ("inject_context", "text", {"new": 1})


@pytest.mark.parametrize(
    "answer",
    [
        HookResult(action="deny", reason="no", context_injection="x", user_message="m"),
        HookResult(action="modify", data={"a": 1}, context_injections=[ContextInjection(content="x")]),
        HookResult(context_injection="x", ephemeral=True),
    ],
    ids=["deny", "modify", "continue"],
)
async def test_other_answers_come_back_as_they_are(answer: HookResult) -> None:
    """Deny, modify and continue are the very object, and inject nothing whatever their fields say."""
    context, before = Context(), answer.model_copy(deep=True)
    assert await coordinator_with(context).process_hook_result(answer, "e") is answer
    assert answer == before
    assert context.messages == []


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("action", ["continue", "deny", "modify", "inject_context"])
async def test_a_message_is_shown_with_level_and_source(kind: str, action: Any) -> None:
    """Positionally; the source is the hook's own word for itself, else the name of the call."""
    shown: list[Any] = []

    async def show_later(*said: Any) -> None:
        shown.append(said)

    display = SimpleNamespace(show_message=show_later if kind == "async" else lambda *said: shown.append(said))
    coordinator = coordinator_with(display=display)
    plain = HookResult(action=action, user_message="one", user_message_level="warning")
    await coordinator.process_hook_result(plain, "e", "lint")
    await coordinator.process_hook_result(HookResult(user_message="two", user_message_source="me"), "e", "lint")
    await coordinator.process_hook_result(HookResult(user_message="three", user_message_source=""), "e", "lint")
    await coordinator.process_hook_result(HookResult(user_message=""), "e", "lint")
    assert shown == [("one", "warning", "hook:lint"), ("two", "info", "hook:me"), ("three", "info", "hook:")]


async def test_a_display_that_raises_is_logged_and_does_not_stop_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """The injection is stored all the same."""
    context = Context()

    def broken(*said: Any) -> None:
        raise RuntimeError("no terminal")

    coordinator = coordinator_with(context, SimpleNamespace(show_message=broken))
    await coordinator.process_hook_result(inject("x", user_message="m"), "e")
    assert caplog.record_tuples == [(LOGGER, logging.ERROR, "Error calling display_system: no terminal")]
    assert len(context.messages) == 1


async def test_without_a_display_the_message_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """At level debug, cut to 200 characters; so does a wish to suppress output."""
    answer = HookResult(user_message="x" * 300, user_message_level="error", suppress_output=True)
    with caplog.at_level(logging.DEBUG, LOGGER):
        assert await coordinator_with().process_hook_result(answer, "tool:post", "h") is answer
        await coordinator_with().process_hook_result(HookResult(), "tool:post", "h")
    assert caplog.record_tuples == [
        (LOGGER, logging.DEBUG, f"Hook message (error) from h: {'x' * 200}"),
        (LOGGER, logging.DEBUG, "Hook 'h' asks to suppress the output of 'tool:post'"),
    ]


async def test_messages_are_shown_before_injections_are_stored() -> None:
    """A context that fails does not swallow the message."""
    steps: list[str] = []
    context = SimpleNamespace(add_message=lambda message: steps.append("stored"))
    display = SimpleNamespace(show_message=lambda *said: steps.append("shown"))
    await coordinator_with(context, display).process_hook_result(inject("x", user_message="m"), "e")
    assert steps == ["shown", "stored"]


async def test_a_dict_is_no_result() -> None:
    """Only an object with a result's attributes can be processed."""
    with pytest.raises(AttributeError):
        await coordinator_with().process_hook_result({"action": "continue"}, "e")  # pyright: ignore[reportArgumentType]

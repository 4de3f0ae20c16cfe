"""The request a model gets: messages as models, injections where they belong, tools under the names they answer to."""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import Any

import pytest

from amplifier_core.message_models import Message, TextBlock
from amplifier_core.models import ContextInjection
from amplifier_core.testing import MockTool
from amplifier_modkit.turns.requests import RequestMessages, ToolOffer, reminder, to_model, with_injections

USER = {"role": "user", "content": "hi"}
TOOL = {"role": "tool", "tool_call_id": "a", "name": "t", "content": "done"}


def injection(text: str, **fields: Any) -> ContextInjection:
    """An ephemeral injection of a hook."""
    return ContextInjection(content=text, ephemeral=True, hook_name="h", event="e", **fields)


ORIGIN = {"source": "hook", "hook_name": "h", "event": "e", "ephemeral": True}


def test_injections_follow_the_messages_in_their_order() -> None:
    """Each says which hook it comes from, and the given list stays as it is."""
    messages = [USER]
    extended = with_injections(messages, [injection("one"), injection("two", role="user")])
    assert extended == [
        USER,
        {"role": "system", "content": "one", "metadata": ORIGIN},
        {"role": "user", "content": "two", "metadata": ORIGIN},
    ]
    assert messages == [USER]


def test_an_injection_can_stand_at_the_end_of_the_last_tool_result() -> None:
    """Several are appended one after another; the stored message itself is not touched."""
    before = deepcopy(TOOL)
    texts = [injection(text, append_to_last_tool_result=True) for text in ("one", "two")]
    assert with_injections([USER, TOOL], texts) == [
        USER,
        {**TOOL, "content": "done\n\none\n\ntwo", "metadata": {"appended": [ORIGIN, ORIGIN]}},
    ]
    assert before == TOOL


@pytest.mark.parametrize(
    ("content", "appended"),
    [
        ("", "note"),
        (None, "note"),
        ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}, {"type": "text", "text": "note"}]),
    ],
)
def test_a_result_without_text_or_in_blocks_takes_an_injection_as_well(content: Any, appended: Any) -> None:
    """Metadata that are there already stay."""
    message = {**TOOL, "content": content, "metadata": {"is_error": True}}
    (extended,) = with_injections([message], [injection("note", append_to_last_tool_result=True)])
    assert extended == {**message, "content": appended, "metadata": {"is_error": True, "appended": [ORIGIN]}}


@pytest.mark.parametrize("messages", [[], [TOOL, USER]])
def test_without_a_tool_result_at_the_end_the_injection_is_a_message(messages: list[dict[str, Any]]) -> None:
    """Further up it would change what the provider has cached."""
    extended = with_injections(messages, [injection("note", append_to_last_tool_result=True)])
    assert extended == [*messages, {"role": "system", "content": "note", "metadata": ORIGIN}]


def test_a_reminder_is_marked_as_the_loops_own() -> None:
    """Models are trained to read such tags as no part of the conversation."""
    assert reminder("stop") == {
        "role": "user",
        "content": "<system-reminder>\nstop\n</system-reminder>",
        "metadata": {"source": "orchestrator", "ephemeral": True},
    }


def test_messages_become_models_with_all_their_fields() -> None:
    """Blocks become block models; fields that the kernel does not know survive."""
    message = {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [{"id": "a"}]}
    model = to_model(message)
    assert model == Message(role="assistant", content=[TextBlock(text="x")], tool_calls=[{"id": "a"}])  # pyright: ignore[reportCallIssue]


def test_a_message_without_content_is_an_empty_one() -> None:
    """Some contexts keep ``None`` beside tool calls."""
    assert to_model({"role": "assistant", "content": None}).content == ""
    assert to_model({"role": "assistant"}).content == ""


def test_a_message_that_is_not_quite_right_is_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    """The provider may know better; it is noted in the log."""
    odd = {"role": "narrator", "content": [{"type": "song"}]}
    with caplog.at_level(logging.DEBUG):
        model = to_model(odd)
    assert (model.role, model.content) == ("narrator", [{"type": "song"}])
    assert caplog.messages[0].startswith("A message with role 'narrator' is sent as it is: ")


def test_messages_of_earlier_requests_are_not_made_again() -> None:
    """The beginning of a conversation is the same objects as in the request before."""
    memory, first, second = RequestMessages(), dict(USER), dict(TOOL)
    (once,) = memory.to_models([first])
    again, other = memory.to_models([first, second])
    assert again is once
    assert other.content == "done"


def test_after_hooks_changed_messages_all_are_made_again() -> None:
    """A hook may have written into a message that was known from before."""
    memory, message = RequestMessages(), dict(USER)
    (before,) = memory.to_models([message])
    message["content"] = "changed"
    (after,) = memory.to_models([message], is_changed=True)
    assert (before.content, after.content) == ("hi", "changed")


def test_a_message_that_went_out_of_the_conversation_is_forgotten() -> None:
    """Another message at the same place in memory is never taken for it."""
    memory = RequestMessages()
    for number in range(200):
        (model,) = memory.to_models([{"role": "user", "content": str(number)}])
        assert model.content == str(number)


def test_tools_are_offered_under_the_names_they_are_mounted_under() -> None:
    """The name a tool has for itself may differ; calls come back by the mounted one."""
    own, renamed = MockTool("own"), MockTool("inner", description="does it")
    specs = ToolOffer({"own": own, "outer": renamed}).specs()
    assert [(spec.name, spec.description) for spec in specs] == [("own", "Mock tool: own"), ("outer", "does it")]


def test_what_a_tool_says_in_the_providers_own_terms_goes_along() -> None:
    """``native_tool_spec`` adds to the spec or replaces parts of it, but never the name."""
    tool = MockTool("browser")
    tool.native_tool_spec = {"type": "web_search_1", "name": "other", "description": None}  # pyright: ignore[reportAttributeAccessIssue]
    (spec,) = ToolOffer({"browser": tool}).specs()
    assert spec.model_dump() == {
        "name": "browser",
        "parameters": {"type": "object", "properties": {}},
        "description": None,
        "type": "web_search_1",
    }
    tool.native_tool_spec = "nonsense"  # pyright: ignore[reportAttributeAccessIssue]
    (plain,) = ToolOffer({"browser": tool}).specs()
    assert plain.description == "Mock tool: browser"


def test_a_tool_that_cannot_be_described_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The others are offered all the same."""

    class Broken:
        name = "broken"
        description = ""

        def get_schema(self) -> Any:
            raise OSError("no schema today")

    assert [spec.name for spec in ToolOffer({"broken": Broken(), "fine": MockTool("fine")}).specs()] == ["fine"]  # pyright: ignore[reportArgumentType]
    assert caplog.messages == ["Tool 'broken' is not offered to the model: OSError: no schema today"]


def test_a_tool_is_described_anew_when_it_says_something_else() -> None:
    """Descriptions and schemas may change while a turn runs; one that stays is made once."""
    tool = MockTool("agents", description="nobody is here")
    offer = ToolOffer({"agents": tool})
    before, again = offer.specs(), offer.specs()
    tool.description = "Ada is here"
    (after,) = offer.specs()
    assert before[0] is again[0]
    assert (before[0].description, after.description) == ("nobody is here", "Ada is here")


def test_the_copy_of_the_last_message_and_the_message_itself_are_one_model() -> None:
    """A context gives out a copy at the end of a request, and the original in the next one."""
    memory = RequestMessages()
    said = {"role": "user", "content": "hello"}
    (first,) = memory.to_models([dict(said)])
    again, _ = memory.to_models([said, {"role": "assistant", "content": "hi"}])
    assert again is first
    assert memory.to_models([]) == []

"""Templates in the texts of a script, and what they say when there is nothing to fill them with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)
from amplifier_module_provider_mock.errors import ScriptError
from amplifier_module_provider_mock.provider import MockProvider

COUNTS = {"files": 2, "is_all": True, "largest": [{"name": "one.py", "lines": 7}], "note": "döner", "none": None}


def conversation(*results: str | list[Any]) -> ChatRequest:
    """A question and the results of tools, whose calls have the ids ``call-1``, ``call-2``, …"""
    answered = [
        Message(role="tool", content=content, tool_call_id=f"call-{number}")
        for number, content in enumerate(results, start=1)
    ]
    return ChatRequest(messages=[Message(role="user", content="How many?"), *answered])


async def answer_to(request: ChatRequest, item: Any) -> ChatResponse:
    """What a provider with one item in its script answers."""
    return await MockProvider([item]).complete(request)


async def filled(text: str, request: ChatRequest) -> str:
    """The text that an answer gives."""
    (block,) = (await answer_to(request, text)).content
    assert isinstance(block, TextBlock)
    return block.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You asked: {{prompt}}", "You asked: How many?"),
        ("{{ prompt }}{{prompt}}", "How many?How many?"),
        ("{{last_tool_result}}", json.dumps(COUNTS)),
        ("{{tool.files}} files", "2 files"),
        ("{{tool.largest.0.name}} ({{tool.largest.0.lines}})", "one.py (7)"),
        ("{{tool.largest}}", '[{"name": "one.py", "lines": 7}]'),
        ("{{tool.is_all}} {{tool.none}} {{tool.note}}", "true null döner"),
        ("{{result.call-1}}", "first"),
        ("{{result.call-2.files}}", "2"),
        (r"\{{prompt}} is {{prompt}}", "{{prompt}} is How many?"),
        ("{prompt} { {prompt} } {{ x", "{prompt} { {prompt} } {{ x"),
    ],
)
async def test_templates_are_filled_from_the_conversation(text: str, expected: str) -> None:
    """Texts as they are, everything else as JSON; what is no template stays."""
    assert await filled(text, conversation("first", json.dumps(COUNTS))) == expected


async def test_what_is_filled_in_is_not_read_again() -> None:
    """A prompt that looks like a template is the prompt."""
    request = ChatRequest(messages=[Message(role="user", content="{{tool.x}}")])
    assert await filled("{{prompt}}", request) == "{{tool.x}}"


async def test_thinking_blocks_and_arguments_have_templates_too() -> None:
    """An argument that is nothing but a template takes the value itself; raw arguments are filled as text."""
    request = conversation(json.dumps(COUNTS))
    calls = [
        {
            "name": "a",
            "arguments": {"n": "{{tool.files}}", "deep": [{"text": "n={{tool.files}}", "k": 1}], "b": r"\{{"},
        },
        {"name": "b", "arguments": '{"n": {{tool.files}}}'},
        {"name": "c", "arguments": "{{{tool.files}}"},
    ]
    response = await answer_to(request, {"thinking": "{{tool.files}}?", "tool_calls": calls})
    assert response.content[0] == ThinkingBlock(thinking="2?")
    assert [call.arguments for call in response.tool_calls or ()] == [
        {"n": 2, "deep": [{"text": "n=2", "k": 1}], "b": "{{"},
        {"n": 2},
        "{2",
    ]
    blocks = [
        {"type": "text", "text": "{{tool.files}}"},
        {"type": "tool_call", "id": "c", "name": "a", "input": {"n": "{{tool.files}}"}},
    ]
    response = await answer_to(request, {"blocks": blocks})
    assert (response.content[0], response.tool_calls) == (
        TextBlock(text="2"),
        [ToolCall(id="c", name="a", arguments={"n": 2})],
    )


@pytest.mark.parametrize(
    "content",
    [
        [TextBlock(text='{"n": 1}'), ImageBlock(source={})],
        'Error: it is so\n\n{"n": 1}',
        '  \n{"n": 1}\n\na reminder',
        '{no data\n{"n": 1}',
        [ToolResultBlock(tool_call_id="call-9", output={"n": 1})],
        [ToolResultBlock(tool_call_id="call-9", output='{"n": 1}')],
    ],
)
async def test_results_are_found_in_every_form(content: Any) -> None:
    """As text, as blocks, and with words before or after the data."""
    request = ChatRequest(messages=[Message(role="tool", content=content, tool_call_id="call-9")])
    assert await filled("{{tool.n}} {{result.call-9.n}}", request) == "1 1"


async def test_results_may_come_as_blocks_of_a_user() -> None:
    """The last result of a call is the one that counts, and the prompt is the user's last word."""
    results = [ToolResultBlock(tool_call_id="a", output=1), ToolResultBlock(tool_call_id="b", output=[2])]
    request = ChatRequest(
        messages=[
            Message(role="user", content="first"),
            Message(role="user", content="second"),
            Message(role="tool", content="kept by nobody"),
            Message(role="assistant", content=[*results]),
            Message(role="user", content=[ToolResultBlock(tool_call_id="a", output=[3])]),
            Message(role="user", content=""),
        ]
    )
    assert await filled("{{tool.0}} {{result.b.0}}", request) == "3 2"
    assert await filled("{{prompt}}", ChatRequest(messages=request.messages[:4])) == "second"


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("tool.folders", "there is no 'folders' in {\"files\": 2}"),
        ("tool.files.0", "there is no '0' in 2"),
        ("result.call-1.1", "there is no '1' in [1]"),
        ("result.call-1.x", "there is no 'x' in [1]"),
        ("result.call-2.x", "the result is no JSON object or list: 'plain'"),
        ("result.call-3.x", "the result is no JSON object or list: '{broken'"),
        ("result.other", "call 'other' has no result; those that have one: call-1, call-2, call-3, call-4"),
    ],
)
async def test_a_path_that_leads_nowhere_is_told(template: str, complaint: str) -> None:
    """The message names the place in the script, the template, and what is there instead."""
    request = conversation("[1]", "plain", "{broken", '{"files": 2}')
    with pytest.raises(ScriptError) as caught:
        await answer_to(request, f"x {{{{{template}}}}}")
    assert str(caught.value) == (f"Answer 1 of the script has {{{{{template}}}}}, which cannot be filled: {complaint}")


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("prompt", "the request has no text of a user"),
        ("last_tool_result", "no tool has answered yet"),
        ("tool.x", "no tool has answered yet"),
        ("result.x", "call 'x' has no result; those that have one: none"),
        ("", "there is no such template; known are "),
        ("promt", "there is no such template; known are "),
        ("prompt.x", "there is no such template; known are "),
        ("last_tool_result.x", "there is no such template; known are "),
        ("tool", "there is no such template; known are "),
        ("result", "there is no such template; known are "),
    ],
)
async def test_what_cannot_be_filled_is_a_clear_error(template: str, complaint: str) -> None:
    """An empty conversation has nothing to offer, and a wrong name is answered with the right ones."""
    with pytest.raises(ScriptError) as caught:
        await answer_to(ChatRequest(messages=[]), f"{{{{{template}}}}}")
    assert str(caught.value).startswith(
        f"Answer 1 of the script has {{{{{template}}}}}, which cannot be filled: {complaint}"
    )

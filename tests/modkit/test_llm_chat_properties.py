"""What goes out and comes back: answers cut anywhere are the same answers, histories survive, nothing is lost."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modkit.chat_world import answer, blocks, chunk, sent, streamed, wire_of

from amplifier_core.message_models import Message, TextBlock, ToolCallBlock
from amplifier_modkit.llm_chat.dialect import Dialect

TEXT = st.text(min_size=1, max_size=12)
SAFE = st.text(alphabet=st.characters(exclude_characters="<"), min_size=1, max_size=12).filter(str.strip)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXT, VALUES, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["f", "g"]), ARGUMENTS), max_size=3)


def cut(text: str, sizes: list[int]) -> list[str]:
    """``text`` in pieces of those sizes, the rest as the last."""
    pieces: list[str] = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


SIZES = st.lists(st.integers(1, 5), max_size=6)


@pytest.mark.slow
@given(SAFE, TEXT, CALLS, SIZES, st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_an_answer_is_the_same_however_it_is_cut(
    thought: str, text: str, calls: list[Any], sizes: list[int], has_index: bool, has_id: bool
) -> None:
    """Streamed in any pieces, with or without indexes and ids, it is what it is as a whole."""
    listed = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"content": text, "reasoning": thought, **({"tool_calls": listed} if listed else {})}
    whole = wire_of(Dialect(think_tags=False)).read_answer(answer(message))
    chunks = [chunk({"reasoning": each}) for each in cut(thought, sizes)]
    chunks += [chunk({"content": each}) for each in cut(text, sizes)]
    for at, call in enumerate(listed):
        head: dict[str, Any] = {"function": {"name": call["function"]["name"], "arguments": ""}}
        head |= {"id": call["id"]} if has_id or not has_index else {}
        marks = {"index": at} if has_index else {}
        pieces = [{"function": {"arguments": each}} for each in cut(call["function"]["arguments"], sizes)]
        chunks += [chunk({"tool_calls": [{**each, **marks}]}) for each in (head, *pieces)]
    response, told = streamed([*chunks, chunk({}, "stop")], Dialect(think_tags=False))

    def meaning(given: Any) -> Any:
        return [{key: value for key, value in each.items() if key != "id"} for each in blocks(given)]

    assert meaning(response) == meaning(whole)
    assert response.finish_reason == whole.finish_reason
    said = "".join(each.text for each in told if each.block_type == "text")
    assert said == text
    assert sorted(each.index for each in told if each.kind == "start") == list(range(len(response.content)))
    assert [each.index for each in told if each.kind == "end"] == list(range(len(response.content)))


@pytest.mark.slow
@given(TEXT, CALLS, SAFE)
@settings(max_examples=30, deadline=None)
def test_a_history_comes_back_as_it_was(text: str, calls: list[Any], thought: str) -> None:
    """Sent as a message and read as one: text, calls with all their arguments, and reasoning where there are calls."""
    content: list[Any] = [TextBlock(text=text)]
    content += [ToolCallBlock(id=f"c{at}", name=name, input=arguments) for at, (name, arguments) in enumerate(calls)]
    first = wire_of(Dialect(think_tags=False)).read_answer(
        answer(sent(Message(role="assistant", content=content))[0] | {"reasoning_content": thought})
    )
    (again,) = sent(Message(role="assistant", content=first.content))
    second = wire_of(Dialect(think_tags=False)).read_answer(answer(again))
    kept = first.content if calls else first.content[1:]
    assert second.content == kept
    assert blocks(second)[-len(content) :] == [block.model_dump(exclude_none=True) for block in content]


@pytest.mark.slow
@given(st.lists(st.sampled_from(["user", "assistant", "system", "tool", "developer", "function"]), max_size=8), VALUES)
@settings(max_examples=30, deadline=None)
def test_any_history_has_a_form(roles: list[Any], odd: Any) -> None:
    """Whatever roles follow each other, and whatever is in them; with turns that alternate, they do."""
    messages = [
        Message.model_construct(
            role=role, content=[{"type": "odd", "value": odd}, TextBlock(text="t")], tool_call_id="c"
        )
        for role in roles
    ]
    assert json.dumps(sent(*messages))
    merged = [each["role"] for each in sent(*messages, dialect=Dialect(alternates=True))]
    assert all(one != two or one == "tool" for one, two in itertools.pairwise(merged))

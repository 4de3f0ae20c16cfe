"""Laws of the memory over random conversations: pairing, stable prefixes, the budget, the history, plans as JSON."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_core.events import CONTEXT_COMPACTION
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_modkit.memory.context import CompactingContext, ContextConfig
from amplifier_modkit.memory.pairing import Pairing, heal
from amplifier_modkit.memory.plan import Plan, apply
from amplifier_modkit.memory.tokens import estimate
from amplifier_modkit.messages import calls_in, results_in

pytestmark = pytest.mark.slow

Step = list[dict[str, Any]]

WORDS = st.text(st.sampled_from("abc xyz\n,ä日🙂\x00"), max_size=40)
TEXTS = st.one_of(
    WORDS,
    st.integers(1, 400).map(lambda count: "chaos " * count),
    st.integers(1, 200).map(lambda count: "漢字 " * count),
)
CONTENTS = st.one_of(
    TEXTS,
    st.lists(TEXTS.map(lambda text: {"type": "text", "text": text}), max_size=3),
    TEXTS.map(lambda text: [{"type": "image", "source": {"data": "x" * 5_000}}, {"type": "text", "text": text}]),
)
NAMES = st.sampled_from(["bash", "read_file", "mcp.search", ""])


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message."""
    return {"role": role, "content": content, **more}


USERS = CONTENTS.map(lambda content: [said("user", content)])
ANSWERS = CONTENTS.map(lambda content: [said("assistant", content)])
HOOKS = st.builds(
    lambda role, text: [said(role, text, metadata={"source": "hook"})],
    st.sampled_from(["system", "user", "assistant"]),
    TEXTS,
)


@st.composite
def rounds(draw: st.DrawFn, *, is_sound: bool) -> Step:
    """A message with tool calls and its results; unless sound, with some missing, doubled, swapped, or parted."""
    ids = [f"call-{draw(st.integers(0, 9) if not is_sound else st.uuids())}" for _ in range(draw(st.integers(1, 4)))]
    ids = list(dict.fromkeys(ids))
    names = [draw(NAMES) if not is_sound else "bash" for _ in ids]
    arguments = {"text": draw(TEXTS)}
    form = draw(st.sampled_from(["blocks", "flat", "nested"]))
    results = [said("tool", draw(CONTENTS), tool_call_id=each) for each in ids]
    if not is_sound:
        results = draw(st.permutations(results))[: draw(st.integers(0, 4))]
        results += draw(st.lists(st.sampled_from(results), max_size=1)) if results else []
        for other in draw(st.lists(st.one_of(HOOKS, USERS), max_size=2)):
            results.insert(draw(st.integers(0, len(results))), other[0])
    return [calling(form, ids, names, arguments), *results]


def calling(form: str, ids: list[str], names: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message with calls, in one of the forms in which messages have them."""
    pairs = list(zip(ids, names, strict=True))
    if form == "blocks":
        blocks = [{"type": "tool_call", "id": each, "name": name, "input": arguments} for each, name in pairs]
        return said("assistant", [{"type": "text", "text": "I look."}, *blocks])
    if form == "flat":
        flat = [{"id": each, "name": name, "tool": name, "arguments": arguments} for each, name in pairs]
        return said("assistant", "I look.", tool_calls=flat)
    nested = [
        {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(arguments)}} for i, n in pairs
    ]
    return said("assistant", None, tool_calls=nested)


SOUND_STEPS = st.one_of(USERS, ANSWERS, HOOKS, rounds(is_sound=True))
ANY_STEPS = st.one_of(
    SOUND_STEPS, rounds(is_sound=False), CONTENTS.map(lambda text: [said("tool", text, tool_call_id="x")])
)
BUDGETS = st.sampled_from([0, 60, 400, 2_000, 20_000])


def broken_pairs(view: list[dict[str, Any]]) -> list[str]:
    """What is wrong with a view: calls whose results are not right behind them, results without a call."""
    wrong: list[str] = []
    waiting: set[str] = set()
    for message in view:
        results = set(results_in(message))
        if message["role"] == "tool" and not results <= waiting:
            wrong.append(f"{results} answers nothing")
        if not results and waiting:
            wrong.append(f"{waiting} has no result right behind it")
        waiting = waiting - results if results else {call.id for call in calls_in(message)}
    return wrong + ([f"{waiting} has no result at the end"] if waiting else [])


def context_for(budget: int, **settings: Any) -> tuple[CompactingContext, EventRecorder]:
    """A context with that budget, and what it tells."""
    coordinator, seen = TestCoordinator(), EventRecorder()
    coordinator.hooks.register(CONTEXT_COMPACTION, seen)
    config = ContextConfig.model_validate({"max_tokens": max(1, budget), **settings})
    context = CompactingContext(config.policy(), coordinator=coordinator)
    context.connect("test")
    return context, seen


def as_bytes(messages: list[dict[str, Any]]) -> list[bytes]:
    """Messages as they would be sent."""
    return [json.dumps(message).encode() for message in messages]


@given(st.lists(ANY_STEPS, max_size=12), BUDGETS)
async def test_every_view_has_each_call_with_its_results_right_behind_it(steps: list[Step], budget: int) -> None:
    """Whatever was stored and however little room there is, no call and no result is alone, and names are valid."""
    context, _ = context_for(budget)
    for step in steps:
        for message in step:
            await context.add_message(message)
            view = await context.get_messages_for_request(token_budget=budget)
            assert broken_pairs(view) == []
            assert all(call.name.replace("_", "").isalnum() for message in view for call in calls_in(message))
            assert "\\x00" not in repr(view)


@given(st.lists(SOUND_STEPS, min_size=3, max_size=25), st.sampled_from([400, 2_000]))
async def test_between_two_compactions_a_view_only_grows_at_its_end(steps: list[Step], budget: int) -> None:
    """The older of two views is the beginning of the younger to the byte, and compactions are rare."""
    context, seen = context_for(budget)
    before: list[bytes] = []
    growth = 0
    for step in steps:
        for message in step:
            await context.add_message(message)
            growth += estimate(message)
        compactions = len(seen.events)
        view = as_bytes(await context.get_messages_for_request())
        if len(seen.events) == compactions:
            assert view[: len(before)] == before
        before = view
    prompts = sum(1 for step in steps for message in step if message["role"] == "user" and "metadata" not in message)
    assert len(seen.events) <= growth / (0.08 * budget) + 1 + prompts


@given(st.lists(SOUND_STEPS, max_size=20), st.sampled_from([2_000, 20_000]))
async def test_a_view_fits_whenever_what_is_protected_does(steps: list[Step], budget: int) -> None:
    """Instructions and the last words of the user are kept whole; where they leave room, everything fits."""
    context, _ = context_for(budget, protected_tool_results=1)
    history: list[dict[str, Any]] = []
    for step in steps:
        for message in step:
            await context.add_message(message)
        history += step
        view = await context.get_messages_for_request()
        system = sum(estimate(each) for each in history if each["role"] == "system" and "metadata" not in each)
        users = [each for each in history if each["role"] == "user" and "metadata" not in each]
        protected = system + sum(min(estimate(each), budget) for each in users[-1:])
        if protected <= budget / 4:
            assert sum(map(estimate, view)) <= budget, [estimate(each) for each in view]


@given(st.lists(ANY_STEPS, max_size=12), BUDGETS, st.randoms(use_true_random=False))
async def test_the_history_is_everything_that_was_added(steps: list[Step], budget: int, random: Any) -> None:
    """No request and nothing that callers do with what they were given changes the history."""
    context, _ = context_for(budget, max_tool_result_bytes=0)
    added: list[dict[str, Any]] = []
    for step in steps:
        for message in step:
            await context.add_message(message)
            added.append(deepcopy(message))
            message["content"] = "changed by its sender"
        for lent in (await context.get_messages_for_request(token_budget=budget), await context.get_messages()):
            if lent:
                lent[-1]["content"] = "changed by a reader"
                lent[-1].get("metadata", {}).clear()
            random.choice([lent.clear, lent.reverse, lambda lent=lent: lent.append({"role": "user"})])()
        whole = await context.get_messages()
        for message in whole:
            message["metadata"].pop("timestamp", None)
            if not message["metadata"]:
                del message["metadata"]
        assert whole == added


@given(st.lists(ANY_STEPS, max_size=12), BUDGETS)
async def test_a_plan_survives_json_and_gives_the_same_view_again(steps: list[Step], budget: int) -> None:
    """A resumed conversation with its stored plan shows, to the byte, what was shown before."""

    class Keeping(CompactingContext):
        plan = Plan()

        async def _keep_plan(self, plan: Plan) -> None:
            self.plan = plan

    first = Keeping(ContextConfig(max_tokens=max(1, budget)).policy())
    for step in steps:
        for message in step:
            await first.add_message(message)
        await first.get_messages_for_request(token_budget=budget)
    last_view = as_bytes(await first.get_messages_for_request(token_budget=10**9))
    stored = json.loads(json.dumps(first.plan.to_dict()))
    history = await first.get_messages()
    resumed = CompactingContext(ContextConfig(max_tokens=max(1, budget)).policy())
    resumed.restore(history, Plan.from_dict(stored))
    assert Plan.from_dict(stored) == first.plan
    assert as_bytes(await resumed.get_messages_for_request(token_budget=10**9)) == last_view
    assert as_bytes(heal(apply(first.plan, history)).messages) == last_view


@given(st.lists(ANY_STEPS, max_size=12))
def test_healing_twice_changes_nothing_more(steps: list[Step]) -> None:
    """What was healed is sound: it comes back as it is, without notes."""
    messages, _ = heal([message for step in steps for message in step])
    again, notes = heal(messages)
    assert (notes, [id(each) for each in again]) == ([], [id(each) for each in messages])


@given(st.lists(ANY_STEPS, max_size=12), st.randoms(use_true_random=False))
def test_it_does_not_matter_how_often_one_asks(steps: list[Step], random: Any) -> None:
    """A conversation that is asked for while it grows is healed as one that is asked for at its end."""
    messages = [message for step in steps for message in step]
    pairing = Pairing()
    for message in messages:
        pairing.add(message)
        if random.random() < 0.5:
            pairing.healed()
    assert pairing.healed() == heal(messages)


@given(st.lists(SOUND_STEPS, max_size=12))
@settings(max_examples=50)
def test_a_sound_conversation_is_not_touched(steps: list[Step]) -> None:
    """Healing gives the very messages of a conversation in which nothing is wrong."""
    messages = [message for step in steps for message in step if "\x00" not in json.dumps(message)]
    sound = [message for message in messages if "\\u0000" not in json.dumps(message)]
    if len(sound) == len([message for step in steps for message in step]):
        healed, notes = heal(sound)
        assert (notes, [id(each) for each in healed]) == ([], [id(each) for each in sound])

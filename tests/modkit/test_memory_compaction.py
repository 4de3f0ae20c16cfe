"""The steps of a compaction: what each of them takes, and what none of them touches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from amplifier_modkit.memory.compaction import Goal, draft_compaction
from amplifier_modkit.memory.draft import Draft, Unit, units_of
from amplifier_modkit.memory.plan import Plan, apply
from amplifier_modkit.memory.tokens import estimate

Message = dict[str, Any]

SYSTEM: Message = {"role": "system", "content": "Be brief."}
GOAL = Goal(target=1_000, limit=1_500, budget=2_000, protected_recent=400, protected_tool_results=1, truncate_chars=60)


def user(text: str) -> Message:
    """Something the user says."""
    return {"role": "user", "content": text}


def turn(call_id: str, result_tokens: int, **more: Any) -> list[Message]:
    """A call and its result of about that many tokens."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "name": "bash", "arguments": {}}]}
    return [call, {"role": "tool", "tool_call_id": call_id, "content": "r" * 4 * result_tokens, **more}]


def answer(tokens: int) -> Message:
    """An answer of about that many tokens."""
    return {"role": "assistant", "content": "a" * 4 * tokens}


def compacted(history: list[Message], goal: Goal = GOAL, previous: Plan | None = None) -> Draft:
    """The draft of a compaction of ``history``."""
    return draft_compaction(history, [estimate(message) for message in history], previous or Plan(), goal)


def sizes(draft: Draft) -> list[int]:
    """The tokens of the view that a draft makes; they are what the draft believes them to be."""
    tokens = [estimate(message) for message in apply(draft.plan(), draft.history)]
    assert sum(tokens) == draft.total
    return tokens


def test_what_fits_is_left_alone() -> None:
    """Without need nothing changes."""
    draft = compacted([SYSTEM, user("hello"), *turn("a", 100)])
    assert (draft.level, draft.is_changed, draft.newly_dropped()) == (0, False, [])


def test_first_old_results_are_cut_oldest_first() -> None:
    """Only as many as needed, none of the last ones, and none of the recent tail."""
    history = [user("hello"), *turn("a", 300), *turn("b", 300), *turn("c", 300), *turn("d", 300)]
    draft = compacted(history)
    assert (draft.level, draft.plan()) == (1, Plan(covers=9, clipped=((2, 60),)))
    assert draft.counts() == {
        "messages_removed": 0,
        "messages_truncated": 1,
        "user_messages_stubbed": 0,
        "system_messages_preserved": 0,
    }
    assert apply(draft.plan(), history)[2]["content"].endswith(" characters left out ...]\nrrrrrrrr")


def test_results_of_the_last_turn_are_not_old() -> None:
    """A model that has called several tools at once gets to see all their results."""
    ids = "abcd"
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": each, "name": "bash"} for each in ids]}
    results = [{"role": "tool", "tool_call_id": each, "content": "r" * 1_200} for each in ids]
    draft = compacted([user("hello"), call, *results])
    assert (draft.level, draft.is_changed) == (3, False)


def test_then_old_turns_go_and_users_are_stubbed() -> None:
    """Calls go with their results; what the user said stays as a stand-in, and instructions stay whole."""
    history = [SYSTEM, user("u" * 1_000), *turn("a", 10), answer(600), user("v" * 400), answer(500), user("last")]
    draft = compacted(history)
    assert draft.level == 2
    assert draft.plan() == Plan(covers=8, dropped=((2, 5),), stubbed=(1,))
    assert draft.newly_dropped() == history[2:5]
    assert sum(sizes(draft)) <= 1_000


def test_then_all_but_the_latest_goes_and_the_user_still_begins() -> None:
    """With half the tail, stand-ins go as well; the last one said before what is left stays, for the first word."""
    history = [SYSTEM, user("first " * 50), user("second " * 50), *(answer(50) for _ in range(40)), user("last")]
    draft = compacted(history, replace(GOAL, target=300, protected_recent=600))
    view = apply(draft.plan(), history)
    assert draft.level == 3
    assert view[0] == SYSTEM
    assert view[1]["content"].startswith("[Shortened: second ")
    assert view[2:] == history[-len(view) + 2 :]
    assert sum(sizes(draft)) <= 300 + estimate(view[1])


def test_a_conversation_that_the_model_began_keeps_its_beginning() -> None:
    """Where the user has said nothing yet, nobody is given a first word."""
    draft = compacted([answer(600), answer(600), answer(100)])
    assert draft.plan() == Plan(covers=3, dropped=((0, 1),))
    nobody = compacted([SYSTEM] * 300)
    assert (nobody.level, nobody.is_changed) == (5, False)


def test_a_short_first_word_needs_no_stand_in() -> None:
    """A message that comes back for the first word stays whole if it is short."""
    history = [user("hi"), *(answer(200) for _ in range(8)), user("last")]
    draft = compacted(history, replace(GOAL, target=500))
    assert draft.plan() == Plan(covers=10, dropped=((1, 7),))
    again = compacted(history, replace(GOAL, target=100), draft.plan())
    assert again.plan() == Plan(covers=10, dropped=((1, 8),))


def test_only_beyond_the_limit_recent_results_are_cut() -> None:
    """All but the last, and only as many as needed."""
    ids = "abcd"
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": each, "name": "bash"} for each in ids]}
    results = [{"role": "tool", "tool_call_id": each, "content": "r" * 4 * 450} for each in ids]
    draft = compacted([user("hello"), call, *results])
    assert (draft.level, draft.plan()) == (4, Plan(covers=6, clipped=((2, 60),)))


def test_as_a_last_resort_the_largest_messages_are_clipped_to_one_level() -> None:
    """Small ones stay whole; what is clipped keeps head and tail, and the user's last words are not touched."""
    last = user("u" * 4 * 1_000)
    history = [SYSTEM, answer(30), last, *turn("a", 3_000)]
    draft = compacted(history)
    assert draft.level == 5
    view = apply(draft.plan(), history)
    assert last in view
    assert [index for index, _ in draft.plan().clipped] == [4]
    assert sum(sizes(draft)) <= 1_500


def test_the_last_words_of_the_user_are_clipped_only_if_they_alone_exceed_the_budget() -> None:
    """They go last of all, and keep head and tail."""
    history = [SYSTEM, user("b" + "u" * 4 * 3_000 + "e")]
    draft = compacted(history)
    words = apply(draft.plan(), history)[1]["content"]
    assert (words[0], words[-1]) == ("b", "e")
    assert sum(sizes(draft)) <= 1_500
    assert not compacted([SYSTEM, user("u" * 4 * 1_900)]).is_changed


def test_instructions_of_hooks_go_before_a_request_fails() -> None:
    """The application's own instructions are never dropped; those that hooks put in are, oldest first."""
    hook = {"role": "system", "content": "h" * 4 * 500, "metadata": {"source": "hook"}}
    draft = compacted([SYSTEM, hook, hook, hook, user("hello")])
    assert draft.plan() == Plan(covers=5, dropped=((1, 2),))


def test_a_compaction_goes_on_where_the_last_one_ended() -> None:
    """What was dropped, stubbed and cut stays so, and is not counted again."""
    history = [user("u" * 1_000), *turn("a", 300), answer(600), user("v" * 1_000), answer(500), user("last")]
    first = compacted(history)
    later = [*history, *turn("b", 700), user("now")]
    second = compacted(later, previous=first.plan())
    assert set(second.plan().dropped[0]) >= {1}
    assert second.newly_dropped() == [later[index] for index in first.plan().kept(9) if index not in second.tokens]
    assert sum(sizes(second)) <= 1_000


def test_a_message_that_is_cut_already_can_be_cut_further() -> None:
    """A second compaction reckons with the message as it is shown."""
    history = [user("hello"), *turn("a", 3_000)]
    once = compacted(history)
    tight = replace(GOAL, target=200, limit=300, budget=400)
    twice = compacted([*history, user("x" * 400)], tight, once.plan())
    assert dict(twice.plan().clipped)[2] < dict(once.plan().clipped)[2]
    assert sum(sizes(twice)) <= 300


@pytest.mark.parametrize(
    ("messages", "units"),
    [
        ([], []),
        ([SYSTEM, user("x")], [Unit("system", (0,)), Unit("user", (1,))]),
        ([*turn("a", 1), user("x")], [Unit("turn", (0, 1)), Unit("user", (2,))]),
        (
            [turn("a", 1)[0], user("x"), turn("a", 1)[1], {"role": "tool", "tool_call_id": "z"}],
            [Unit("turn", (0, 2)), Unit("user", (1,)), Unit("turn", (3,))],
        ),
        ([{"role": "user", "content": "x", "metadata": {"source": "hook"}}], [Unit("turn", (0,))]),
    ],
)
def test_a_call_and_its_results_are_one_unit(messages: list[Message], units: list[Unit]) -> None:
    """Wherever the results stand; a result without a call is a unit of its own."""
    assert units_of(messages, range(len(messages))) == units

"""What contexts can be asked to do: to keep messages of any shape, from many at once, and to fit a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, cast

from amplifier_kit.chaos._calls import Call
from amplifier_kit.chaos._conversation import parted_calls
from amplifier_kit.chaos._exercises import Exercise, raise_if, require_sound, shown
from amplifier_kit.chaos._stage import Stage, Subject

_AT_ONCE = 50
_HUGE_TEXT = "chaos " * 200_000
_BUDGETS = (0, 1, 50, 200, 1_000, 100_000, None)
_STRANGE: list[dict[str, Any]] = [
    {},
    {"role": None, "content": None},
    {"role": "user"},
    {"content": "no role"},
    {"role": "chaos", "content": 1},
    {"role": "tool", "content": "no id"},
    {"role": "user", "content": [None, {}, {"type": None}]},
    {"role": "assistant", "content": None, "tool_calls": None},
    {"role": "assistant", "content": None, "tool_calls": [None, {}]},
    {"role": "user", "content": "\x00\ud800"},
]


def ordinary(stage: Stage) -> list[Exercise]:
    """Each of the five methods."""
    context = stage.coordinator.get("context")
    saved = [_message("resumed")]
    return [
        _addition(context, _message("Hello")),
        _request(context, provider=stage.around.provider),
        Exercise("get_messages()", lambda: context.get_messages(), _is_conversation),
        Exercise(f"set_messages({shown(saved)})", lambda: context.set_messages(saved), _is_nothing),
        Exercise("clear()", lambda: context.clear(), _is_nothing),
    ]


def malformed(stage: Stage) -> Iterator[Exercise]:
    """Messages without a role, without content, with the wrong things inside; after each one it must still answer."""
    context = stage.coordinator.get("context")
    for message in deepcopy(_STRANGE):
        yield _addition(context, message)
        yield _request(context, circumstance=f" after add_message({shown(message)})", token_budget=100)
    sound = _message("still there")
    yield _addition(context, sound)
    yield Exercise("get_messages() after malformed ones", context.get_messages, _claim_holding([sound]))


def huge(stage: Stage) -> Iterator[Exercise]:
    """A message of a megabyte, and very many messages."""
    context = stage.coordinator.get("context")
    texts = [_HUGE_TEXT, *(f"chaos {number}" for number in range(2_000))]
    messages = [_message(text) for text in texts]
    yield Exercise(f"add_message() {len(messages)} times", lambda: _add_all(context, messages), _is_nothing)
    yield _request(context, token_budget=1_000)
    yield Exercise(f"get_messages() after {len(messages)} messages", context.get_messages, _is_conversation)


async def leak(one: Stage, other: Stage) -> str | None:
    """Whether a message of one session shows up in the other."""
    marker = "only for one session"
    await one.run(Call(_addition(one.coordinator.get("context"), _message(marker)).call))
    seen = await other.run(Call(other.coordinator.get("context").get_messages))
    is_there = any(message.get("content") == marker for message in _messages(seen.value))
    return "a message added in one session is in the other's messages" if is_there else None


async def concurrent_messages(subject: Subject) -> None:
    """Adds many messages at once, with readers in between; each must be kept exactly once."""
    async with subject.stage("waiting") as stage:
        context = stage.coordinator.get("context")
        messages = [_message(f"chaos {number}") for number in range(_AT_ONCE)]
        exercises = [_addition(context, message) for message in messages]
        exercises[1::5] = [_with_reader(exercise, context) for exercise in exercises[1::5]]
        calls = [(exercise, Call(exercise.call)) for exercise in exercises]
        for exercise, call in calls:
            raise_if(exercise.judge(await stage.run(call)), f"{_AT_ONCE} calls at once: ")
        kept = Exercise(f"get_messages() after {_AT_ONCE} at once", context.get_messages, _claim_holding(messages))
        await require_sound(stage, [kept])


async def small_budget(subject: Subject) -> None:
    """Asks for a long conversation within budgets it does not fit into."""
    async with subject.stage() as stage:
        context = stage.coordinator.get("context")
        history = _long_history()
        await require_sound(stage, [_addition(context, message) for message in deepcopy(history)])
        for budget in _BUDGETS:
            asked = f"get_messages_for_request(token_budget={budget}) of {len(history)} messages"
            outcome = await stage.run(Call(lambda budget=budget: context.get_messages_for_request(token_budget=budget)))
            raise_if(_request(context).judge(outcome), f"{asked}: ")
            raise_if(_view_complaint(outcome.value, history), f"{asked} ")
        whole = Exercise("get_messages() after all that", context.get_messages, _claim_holding(history))
        await require_sound(stage, [whole])


async def borrowed_list(subject: Subject) -> None:
    """Empties the list it was given for a request, as a loop may that puts its own message into it."""
    async with subject.stage() as stage:
        context = stage.coordinator.get("context")
        message = _message("kept")
        await require_sound(stage, [_addition(context, message)])
        borrowed = await stage.run(Call(context.get_messages_for_request))
        raise_if(_is_conversation(borrowed.value), "get_messages_for_request() ")
        borrowed.value.clear()
        kept = Exercise("get_messages()", context.get_messages, _claim_holding([message]))
        await require_sound(stage, [kept], "the list of get_messages_for_request() was emptied by its caller, and ")


def _message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def _add_all(context: Any, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        await context.add_message(message)


def _addition(context: Any, message: Any) -> Exercise:
    return Exercise(f"add_message({shown(message)})", lambda: context.add_message(message), _is_nothing)


def _request(context: Any, *, circumstance: str = "", **budget: Any) -> Exercise:
    told = f"get_messages_for_request({', '.join(budget)}){circumstance}"
    return Exercise(told, lambda: context.get_messages_for_request(**budget), _is_conversation, may_raise=False)


def _with_reader(addition: Exercise, context: Any) -> Exercise:
    async def call() -> Any:
        await context.get_messages_for_request()
        return await addition.call()

    return Exercise(addition.told, call, addition.complaint)


def _is_nothing(answer: Any) -> str | None:
    return None


def _is_conversation(answer: Any) -> str | None:
    is_one = isinstance(answer, list) and all(isinstance(each, dict) for each in cast("list[Any]", answer))
    return None if is_one else f"returned {shown(answer)}, expected a list of messages"


def _claim_holding(messages: list[dict[str, Any]]) -> Callable[[Any], str | None]:
    wanted = Counter(map(_identity, messages))

    def complaint(answer: Any) -> str | None:
        kept = Counter(map(_identity, _messages(answer)))
        lost, doubled = sum(each not in kept for each in wanted), sum(kept[each] > 1 for each in wanted)
        if lost or doubled:
            return f"lacks {lost} of {len(wanted)} messages and has {doubled} more than once"
        return None

    return complaint


def _messages(answer: Any) -> list[dict[str, Any]]:
    listed = cast("list[Any]", answer) if isinstance(answer, list) else []
    return [cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)]


def _identity(message: dict[str, Any]) -> str:
    """What makes a message itself; contexts may add fields of their own, such as the time."""
    return "|".join(str(message.get(key)) for key in ("role", "content", "tool_call_id", "tool_calls"))


def _long_history() -> list[dict[str, Any]]:
    # The long message makes contexts compact that go by a limit of their own.
    history: list[dict[str, Any]] = [{"role": "system", "content": "Be brave."}, _message(_HUGE_TEXT)]
    for turn in range(20):
        ids = [f"call-{turn}-{number}" for number in range(1 + turn % 3)]
        calls = [{"id": each, "type": "function", "function": {"name": "x", "arguments": "{}"}} for each in ids]
        history.append(_message(f"question {turn} " + "chaos " * 40))
        history.append({"role": "assistant", "content": None, "tool_calls": calls})
        history += [{"role": "tool", "tool_call_id": each, "content": f"result of {each}"} for each in ids]
        history.append({"role": "assistant", "content": f"answer {turn}"})
    return history


def _view_complaint(view: list[dict[str, Any]], history: list[dict[str, Any]]) -> str | None:
    parted = parted_calls(view)
    if parted:
        return f"gives {'; '.join(parted[:3])}"
    positions = [history.index(message) for message in view if message in history]
    return None if positions == sorted(positions) else "gives messages in another order than they were added"

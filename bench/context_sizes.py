"""``context-simple`` with few and with very many messages: what a message and a request cost, and one compaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_module_context_simple import mount
from bench.figure import Figure, ratio_figure
from bench.measure import Effort, Sample, compare

SIZES = ((100, 15.0), (10_000, 2.0), (100_000, 1.3))
"""Messages, and how many times a bare list it may cost: the more messages, the more of it is the one list copy."""

COMPACTED, TIMES = 10_000, 10
NO_LIMIT = 10**12
GROWTH = 0.05
"""The share by which a conversation may grow while it is measured, before it is set up anew."""

QUESTION = {"role": "user", "content": "What does the next entry say? " * 4}


def figures(effort: Effort) -> Iterator[Figure]:
    """Adding and asking at each size; compacting ten times as many messages."""
    with asyncio.Runner() as runner:
        for size, limit in SIZES:
            count = effort.size(size, smoke=min(size, 200))
            samples = _adding_and_asking(runner, count), _adding_to_list(runner, count)
            ratio = compare(*samples, rounds=effort.rounds_of(0.5))
            what = f"context-simple with {count:,} messages: add one and ask for all, against a list that is copied"
            yield ratio_figure(f"context_{size}", what, ratio, limit)
        large = effort.size(COMPACTED, smoke=400)
        samples = _compacting(runner, large), _compacting(runner, large // TIMES)
        ratio = compare(*samples, rounds=effort.rounds_of(0.05))
        what = f"context-simple: one compaction of {large:,} messages, against {large // TIMES:,}"
        yield ratio_figure("context_compaction", what, ratio, TIMES * 1.3)


def conversation(count: int) -> list[dict[str, Any]]:
    """So many messages: questions, each followed by a tool call with its result and an answer."""
    return [message for number in range(count // 4) for message in _exchange(number)]


def _exchange(number: int) -> list[dict[str, Any]]:
    call = {"id": f"call-{number}", "name": "look_up", "arguments": {"number": number}}
    block = {"type": "tool_call", "id": call["id"], "name": call["name"], "input": call["arguments"]}
    return [
        dict(QUESTION),
        {"role": "assistant", "content": [block], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": f"This is entry {number}. " * 20},
        {"role": "assistant", "content": f"Entry {number} says that it is entry {number}."},
    ]


async def _new_context(messages: list[dict[str, Any]]) -> Any:
    coordinator = ModuleCoordinator()
    await mount(coordinator, {})
    context = coordinator.get("context")
    await context.set_messages(messages)
    return context


def _adding_and_asking(runner: asyncio.Runner, size: int) -> Sample:
    """CPU seconds of ``add_message`` and ``get_messages_for_request`` when nothing has to be left out."""

    async def work(context: Any, count: int) -> None:
        for _ in range(count):
            await context.add_message(dict(QUESTION))
            await context.get_messages_for_request(token_budget=NO_LIMIT)

    return _sample(runner, lambda: runner.run(_new_context(conversation(size))), work, size)


def _adding_to_list(runner: asyncio.Runner, size: int) -> Sample:
    """The same with a list of the same objects: a message is copied and appended, then the list is copied."""

    async def work(messages: list[Any], count: int) -> None:
        for _ in range(count):
            await _append(messages, dict(QUESTION))
            await _copy_of(messages)

    return _sample(runner, lambda: runner.run(_stored_messages(size)), work, size)


async def _stored_messages(size: int) -> list[Any]:
    # As a context keeps them: how they lie in memory decides what it costs to copy a long list of them.
    context = await _new_context(conversation(size))
    return await context.get_messages_for_request(token_budget=NO_LIMIT)


async def _append(messages: list[Any], message: dict[str, Any]) -> None:
    messages.append(dict(message))


async def _copy_of(messages: list[Any]) -> list[Any]:
    copy = messages.copy()
    copy[-1] = dict(copy[-1])
    return copy


def _sample(runner: asyncio.Runner, set_up: Callable[[], Any], work: Callable[[Any, int], Any], size: int) -> Sample:
    count = max(1, min(20, int(size * GROWTH)))
    state, added = set_up(), 0

    async def cpu_seconds() -> float:
        begin = time.process_time_ns()
        await work(state, count)
        return (time.process_time_ns() - begin) / 1e9 / count

    def sample() -> float:
        nonlocal state, added
        if added + count > size * GROWTH:
            state, added = set_up(), 0
        added += count
        return runner.run(cpu_seconds())

    sample()
    return sample


def _compacting(runner: asyncio.Runner, size: int) -> Sample:
    """CPU seconds of one request that has to leave most of the conversation out."""

    async def cpu_seconds() -> float:
        messages = conversation(size)
        context = await _new_context(messages)
        begin = time.process_time_ns()
        sent = await context.get_messages_for_request(token_budget=size * 10)
        spent_s = (time.process_time_ns() - begin) / 1e9
        if len(sent) >= len(messages) and sent == messages:
            raise RuntimeError(f"Nothing of {size} messages was compacted; the figure would mean nothing")
        return spent_s

    return lambda: runner.run(cpu_seconds())

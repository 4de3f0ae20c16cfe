"""What hooks can be asked to do: to answer the events they registered for, whatever the data, and to keep off them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from amplifier_core import events
from amplifier_core.models import HookResult, ToolResult
from amplifier_kit.chaos._calls import Call, describe
from amplifier_kit.chaos._exercises import Exercise, raise_if, shown
from amplifier_kit.chaos._stage import Stage, Subject

_TOOL: dict[str, Any] = {
    "tool_name": "chaos_tool",
    "tool_call_id": "chaos-1",
    "tool_input": {"path": "chaos.txt", "options": {"deep": ["chaos", {"api_key": "secret"}]}},
}
_MESSAGES = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}]
_PAYLOADS: dict[str, dict[str, Any]] = {
    events.SESSION_START: {"session_id": "chaos", "parent_id": None, "config": {"session": {"orchestrator": "x"}}},
    events.SESSION_END: {"session_id": "chaos", "status": "completed", "stats": {"total_messages": 1}},
    events.PROMPT_SUBMIT: {"prompt": "Hello"},
    events.PROMPT_COMPLETE: {"response": "Hi", "response_preview": "Hi", "length": 2},
    events.PROVIDER_REQUEST: {"provider": "chaos", "messages": _MESSAGES, "model": "chaos-1"},
    events.PROVIDER_RESPONSE: {"provider": "chaos", "response": {"content": _MESSAGES}, "usage": {"input_tokens": 1}},
    events.TOOL_PRE: _TOOL,
    events.TOOL_POST: {**_TOOL, "tool_result": ToolResult(output={"lines": ["chaos"]})},
    events.TOOL_ERROR: {**_TOOL, "error": {"type": "RuntimeError", "msg": "chaos"}},
}
_OTHER = {"session_id": "chaos", "items": [{"value": "chaos"}], "details": {"count": 1}}
_HUGE_TEXT = "chaos " * 200_000


def ordinary(stage: Stage) -> list[Exercise]:
    """Each handler with the data of its event."""
    return [_answer(handler, payload(handler.event)) for handler in _handlers(stage)]


def malformed(stage: Stage) -> Iterator[Exercise]:
    """Each handler with data that lack everything it may look for, or hold something else there."""
    for handler in _handlers(stage):
        for data in _strange(payload(handler.event)):
            yield _answer(handler, data)


def huge(stage: Stage) -> Iterator[Exercise]:
    """Each handler with a megabyte of text, and with very many entries."""
    for handler in _handlers(stage):
        sound = payload(handler.event)
        yield _answer(handler, {**sound, **dict.fromkeys(sound, _HUGE_TEXT)})
        yield _answer(handler, {**sound, "chaos": [deepcopy(sound) for _ in range(1_000)]})


async def shared_data(subject: Subject) -> None:
    """Looks whether the caller's own objects are as they were after every handler has seen them."""
    async with subject.stage() as stage:
        for handler in _handlers(stage):
            data, before = payload(handler.event), payload(handler.event)
            # A registry gives every handler a dict of its own; the values inside are the emitter's.
            await stage.run(Call(_calling(handler, dict(data))))
            changed = [key for key in before if data[key] != before[key]]
            told = f"the handler of '{handler.event}' changed {', '.join(changed)} inside the data it was shown"
            raise_if(told if changed else None)


def payload(event: str) -> dict[str, Any]:
    """Data as they come with ``event``, new each time."""
    return deepcopy(_PAYLOADS.get(event, _OTHER))


def _handlers(stage: Stage) -> list[Any]:
    return stage.coordinator.hooks.registered_since(0)


def _strange(sound: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield {}
    for value in (None, 0, "", "chaos", [], [None], {}, {"chaos": None}, object()):
        yield dict.fromkeys(sound, value)
    for key in sound:
        yield {name: value for name, value in sound.items() if name != key}
    yield {**sound, 1: None, None: 1}  # pyright: ignore[reportReturnType] - nobody promises that keys are text


def _answer(handler: Any, data: dict[str, Any]) -> Exercise:
    return Exercise(
        told=f"the handler of '{handler.event}' with data {shown(data)}",
        call=_calling(handler, data),
        complaint=_complaint,
        # A guard's exception denies the operation, which may be what its author wants.
        may_raise=handler.is_guard,
    )


def _calling(handler: Any, data: dict[str, Any]) -> Callable[[], Any]:
    return lambda: handler.handler(handler.event, data)


def _complaint(answer: Any) -> str | None:
    if answer is None:
        return None
    try:
        # Event data may have any keys; the rest must be what the fields say, also after assignments.
        HookResult.model_validate({**vars(answer), "data": None} if isinstance(answer, HookResult) else answer)
    except Exception as error:
        return f"returned {shown(answer)}, which is no readable HookResult: {describe(error)}"
    return None

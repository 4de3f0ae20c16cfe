"""How the answers of several hook handlers become one ``HookResult`` without loss.

Pure functions on data: reading what a handler returned, and composing what all of them said about one event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, PrivateAttr

from amplifier_core._error_text import describe_error
from amplifier_core.models import ContextInjection, HookResult

Level = Literal["info", "warning", "error"]

_LEVELS: tuple[Level, ...] = ("info", "warning", "error")
_DEFAULTS: dict[str, Any] = {name: field.get_default() for name, field in HookResult.model_fields.items()}
# The four slots of every pydantic model, as pydantic itself restores them when it unpickles one. Setting them directly
# costs a third of what validation does, and validation would refuse event data with keys that are no strings.
_set_fields, _set_fields_set, _set_extra, _set_private = (
    vars(BaseModel)[slot].__set__
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


class UnreadableAnswerError(Exception):
    """A handler returned something that cannot be read as a ``HookResult``."""


class ComposedResult(HookResult):
    """A ``HookResult`` that stands for several handlers; its JSON is that of a plain one.

    The public fields hold the first question. ``_asks`` holds every question in order, ``_is_modified`` whether
    ``data`` was changed by a handler, which the action alone cannot tell once a question or an injection outranks it.
    """

    _asks: tuple[HookResult, ...] = PrivateAttr(default=())
    _is_modified: bool = PrivateAttr(default=False)

    @property
    def asks(self) -> tuple[HookResult, ...]:
        """Every question that handlers want answered, in order."""
        return self._asks

    @property
    def is_modified(self) -> bool:
        """Whether ``data`` differs from what was emitted."""
        return self._is_modified


def continue_with(data: dict[str, Any]) -> HookResult:
    """The answer when nobody objected: continue, with ``data`` as they are."""
    fields = _DEFAULTS.copy()
    fields["data"] = data
    fields["context_injections"] = []
    # ``_unchecked``, spelled out: nearly every emit ends here.
    result = HookResult.__new__(HookResult)
    _set_fields(result, fields)
    _set_fields_set(result, {"data"})
    _set_extra(result, None)
    _set_private(result, None)
    return result


def read_answer(outcome: Any) -> HookResult:
    """What a handler returned, as a ``HookResult``; ``None`` means continue.

    Raises ``UnreadableAnswerError`` when it cannot be understood: the caller must treat that as a refusal, never as
    consent.
    """
    if outcome is None:
        return HookResult()
    try:
        if not isinstance(outcome, HookResult):
            return _validated(outcome)
        _require_sound_fields(outcome)
    except Exception as error:
        raise UnreadableAnswerError(
            f"{type(outcome).__name__} that is no sound HookResult: {describe_error(error)}"
        ) from error
    return outcome


def changes_data(answer: HookResult) -> bool:
    """Whether an answer puts new data in place of the event's."""
    return answer.action == "modify" and answer.data is not None


def is_notable(answer: HookResult) -> bool:
    """Whether an answer has anything to contribute beyond "go on"."""
    return answer.action != "continue" or bool(answer.user_message) or bool(answer.suppress_output)


def compose(
    event: str, answers: Sequence[tuple[str, HookResult]], data: dict[str, Any], is_modified: bool
) -> HookResult:
    """One result for all ``answers`` (handler name and answer, in order; none of them a deny).

    The strongest action wins (ask_user, inject_context, modify, continue); everything the weaker ones said stays in the
    other fields.
    """
    asks = tuple(ask for _, answer in answers for ask in asks_of(answer))
    injections = [item for name, answer in answers for item in _injections_of(event, name, answer)]
    action = "ask_user" if asks else "inject_context" if injections else "modify" if is_modified else "continue"
    fields: dict[str, Any] = {"action": action, "data": data, "reason": _reason(action, answers)}
    if asks:
        fields |= _question_fields(asks[0])
    if injections:
        fields |= injection_fields(injections)
    fields |= _message_fields([answer for _, answer in answers])
    if not (asks or injections):
        return _unchecked(HookResult, None, fields)
    return _unchecked(ComposedResult, {"_asks": asks, "_is_modified": is_modified}, fields)


def asks_of(answer: HookResult) -> tuple[HookResult, ...]:
    """The questions in an answer; one that is itself composed, as of a handler that emits, may hold several."""
    if answer.action != "ask_user":
        return ()
    return (answer.asks if isinstance(answer, ComposedResult) else ()) or (answer,)


def injection_fields(injections: Sequence[ContextInjection]) -> dict[str, Any]:
    """The ``HookResult`` fields for ``injections``, both as a list and as the single text that older loops read."""
    return {
        "context_injection": "\n\n".join(item.content for item in injections),
        "context_injection_role": injections[0].role,
        "ephemeral": any(item.ephemeral for item in injections),
        "append_to_last_tool_result": any(item.append_to_last_tool_result for item in injections),
        "context_injections": list(injections),
    }


def single_injection(event: str, name: str, answer: HookResult, text: str) -> ContextInjection:
    """The injection that an answer describes by its single fields, with the handler and the event it comes from."""
    return ContextInjection(
        content=text,
        role=answer.context_injection_role,
        ephemeral=answer.ephemeral,
        append_to_last_tool_result=answer.append_to_last_tool_result,
        hook_name=name,
        event=event,
    )


def _unchecked(cls: type[HookResult], private: dict[str, Any] | None, given: dict[str, Any]) -> HookResult:
    result = cls.__new__(cls)
    _set_fields(result, {**_DEFAULTS, "context_injections": [], **given})
    _set_fields_set(result, set(given))
    _set_extra(result, None)
    _set_private(result, private)
    return result


def _validated(outcome: Any) -> HookResult:
    return HookResult.model_validate(outcome.model_dump() if isinstance(outcome, BaseModel) else outcome)


def _require_sound_fields(answer: HookResult) -> None:
    # Models are validated when they are made, but can be changed afterwards or made without validation. Event data are
    # free to have keys that are no strings.
    fields = {name: getattr(answer, name) for name in _DEFAULTS}
    if not isinstance(fields.pop("data"), dict | None):
        raise TypeError("data must be a dict or None")
    fields["context_injections"] = [vars(item) for item in answer.context_injections]
    HookResult.model_validate(fields, strict=True)


def _injections_of(event: str, name: str, answer: HookResult) -> list[ContextInjection]:
    if answer.action != "inject_context":
        return []
    if answer.context_injections:
        return [item.model_copy(update={"hook_name": name, "event": event}) for item in answer.context_injections]
    return [] if answer.context_injection is None else [single_injection(event, name, answer, answer.context_injection)]


def _reason(action: str, answers: Sequence[tuple[str, HookResult]]) -> str | None:
    return next((answer.reason for _, answer in answers if answer.action == action), None)


def _question_fields(ask: HookResult) -> dict[str, Any]:
    return {
        "approval_prompt": ask.approval_prompt,
        "approval_options": ask.approval_options,
        "approval_timeout": ask.approval_timeout,
        "approval_default": ask.approval_default,
    }


def _message_fields(answers: Sequence[HookResult]) -> dict[str, Any]:
    fields: dict[str, Any] = {"suppress_output": any(answer.suppress_output for answer in answers)}
    speaking = [answer for answer in answers if answer.user_message]
    if speaking:
        sources = dict.fromkeys(answer.user_message_source for answer in speaking if answer.user_message_source)
        fields["user_message"] = "\n".join(answer.user_message or "" for answer in speaking)
        fields["user_message_level"] = max((answer.user_message_level for answer in speaking), key=_LEVELS.index)
        fields["user_message_source"] = ", ".join(sources) or None
    return fields

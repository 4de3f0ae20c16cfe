"""Turns the entries of a script into items, and says in one sentence what is wrong with one that is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar, cast

from pydantic import BaseModel, ValidationError

from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_module_provider_mock.errors import ScriptFormatError
from amplifier_module_provider_mock.failures import ErrorItem
from amplifier_module_provider_mock.items import CallItem, Expectation, ScriptItem, UsageItem

Failure = BaseException | type[BaseException]
Entry = ScriptItem | ChatResponse | Failure
EntryFunction = Callable[[ChatRequest], Any]

Model = TypeVar("Model", bound=BaseModel)

_PARTS: dict[str, type[BaseModel]] = {
    "tool_calls": CallItem,
    "usage": UsageItem,
    "expect": Expectation,
    "error": ErrorItem,
}


def is_failure(entry: object) -> TypeGuard[Failure]:
    """Whether ``entry`` is to be raised: an exception, or a class of exceptions."""
    return isinstance(entry, BaseException) or (isinstance(entry, type) and issubclass(entry, BaseException))


def read_entry(raw: object, place: str) -> Entry:
    """What ``raw`` says is to be played; raises ``ScriptFormatError``, which names ``place``, when it says nothing."""
    if isinstance(raw, str):
        return ScriptItem(text=raw)
    if isinstance(raw, ScriptItem | ChatResponse) or is_failure(raw):
        return raw
    if isinstance(raw, dict):
        return read_as(ScriptItem, cast("dict[Any, Any]", raw), place)
    raise ScriptFormatError(f"{place}: must be a text or a mapping, got {type(raw).__name__}; texts may need quotes")


def read_as(model: type[Model], raw: object, place: str) -> Model:
    """``raw`` as ``model``; raises ``ScriptFormatError`` with every mistake, each with its key."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        told = [_tell(problem, model) for problem in error.errors(include_url=False)]
        raise ScriptFormatError("; ".join(f"{place}{each}" for each in told)) from error


def _tell(problem: Any, model: type[BaseModel]) -> str:
    location: tuple[int | str, ...] = problem["loc"]
    key = ".".join(map(str, location))
    if problem["type"] == "extra_forbidden":
        owner = model if len(location) == 1 else _PARTS[str(location[0])]
        return f", key '{key}': nobody reads it{_hint(str(location[-1]), owner)}"
    if problem["type"] == "missing":
        return f", key '{key}': is missing"
    text = problem["msg"].removeprefix("Value error, ")
    if not location:
        return f": {text}"
    return f", key '{key}': {text} (given: {type(problem['input']).__name__})"


def _hint(key: str, owner: type[BaseModel]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, owner.model_fields, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(owner.model_fields)}"

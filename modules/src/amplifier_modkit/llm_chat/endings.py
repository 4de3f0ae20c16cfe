"""How an answer ends: the servers' words for it, and errors inside an answer that began well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier_modkit.llm.blocks import output_text
from amplifier_modkit.llm.wire import CONTENT_FILTER, LENGTH, OTHER, STOP, TOOL_CALLS, WireError

_REASONS = {
    "stop": STOP,
    "eos": STOP,
    "eos_token": STOP,
    "end_turn": STOP,
    "stop_sequence": STOP,
    "": STOP,
    "length": LENGTH,
    "max_tokens": LENGTH,
    "model_length": LENGTH,
    "tool_calls": TOOL_CALLS,
    "tool_call": TOOL_CALLS,
    "tool_use": TOOL_CALLS,
    "function_call": TOOL_CALLS,
    "content_filter": CONTENT_FILTER,
    "refusal": CONTENT_FILTER,
    "safety": CONTENT_FILTER,
}
_HTTP_ERRORS = range(400, 600)


def read_reason(reason: Any, *, has_calls: bool, is_refused: bool = False) -> str:
    """Why an answer ended, in the kit's words.

    Servers disagree on the word for an answer with tool calls; the calls themselves decide.
    """
    word = _REASONS.get(str(reason or "").lower(), OTHER)
    if word in (STOP, TOOL_CALLS):
        return TOOL_CALLS if has_calls else CONTENT_FILTER if is_refused else STOP
    return word


def require_no_error(body: Mapping[str, Any]) -> None:
    """Raises ``WireError`` for an error in the place of an answer, or of a chunk."""
    error = body.get("error")
    if error:
        raise to_error(error)
    if body.get("object") == "error":
        raise to_error(body)


def to_error(error: Any) -> WireError:
    """An error of a server: an object with any of the usual keys, or just a text."""
    if not isinstance(error, Mapping):
        return WireError(output_text(error))
    given = cast("Mapping[str, Any]", error)
    code, kind = given.get("code"), given.get("type")
    said = given.get("message") or given.get("detail") or given.get("error")
    places = (given.get("status"), given.get("status_code"), code)
    status = next((number for number in map(_http_error, places) if number is not None), None)
    name = next((word for word in (code, kind) if isinstance(word, str) and not word.isdigit()), None)
    return WireError(output_text(said) if said else output_text(dict(given)), status=status, code=name)


def _http_error(value: Any) -> int | None:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return number if isinstance(number, int) and number in _HTTP_ERRORS else None

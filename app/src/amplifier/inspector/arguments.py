"""The arguments of a tool call as people write them: JSON, or words ``key=value`` read by the tool's schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from amplifier.nearest import nearest
from amplifier.problems import UsageProblem

Schema = dict[str, Any]


def arguments_of(text: str | None, words: Sequence[str], schema: Schema) -> dict[str, Any]:
    """The arguments in a JSON text and the words behind it; checked for keys that are missing or not there."""
    given = {} if text is None else _object_in(text)
    properties = cast("dict[str, Schema]", schema.get("properties") or {})
    if schema.get("additionalProperties") is False:
        _require_known(given, properties)
    typed = dict(_typed(word, properties) for word in words)
    if not schema.get("additionalProperties"):
        # A schema that does not say so takes any key; in what somebody types it is a slip.
        _require_known(typed, properties)
    given |= typed
    missing = [key for key in schema.get("required") or () if key not in given]
    if missing:
        raise UsageProblem(f"The tool needs {', '.join(missing)}.", _known(properties))
    return given


def _typed(word: str, properties: dict[str, Schema]) -> tuple[str, Any]:
    key, is_there, value = word.partition("=")
    if not is_there:
        raise UsageProblem(f"'{word}' is no argument: expected KEY=VALUE.", _known(properties))
    return key, _read(value, properties.get(key, {}))


def _object_in(text: str) -> dict[str, Any]:
    try:
        given: Any = json.loads(text)
    except ValueError as error:
        raise UsageProblem(f"The input is no JSON: {error}.", 'Give an object, such as \'{"path": "x"}\'.') from None
    if not isinstance(given, dict):
        raise UsageProblem("The input must be a JSON object.", 'Give an object, such as \'{"path": "x"}\'.')
    return cast("dict[str, Any]", given)


def _read(value: str, declared: Schema) -> Any:
    """A text where the schema wants one, or says nothing and it is no JSON."""
    if declared.get("type") == "string":
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _require_known(given: dict[str, Any], properties: dict[str, Schema]) -> None:
    unknown = next((key for key in given if key not in properties), None)
    if unknown is not None:
        near = nearest(unknown, properties)
        meant = f"; did you mean '{near}'?" if near else "."
        raise UsageProblem(f"The tool has no argument '{unknown}'{meant}", _known(properties))


def _known(properties: dict[str, Schema]) -> str:
    return f"It takes: {', '.join(properties) or 'nothing'}."

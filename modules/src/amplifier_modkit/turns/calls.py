"""Tool calls as a model made them: read from a response, with ids that are there and unique, and arguments checked."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from amplifier_core.message_models import ToolSpec
from amplifier_modkit.turns.schemas import Schema

logger = logging.getLogger(__name__)

_ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


class CallError(Exception):
    """A tool call that cannot be carried out; the text tells the model what is wrong and what would be right."""


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call that the model asks for; ``arguments`` are whatever the provider made of them."""

    id: str
    name: str
    arguments: Any


def read_calls(found: Iterable[Any], new_id: Callable[[], str]) -> list[RequestedCall]:
    """The calls a provider found, as it gave them, except that each has an id of its own."""
    calls: list[RequestedCall] = []
    taken: set[str] = set()
    for each in found:
        call_id = _field(each, "id")
        if not isinstance(call_id, str) or not call_id or call_id in taken:
            call_id = f"call_{new_id()}"
        while call_id in taken:
            call_id += "_"
        taken.add(call_id)
        name = _field(each, "name") or _field(each, "tool")
        arguments = _field(each, "arguments")
        if arguments is None:
            arguments = _field(each, "input")  # as in a block
        calls.append(RequestedCall(call_id, name if isinstance(name, str) else "", arguments))
    return calls


def read_arguments(call: RequestedCall) -> dict[str, Any]:
    """The arguments of a call as an object; none at all is an empty one. Raises ``CallError`` for anything else."""
    given: Any = call.arguments
    if isinstance(given, str):
        given = _parsed(call, given) if given.strip() else None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise CallError(
            f"The arguments of tool '{call.name}' must be one JSON object with the parameters by name, "
            f"got {_kind(given)}."
        )
    return cast("dict[str, Any]", given)


class ArgumentChecker:
    """Checks arguments against the JSON Schemas of tools; keeps a compiled schema per tool as long as it lives."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[Any, Schema | None]] = {}

    def require_fit(self, name: str, tool: object, arguments: Mapping[str, Any]) -> None:
        """Raises ``CallError`` that lists what does not fit; a schema that is none is logged once and not enforced."""
        schema = self._schema(name, tool)
        complaint = None if schema is None else schema.complaint(arguments)
        if complaint is not None:
            raise CallError(
                f"The arguments of tool '{name}' do not fit: {complaint}. They must fit this schema: {schema}"
            )

    def _schema(self, name: str, tool: object) -> Schema | None:
        # What the tool declares is compared by identity first: most tools keep their schema in one place.
        declared = getattr(tool, "input_schema", None) or _declared_schema(tool)
        known = self._compiled.get(name)
        if known is None or (known[0] is not declared and known[0] != declared):
            known = self._compiled[name] = (declared, _compile(name, _declared_schema(tool)))
        return known[1]


def _parsed(call: RequestedCall, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CallError(
            f"The arguments of tool '{call.name}' are not valid JSON: {error}. Call it again with one JSON object."
        ) from error


def _field(call: Any, name: str) -> Any:
    return cast("dict[str, Any]", call).get(name) if isinstance(call, dict) else getattr(call, name, None)


def _declared_schema(tool: object) -> dict[str, Any] | None:
    try:
        return ToolSpec.from_tool(tool).parameters
    except Exception:
        return None  # told where the tool is offered to the model


def _compile(name: str, schema: dict[str, Any] | None) -> Schema | None:
    if schema is None or schema == _ANYTHING:
        return None
    try:
        return Schema(schema)
    except ValueError as error:
        logger.warning("The schema of tool '%s' is no JSON Schema, so its arguments are not checked: %s", name, error)
        return None


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    return (
        "a boolean" if isinstance(value, bool) else "a number" if isinstance(value, int | float) else "something else"
    )

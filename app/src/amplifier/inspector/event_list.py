"""The catalogue of events: what each tells, who emits it, and the fields of its payload."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from amplifier.nearest import nearest
from amplifier.problems import UsageProblem


class ListedEvent(NamedTuple):
    """One event in a line."""

    name: str
    emitted_by: str
    when: str


class Field(NamedTuple):
    """One field of a payload."""

    name: str
    type: str
    is_required: bool
    meaning: str


def listed_events() -> list[ListedEvent]:
    """Every canonical event and those of the kernel, in the order of the catalogue."""
    from amplifier_core.event_payloads import PAYLOADS

    return [_listed(name, payload) for name, payload in PAYLOADS.items()]


def event_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of an event's payload; raises ``UsageProblem`` with the nearest name if there is none."""
    from amplifier_core.event_payloads import PAYLOADS, payload_schema

    if name not in PAYLOADS:
        near = nearest(name, PAYLOADS)
        meant = f"; did you mean '{near}'?" if near else "."
        raise UsageProblem(
            f"There is no event '{name}' in the catalogue{meant}",
            "amplifier events lists them; those of modules are in their docs.",
        )
    return payload_schema(name)


def fields_of(schema: dict[str, Any]) -> list[Field]:
    """The fields of a payload, those that are always there first."""
    required = schema.get("required", ())
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    fields = [
        Field(name, type_told(each), name in required, each.get("description", "")) for name, each in properties.items()
    ]
    return sorted(fields, key=lambda each: not each.is_required)


def type_told(schema: dict[str, Any]) -> str:
    """The type in a schema, in a word or two."""
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    choices = schema.get("anyOf")
    if choices:
        return " | ".join(map(type_told, choices))
    return str(schema.get("type", "any"))


def _listed(name: str, payload: type) -> ListedEvent:
    line = inspect.cleandoc(payload.__doc__ or "").partition("\n")[0]
    emitter, has_both, when = line.removeprefix("Emitted by ").partition(": ")
    return ListedEvent(name, emitter, when) if has_both else ListedEvent(name, "", line)

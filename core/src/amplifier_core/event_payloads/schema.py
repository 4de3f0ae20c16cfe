"""JSON Schema of the payloads, generated from their types, so that the two cannot drift apart."""

import inspect
from difflib import get_close_matches
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from amplifier_core.event_payloads.catalogue import PAYLOADS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def payload_schema(event: str) -> dict[str, Any]:
    """Return the JSON Schema of an event's payload, complete in itself: nested structures stand in place.

    Raises `ValueError` for an event that is not in the catalogue and names the one that resembles it most.
    """
    payload = _require_payload(event)
    schema = TypeAdapter[Any](payload).json_schema(schema_generator=_UntitledFields)
    definitions: dict[str, Any] = schema.pop("$defs", {})
    described = {"$schema": DIALECT, "description": inspect.cleandoc(payload.__doc__ or "")}
    return _without_references(schema, definitions) | described


def catalogue_schema() -> dict[str, Any]:
    """Return the schemas of all events in one JSON document: event name to schema, in the order of `PAYLOADS`."""
    return {event: payload_schema(event) for event in PAYLOADS}


class _UntitledFields(GenerateJsonSchema):
    """Leaves out the title that pydantic makes of a field's name, which says nothing new."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _require_payload(event: str) -> type:
    payload = PAYLOADS.get(event)
    if payload is None:
        nearest = get_close_matches(event, PAYLOADS, n=1)
        hint = f" Did you mean '{nearest[0]}'?" if nearest else ""
        raise ValueError(
            f"No payload is catalogued for the event '{event}'.{hint} The catalogue holds the canonical events and the "
            "kernel's own (amplifier_core.event_payloads.PAYLOADS); a module's own events are in its documentation."
        )
    return payload


def _without_references(node: Any, definitions: dict[str, Any]) -> Any:
    """Copy a schema with each `$ref` replaced by what it points at; keys beside the reference win."""
    if isinstance(node, list):
        return [_without_references(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    copied = {key: _without_references(value, definitions) for key, value in schema.items() if key != "$ref"}
    if "$ref" not in schema:
        return copied
    target = definitions[schema["$ref"].rpartition("/")[2]]
    return _without_references(target, definitions) | copied

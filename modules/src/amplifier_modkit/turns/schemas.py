"""JSON Schemas, for the arguments of tools and for answers: compiled once, and what does not fit told in words."""

from __future__ import annotations

import json
from typing import Any

from amplifier_modkit.clipping import clip_chars
from amplifier_modkit.messages import plain

_MOST_COMPLAINTS = 5
_MOST_COMPLAINT_CHARS = 500


class Schema:
    """A compiled JSON Schema; making one from what is no schema raises ``ValueError``."""

    def __init__(self, schema: dict[str, Any]) -> None:
        import jsonschema_rs  # not needed before the first tool call

        self._text = json.dumps(plain(schema), ensure_ascii=False)
        try:
            self._validator = jsonschema_rs.validator_for(schema, retriever=_refuse_to_fetch)
        except Exception as error:
            raise ValueError(str(error).partition("\n")[0]) from error

    def __str__(self) -> str:
        """The schema as JSON."""
        return self._text

    def complaint(self, value: Any) -> str | None:
        """What is wrong with ``value``, or ``None``."""
        try:
            if self._validator.is_valid(value):
                return None
        except ValueError:
            value = plain(value)  # a hook may have put something into it that is no JSON
        try:
            complaints = [_told(error) for error in self._validator.iter_errors(value)]
        except ValueError as error:
            return f"it cannot be checked ({error})"
        if not complaints:
            return None
        more = f" (and {len(complaints) - _MOST_COMPLAINTS} more)" if len(complaints) > _MOST_COMPLAINTS else ""
        return "; ".join(complaints[:_MOST_COMPLAINTS]) + more


def _refuse_to_fetch(uri: str) -> Any:
    # A schema may come from a stranger; looking up what it refers to would send requests wherever it likes.
    raise LookupError(f"it refers to {uri}, and schemas are never fetched")


def _told(error: Any) -> str:
    where = ".".join(str(step) for step in error.instance_path)
    # A complaint quotes the value it is about, which may be a whole file.
    return clip_chars(f"{where}: {error.message}" if where else str(error.message), _MOST_COMPLAINT_CHARS)

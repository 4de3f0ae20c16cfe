"""Answers that must be JSON of a given shape: found in what the model said, checked, and written in one form."""

from __future__ import annotations

import json
import re
from typing import Any

from amplifier_modkit.turns.schemas import Schema

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)


class StructuredOutputError(ValueError):
    """The model did not give JSON that fits the schema, not even when it was told what is wrong.

    ``answer`` is what it said last, ``complaint`` what is wrong with it.
    """

    def __init__(self, answer: str, complaint: str) -> None:
        super().__init__(f"The model's answer does not fit the output schema: {complaint}")
        self.answer = answer
        self.complaint = complaint


class OutputSchema:
    """The shape of an answer; raises ``ValueError`` for a schema that is none."""

    def __init__(self, schema: dict[str, Any]) -> None:
        try:
            self._schema = Schema(schema)
        except ValueError as error:
            raise ValueError(f"output_schema is no JSON Schema: {error}") from error

    def to_json(self, answer: str) -> str:
        """The JSON in ``answer`` as text; raises ``StructuredOutputError`` when there is none or it does not fit."""
        try:
            value = json.loads(_json_part(answer))
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise StructuredOutputError(answer, f"it is not JSON ({error})") from error
        complaint = self._schema.complaint(value)
        if complaint is not None:
            raise StructuredOutputError(answer, complaint)
        return text

    def repair_request(self, error: StructuredOutputError) -> str:
        """What to tell the model so that it can do better."""
        return (
            f"Your answer cannot be used: {error.complaint}. "
            f"Answer again with nothing but JSON that fits this schema: {self._schema}"
        )


def _json_part(answer: str) -> str:
    # Models like to wrap JSON in a code block, whatever they are told.
    fenced = _FENCED.search(answer)
    return fenced[1] if fenced else answer

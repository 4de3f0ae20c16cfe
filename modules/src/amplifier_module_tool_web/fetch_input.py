"""What a model asks of ``web_fetch``, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amplifier_module_tool_web.errors import InvalidInputError

MOST_BYTES = 1_048_576
"""The most that one call gives, however much was asked for."""


@dataclass(frozen=True, slots=True)
class FetchInput:
    """One call."""

    url: str
    save_to_file: str | None
    offset: int
    limit: int

    @classmethod
    def read(cls, given: dict[str, Any], default_limit: int) -> FetchInput:
        """Reads the arguments; raises ``InvalidInputError``."""
        url, path = given.get("url"), given.get("save_to_file")
        if not isinstance(url, str) or not url.strip(" "):
            raise InvalidInputError("'url' is missing. Give the URL to fetch, beginning with https:// or http://.")
        if path is not None and (not isinstance(path, str) or not path):
            raise InvalidInputError("'save_to_file' must be the path of a file, or be left out.")
        offset = _number(given, "offset", 0, least=0)
        return cls(url.strip(" "), path, offset, min(_number(given, "limit", default_limit, least=1), MOST_BYTES))


def _number(given: dict[str, Any], name: str, default: int, *, least: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    # JSON does not tell 5 from 5.0, and models write either.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"'{name}' must be a whole number, {least} or more.")
    return value


def schema(default_limit: int) -> dict[str, Any]:
    """The JSON Schema of the arguments."""
    return {
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "The URL to fetch; http or https, on the public web."},
            "save_to_file": {
                "type": "string",
                "description": (
                    "Path of a file to write the content to, byte for byte. A web page or PDF that is saved as .md or "
                    ".txt is written as text. The result then has a short preview instead of the content."
                ),
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "Where to begin, in bytes of the converted text; to read on, take 'next_offset'.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "default": default_limit,
                "description": f"The most bytes of text to return, up to {MOST_BYTES}.",
            },
        },
        "required": ["url"],
    }

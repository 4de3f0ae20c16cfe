"""The output formats of a run, by name; apart from those that print them, so that help is quick."""

from __future__ import annotations

from typing import Literal

OutputFormat = Literal["text", "json", "json-trace", "stream-json"]
FORMATS: tuple[OutputFormat, ...] = ("text", "json", "json-trace", "stream-json")

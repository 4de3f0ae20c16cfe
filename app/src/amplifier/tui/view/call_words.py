"""A tool call in words: what it was given on one line, what it gave as text, how long it took."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from amplifier.tui.view.painting import flat

# What tells most about a call, in the order in which it is looked for.
_TELLING = ("command", "file_path", "pattern", "path", "query", "url", "agent", "name", "prompt", "instruction")
_BESIDE = {"agent": "instruction", "pattern": "path"}
_PATCHED = re.compile(r"^(?:\+\+\+ (?:b/)?|\*\*\* (?:Update|Add|Delete) File: )(\S.*)$", re.MULTILINE)
_MOST_TEXT = 100_000


def summary_of(given: Any) -> str:
    """What a call is about, on one line."""
    if not isinstance(given, Mapping):
        return flat(str(given)) if given else ""
    arguments = cast("Mapping[str, Any]", given)
    if isinstance(arguments.get("patch"), str):
        return flat(", ".join(_PATCHED.findall(arguments["patch"])))
    for key in _TELLING:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            beside = arguments.get(_BESIDE.get(key, ""))
            return flat(f"{value}: {beside}" if isinstance(beside, str) and beside else value)
    return flat(_json(arguments)) if arguments else ""


def given_of(given: Any) -> str:
    """All that a call was given, a line for each argument; texts of several lines stay so."""
    if not isinstance(given, Mapping):
        return str(given or "")
    arguments = cast("Mapping[str, Any]", given)
    return "\n".join(f"{key}: {value if isinstance(value, str) else _json(value)}" for key, value in arguments.items())


def result_of(data: Mapping[str, Any]) -> tuple[bool, str, str]:
    """Whether a call went well, its output and its error; from the payload of ``tool:post`` or ``tool:error``."""
    result: Any = data.get("result") or data.get("tool_result")
    error = _error_text(data.get("error") or _field(result, "error"))
    output = "" if "error" in data else text_of(_field(result, "output", result))
    if "error" not in data and _field(result, "success") is not False:
        return True, output, ""
    return False, "" if output.strip() == error.strip() else output, error


def found_by(data: Mapping[str, Any]) -> str:
    """How much a search has found, if its result tells so."""
    output = _field(data.get("result") or data.get("tool_result"), "output")
    if not isinstance(output, Mapping):
        return ""
    fields = cast("Mapping[str, Any]", output)
    is_of_lines = fields.get("output_mode") == "content"
    for key, unit in (("total_matches", "line" if is_of_lines else "file"), ("total_files", "file")):
        count = fields.get(key)
        if isinstance(count, int):
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    return ""


def text_of(output: Any) -> str:
    """What a tool gave, as text for people."""
    if isinstance(output, str):
        return output[:_MOST_TEXT]
    if not isinstance(output, Mapping):
        return "" if output is None else _json(output)
    fields = cast("Mapping[str, Any]", output)
    if "stdout" in fields or "stderr" in fields:
        streams = (str(fields.get(name) or "").strip("\n") for name in ("stdout", "stderr"))
        return "\n".join(filter(None, streams))[:_MOST_TEXT]
    for key in ("response", "content", "text"):
        if isinstance(fields.get(key), str):
            return fields[key][:_MOST_TEXT]
    return _json(fields)


def duration(seconds: float) -> str:
    """A length of time, short."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"


def _error_text(error: Any) -> str:
    if isinstance(error, Mapping):
        fields = cast("Mapping[str, Any]", error)
        return str(fields.get("message") or fields.get("msg") or _json(fields))
    return str(error or "")


def _field(holder: Any, name: str, default: Any = None) -> Any:
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name, default if name == "output" else None)
    return getattr(holder, name, default)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:_MOST_TEXT]

"""What the model asks for when it calls the tool, and the schema that tells it how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from amplifier_module_tool_task.errors import RefusedError

Scope = Literal["none", "recent", "all"]

_SCOPES: tuple[Scope, ...] = ("none", "recent", "all")
_DEFAULT_TURNS = 5
_MOST_INSTRUCTION_CHARS = 400_000
_MOST_PREFERENCES = 10

INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "instruction": {
            "type": "string",
            "description": "The task: everything the agent has to know, and what it shall report.",
        },
        "agent": {"type": "string", "description": "Name of the agent that begins the task."},
        "session_id": {
            "type": "string",
            "description": "Id of an earlier task's session, to go on with it. Give this or 'agent'.",
        },
        "inherit_context": {
            "type": "string",
            "enum": list(_SCOPES),
            "description": "How much of this conversation the agent reads besides: none (default), recent turns, all.",
        },
        "inherit_context_turns": {
            "type": "integer",
            "minimum": 1,
            "description": f"How many turns 'recent' means; {_DEFAULT_TURNS} by default.",
        },
        "provider_preferences": {
            "type": "array",
            "description": "Which model to use, in order of preference; the first that is there counts.",
            "items": {
                "type": "object",
                "properties": {
                    "provider": {"type": "string", "description": "Name of the provider, or a pattern of it."},
                    "model": {"type": "string", "description": "Id of the model, or a pattern such as 'small-*'."},
                },
                "required": ["provider"],
            },
        },
    },
    "required": ["instruction"],
}
# Prompts that were written for the older tool of that name use these words.
_OTHER_NAMES = {"inherit_context": "context_depth", "inherit_context_turns": "context_turns"}


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """One call, read with care: models do not always obey the schema."""

    instruction: str
    agent: str | None = None
    session_id: str | None = None
    scope: Scope = "none"
    turns: int = _DEFAULT_TURNS
    preferences: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> TaskRequest:
        """The request in a tool's input; raises ``RefusedError`` for one that cannot be carried out."""
        instruction = _text(given, "instruction")
        if not instruction:
            raise RefusedError("'instruction' is missing: say what the agent shall do and report.")
        if len(instruction) > _MOST_INSTRUCTION_CHARS:
            raise RefusedError(
                f"'instruction' has {len(instruction):,} characters, {_MOST_INSTRUCTION_CHARS:,} at most; put the "
                "material into a file and name that."
            )
        return cls(
            instruction,
            _text(given, "agent"),
            _text(given, "session_id"),
            _scope(_value(given, "inherit_context")),
            _turns(_value(given, "inherit_context_turns")),
            _preferences(given.get("provider_preferences")),
        )


def _value(given: Mapping[str, Any], key: str) -> Any:
    value = given.get(key)
    return given.get(_OTHER_NAMES[key]) if value is None else value


def _text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise RefusedError(f"'{key}' must be text, got {type(value).__name__}.")
    return (value or "").strip() or None


def _scope(value: Any) -> Scope:
    if value is None:
        return "none"
    if value not in _SCOPES:
        raise RefusedError(f"'inherit_context' must be one of {', '.join(_SCOPES)}, got {value!r:.80}.")
    return value


def _turns(value: Any) -> int:
    if value is None:
        return _DEFAULT_TURNS
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise RefusedError(f"'inherit_context_turns' must be a whole number from 1 on, got {value!r:.80}.")
    return value


def _preferences(value: Any) -> list[dict[str, Any]]:
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [None]
    if not all(isinstance(item, dict) and isinstance(cast("Any", item).get("provider"), str) for item in items):
        raise RefusedError("'provider_preferences' must be a list of objects with 'provider' and perhaps 'model'.")
    if len(items) > _MOST_PREFERENCES:  # each may have a provider asked for its models
        raise RefusedError(f"{len(items)} provider preferences are too many; {_MOST_PREFERENCES} at most.")
    return items

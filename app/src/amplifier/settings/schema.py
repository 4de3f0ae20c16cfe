"""Which settings there are: the one declaration, as JSON Schema, of their types, defaults and meaning.

Beside the words of JSON Schema there are two of our own. ``x-merge`` tells how a list of one scope meets that of
another: ``append`` joins them, ``by-id`` joins them and merges entries of the same id or module; without it the higher
scope replaces the list. ``x-expand: false`` keeps ``${…}`` as it is, for texts that a shell reads.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from amplifier.settings.key_paths import KeyPath

Schema = dict[str, Any]


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _object(description: str, **properties: Schema) -> Schema:
    return {"type": "object", "description": description, "properties": properties, "additionalProperties": False}


def _free(description: str, **more: Any) -> Schema:
    return {"type": "object", "description": description, "additionalProperties": True, **more}


def _texts(description: str, **more: Any) -> Schema:
    return {"type": "array", "description": description, "items": {"type": "string"}, **more}


def _modules(description: str) -> Schema:
    entry = {"type": "object", "properties": {"module": {"type": "string"}}, "additionalProperties": True}
    return {"type": "array", "description": description, "items": entry, "x-merge": "by-id"}


def _number(description: str, kind: str = "number", minimum: float = 0) -> Schema:
    return {"type": kind, "description": description, "minimum": minimum}


_BUNDLE = _object(
    "Which bundle sessions are made from.",
    active=_text("The bundle that counts when none is named.", default="default"),
    added=_free("More bundles by name: a path or a source each."),
    app=_texts("Bundles that are composed onto every other.", **{"x-merge": "append"}),
)
_MODULES = _object(
    "Modules beside those of the bundle.",
    providers=_modules("Providers of models."),
    tools=_modules("Tools of the agent."),
    hooks=_modules("Hooks of the session."),
)
_PERMISSIONS = _object(
    "What the agent may do without asking.",
    mode=_text("How much is asked.", enum=["default", "plan", "accept-edits", "dont-ask", "bypass"], default="default"),
    allow=_texts("Rules Tool(specifier) for what runs without asking.", **{"x-merge": "append"}),
    ask=_texts("Rules for what is always asked.", **{"x-merge": "append"}),
    deny=_texts("Rules for what never runs.", **{"x-merge": "append"}),
    additional_directories=_texts("Folders beside the working directory.", **{"x-merge": "append"}),
)
_SESSION = _object(
    "What is kept of sessions.",
    retention_days=_number("How long sessions are kept; 0 keeps them for ever.", "integer") | {"default": 30},
    persist={"type": "boolean", "description": "Whether sessions are stored.", "default": True},
)
_OUTPUT = _object(
    "How the command prints.",
    format=_text("The output of run.", enum=["text", "json", "json-trace", "stream-json"], default="text"),
    color=_text("When there are colours.", enum=["auto", "always", "never"], default="auto"),
)
_LIMITS = _object(
    "When a run is ended.",
    max_turns=_number("Calls of the model.", "integer", 1),
    max_budget_usd=_number("Money."),
    timeout=_number("Seconds."),
)
_SOURCES = _free(
    "Where modules come from, by id.",
    properties={
        "frozen": {"type": "boolean", "description": "Whether nothing is used but what is locked."},
        "offline": {"type": "boolean", "description": "Whether nothing is fetched."},
        "timeout": _number("Seconds that a fetch may take."),
    },
)
_CHAT = _object(
    "The chat in the terminal.",
    keys=_text("The keys of the input line.", enum=["emacs", "vi"], default="emacs"),
    plain={"type": "boolean", "description": "Lines only, for screen readers.", "default": False},
)
_KEYS = _object(
    "Where keys of services are kept.",
    store=_text("The file keys.env or the system's keyring.", enum=["file", "keyring"], default="file"),
)
_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Settings of amplifier",
    **_object(
        "What settings.yaml may say; every key can be left out.",
        bundle=_BUNDLE,
        config=_object(
            "Providers in the form of earlier versions.",
            providers=_modules("Providers of models."),
            notifications=_free("How the end of long work is told."),
        ),
        model=_text("The model to ask; provider/model names both."),
        provider=_text("The provider to ask, by id or module."),
        providers=_free("Config of providers by id."),
        modules=_MODULES,
        permissions=_PERMISSIONS,
        session=_SESSION,
        output=_OUTPUT,
        limits=_LIMITS,
        chat=_CHAT,
        keys=_KEYS,
        sandbox=_free("Limits of the commands that the agent runs."),
        mcp=_object("Servers of the Model Context Protocol.", servers=_free("Servers by name.")),
        hooks=_free("Commands to run on events.", **{"x-expand": False}),
        env=_free("Variables for the commands that the agent runs."),
        overrides=_free("Sources and config of modules by id."),
        sources=_SOURCES,
        routing=_free("Which model serves which role."),
    ),
}


def schema() -> Schema:
    """The JSON Schema of settings files; the caller may change it."""
    return deepcopy(_SCHEMA)


def schema_at(path: KeyPath) -> Schema | None:
    """What is declared for the value at ``path``: ``{}`` where anything goes, ``None`` where nothing may be."""
    found = _SCHEMA
    for part in path:
        declared = found.get("properties", {}).get(part)
        if declared is None:
            return {} if found.get("additionalProperties") else None
        found = declared
    return found


def defaults() -> dict[str, Any]:
    """The values that count where no scope has any."""
    return _defaults_of(_SCHEMA)


def _defaults_of(declared: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, inner in declared.get("properties", {}).items():
        if "default" in inner:
            found[name] = inner["default"]
        elif nested := _defaults_of(inner):
            found[name] = nested
    return found

"""Agents as bundles describe them: inline, or as a file of their own with ``meta`` in the place of ``bundle``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from amplifier.bundles.bundle import MODULE_SECTIONS, AgentSpec
from amplifier.bundles.checks import require_list, require_mapping, require_module, require_modules, require_text
from amplifier.bundles.document import Document, type_name
from amplifier.bundles.mentions import Passage
from amplifier.settings.key_paths import KeyPath

# What says who an agent is, and not what its session is made of.
_ABOUT = ("meta", "name", "description", "instruction", "bundle", "includes", "context")
_LISTS = ("provider_preferences",)


def agent_of_file(document: Document, name: str | None, roots: tuple[Path, ...], scope: str) -> AgentSpec:
    """The agent that a file describes; ``name`` is the one it was included by, if that is its name."""
    meta = require_mapping(document, ("meta",), document.data.get("meta"))
    named = meta.get("name", document.data.get("name", document.file.stem))
    about = {**document.data, "description": meta.get("description", document.data.get("description", ""))}
    agent = agent_of_mapping(document, (), name or require_text(document, ("meta", "name"), named), about, roots, scope)
    if not document.body:
        return agent
    passage = Passage(document.body, document.file, document.body_line, roots)
    return AgentSpec(agent.name, agent.description, agent.overlay, passage, agent.origin)


def agent_of_mapping(
    document: Document, path: KeyPath, name: str, fields: dict[str, Any], roots: tuple[Path, ...], scope: str
) -> AgentSpec:
    """The agent that ``fields``, a mapping in a bundle, describe."""
    description = require_text(document, (*path, "description"), fields.get("description", ""))
    instruction = require_text(document, (*path, "instruction"), fields.get("instruction", ""))
    overlay = {key: _checked(document, (*path, key), key, value) for key, value in _differences(fields).items()}
    line = document.line_of((*path, "instruction"))
    passage = Passage(instruction, document.file, line, roots) if instruction else None
    return AgentSpec(name, description, overlay, passage, document.origin(path, scope))


def _differences(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in _ABOUT and value is not None}


def _checked(document: Document, path: KeyPath, key: str, value: Any) -> Any:
    """A section of an agent, in the shape that a plan has."""
    if key in MODULE_SECTIONS:
        return require_modules(document, path, value)
    if key == "session":
        return checked_session(document, path, value)
    if key in _LISTS:
        return [
            require_mapping(document, (*path, str(n)), item)
            for n, item in enumerate(require_list(document, path, value))
        ]
    if key == "agents" and value not in ("all", "none") and not isinstance(value, list | dict):
        raise document.problem(
            path, f"agents of an agent must be 'all', 'none' or a list of names, got {type_name(value)}"
        )
    return cast("Any", value)


def checked_session(document: Document, path: KeyPath, value: Any) -> dict[str, Any]:
    """``session`` of a bundle or an agent, its two modules as mappings."""
    session = require_mapping(document, path, value)
    for role in ("orchestrator", "context"):
        if session.get(role) is None:
            session.pop(role, None)
        else:
            session[role] = require_module(document, (*path, role), session[role], is_named=False)
    return session

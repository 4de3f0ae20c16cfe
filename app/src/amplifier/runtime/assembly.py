"""The plan of one session put together with what only the command knows: its folder, its files, its limits."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

# Modules that keep files of a session, with the key that says where. Their children fill in their own ids.
_FILES = {"context-persistent": ("transcript_path", "transcript.jsonl")}
_LOGS = {"hooks-logging": ("session_log_template", "events.jsonl")}
PERSISTENT_CONTEXT = "context-persistent"
_STARTERS = ("tool-task",)
"""Modules that start child sessions, and are told what those inherit."""


def in_folder(plan: Mapping[str, Any], sessions_dir: Path | None) -> dict[str, Any]:
    """``plan`` with the files of the session and its children below ``sessions_dir``; what a plan says itself stays.

    Without a folder nothing is kept: the conversation is held in memory, and events are not logged.
    """
    made = _with_inheritance(deepcopy(dict(plan)))
    session = cast("dict[str, Any]", made.setdefault("session", {}))
    if sessions_dir is None:
        return _without_files(made, session)
    session["context"] = _placed(session.get("context"), _FILES, sessions_dir)
    made["hooks"] = [_placed(each, _LOGS, sessions_dir) for each in made.get("hooks") or ()]
    return made


def keeps_transcript(plan: Mapping[str, Any]) -> bool:
    """Whether the context of a plan writes the journal itself."""
    return _module_of(plan["session"].get("context")) == PERSISTENT_CONTEXT


def _with_inheritance(plan: dict[str, Any]) -> dict[str, Any]:
    """``plan`` without its section ``spawn``, which is said to the modules that start children instead."""
    spawn = cast("dict[str, Any]", plan.pop("spawn", None) or {})
    keys = {"exclude_tools": "exclude_tools", "tools": "inherit_tools"}
    told = {key: [_module_of(each) for each in spawn[name]] for name, key in keys.items() if spawn.get(name)}
    if told:
        plan["tools"] = [
            {**_fields_of(entry), "config": {**told, **_config_of(entry)}} if _module_of(entry) in _STARTERS else entry
            for entry in plan.get("tools") or ()
        ]
    return plan


def _without_files(plan: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    context = session.get("context")
    if _module_of(context) == PERSISTENT_CONTEXT:
        config = _config_of(context)
        own = ("transcript_path", "durability", "group_interval_ms", "memory_files", "truncate_boundary")
        session["context"] = {
            "module": "context-simple",
            "config": {key: value for key, value in config.items() if key not in own},
        }
    plan["hooks"] = [each for each in plan.get("hooks") or () if _module_of(each) not in _LOGS]
    return plan


def _placed(entry: Any, files: Mapping[str, tuple[str, str]], sessions_dir: Path) -> Any:
    module = _module_of(entry)
    if module not in files:
        return entry
    key, name = files[module]
    return {**_fields_of(entry), "config": {key: str(sessions_dir / "{session_id}" / name), **_config_of(entry)}}


def _fields_of(entry: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"module": entry}


def _config_of(entry: Any) -> dict[str, Any]:
    config = cast("dict[str, Any]", entry).get("config") if isinstance(entry, dict) else None
    return cast("dict[str, Any]", config or {})


def _module_of(entry: Any) -> str:
    return str(cast("dict[str, Any]", entry).get("module")) if isinstance(entry, dict) else str(entry)

"""Reading a mount plan: which modules make a session, from where, with which config.

Pure data in, data out. A plan of the wrong shape is refused here, before anything is mounted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

SECTIONS = {"provider": "providers", "tool": "tools", "hook": "hooks"}
"""Kinds that come in any number, and the plan section that lists them; also the order in which they mount."""

_DEFAULT_IDS = {"orchestrator": "loop-basic", "context": "context-simple"}


class PlanTypeError(TypeError, ValueError):
    """Something in a plan has the wrong type. Callers expect a ``TypeError`` or a ``ValueError``; this is both."""


@dataclass(slots=True)
class ModuleSpec:
    """One module of a plan."""

    kind: str
    module_id: str
    source: Any
    config: dict[str, Any]
    instance_id: str | None = None
    entry: Any = None
    """The entry as it stands in the plan."""


def require_sound_plan(plan: Any) -> None:
    """Refuses a plan without the two modules that no session can do without."""
    if not isinstance(plan, dict):
        raise PlanTypeError(
            f"Configuration is required: a session needs a mount plan (a dict), got {type(plan).__name__}"
        )
    if not plan:
        raise ValueError("Configuration is required: the mount plan is empty")
    session = session_settings(cast("dict[str, Any]", plan))
    for kind in _DEFAULT_IDS:
        if not session.get(kind):
            raise ValueError(f"Configuration must specify session.{kind}, for example '{_DEFAULT_IDS[kind]}'")


def require_overlay(overlay: Any) -> None:
    """Refuses what cannot be merged into a plan."""
    if overlay is not None:
        _as_dict(overlay, "overlay")


def required_spec(plan: dict[str, Any], kind: str) -> ModuleSpec:
    """The orchestrator or the context of a plan, written as a dict or as an id with its config at the top level."""
    session = session_settings(plan)
    given = session.get(kind) or _DEFAULT_IDS[kind]
    path = f"session.{kind}"
    if isinstance(given, str):
        top = _dict_at(plan, kind, kind)
        return ModuleSpec(
            kind, given, session.get(f"{kind}_source"), _dict_at(top, "config", f"{kind}.config"), entry=given
        )
    entry = _as_dict(given, path)
    module_id = entry.get("module", _DEFAULT_IDS[kind])
    return ModuleSpec(
        kind, _as_id(module_id, path), entry.get("source"), _dict_at(entry, "config", f"{path}.config"), entry=entry
    )


def listed_specs(plan: dict[str, Any], kind: str) -> list[ModuleSpec]:
    """The modules of one section in order; entries that name no module are left out (see ``unnamed_entries``)."""
    section = SECTIONS[kind]
    return [
        _listed_spec(kind, entry, f"{section}[{index}]")
        for index, entry in enumerate(_list_at(plan, section))
        if not _is_unnamed(entry)
    ]


def unnamed_entries(plan: dict[str, Any], kind: str) -> list[str]:
    """Places of entries that name no module."""
    section = SECTIONS[kind]
    return [f"{section}[{index}]" for index, entry in enumerate(_list_at(plan, section)) if _is_unnamed(entry)]


def require_distinct_instances(specs: list[ModuleSpec]) -> None:
    """Refuses two entries of one provider module that cannot be told apart."""
    anonymous = [spec.module_id for spec in specs if spec.instance_id is None]
    for module_id in anonymous:
        count = anonymous.count(module_id)
        if count > 1:
            raise ValueError(
                f"Provider module '{module_id}' is listed {count} times without an instance_id; "
                "give each entry but one an instance_id of its own"
            )
    named = [spec.instance_id for spec in specs if spec.instance_id is not None]
    for instance_id in named:
        if named.count(instance_id) > 1:
            raise ValueError(
                f"The instance_id '{instance_id}' is given to {named.count(instance_id)} providers; "
                "each needs one of its own"
            )


def _listed_spec(kind: str, entry: Any, path: str) -> ModuleSpec:
    if isinstance(entry, str):
        return ModuleSpec(kind, entry, None, {}, entry=entry)
    fields = _as_dict(entry, path)
    instance_id = fields.get("instance_id")
    if instance_id is not None and (not isinstance(instance_id, str) or not instance_id):
        raise PlanTypeError(f"{path}.instance_id must be a non-empty text, got {instance_id!r:.80}")
    module_id = _as_id(fields["module"], path)
    return ModuleSpec(
        kind, module_id, fields.get("source"), _dict_at(fields, "config", f"{path}.config"), instance_id, entry
    )


def _is_unnamed(entry: Any) -> bool:
    if isinstance(entry, dict):
        return not cast("dict[str, Any]", entry).get("module")
    return entry == ""


def session_settings(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan's ``session`` section."""
    return _dict_at(plan, "session", "session")


def _dict_at(fields: dict[str, Any], key: str, path: str) -> dict[str, Any]:
    value = fields.get(key)
    return {} if value is None else _as_dict(value, path)


def _as_dict(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PlanTypeError(f"'{path}' in the mount plan must be a dict, got {type(value).__name__}")
    return cast("dict[str, Any]", value)


def _as_id(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise PlanTypeError(
            f"'{path}.module' in the mount plan must be a module id (a non-empty text), got {value!r:.80}"
        )
    return value


def _list_at(plan: dict[str, Any], section: str) -> list[Any]:
    value = plan.get(section)
    if value is None:
        return []
    if not isinstance(value, list):
        raise PlanTypeError(f"'{section}' in the mount plan must be a list of modules, got {type(value).__name__}")
    return cast("list[Any]", value)

"""What settings change in a mount plan: permissions, folders, limits, the sandbox, servers, and config by module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from amplifier.bundles.bundle import ModuleSection
from amplifier.bundles.draft import Draft, config_of
from amplifier.bundles.merge import Entry, entry_key, join_lists
from amplifier.paths import Places
from amplifier.settings import Settings
from amplifier.settings.key_paths import join_key
from amplifier.settings.origins import Origin

_APPROVAL = "hooks-approval"
_COST = "hooks-cost"
_BASH = "tool-bash"
_COMMAND_HOOKS = "hooks-shell"
_WRITERS = ("tool-filesystem", _BASH)
_READERS = ("tool-filesystem", "tool-search", _BASH)
_READ_LISTS = ("allowed_read_paths", "allowed_paths")


class _Wish(NamedTuple):
    """Config of a module that a setting stands for; ``setting`` is for those who ask why."""

    setting: str
    module: str
    config: dict[str, Any]


def apply_settings(draft: Draft, settings: Settings, places: Places) -> None:
    """Adds to ``draft`` what ``settings`` say, the config of single modules (``overrides``) last."""
    _add_modules(draft, settings)
    _set_sources(draft, settings)
    _apply_permissions(draft, settings)
    _apply_folders(draft, settings, places)
    _apply_limits(draft, settings)
    _apply_hooks(draft, settings)
    for wish in _wishes(settings):
        if not draft.configure(wish.module, wish.config, settings.origin(wish.setting)):
            _warn_unused(draft, settings, wish.setting, wish.module)
    if (raw := settings.get("session.raw")) is not None:
        draft.set_session("raw", raw, settings.origin("session.raw"))
    _apply_overrides(draft, settings)


def _wishes(settings: Settings) -> Iterator[_Wish]:
    if sandbox := settings.section("sandbox"):
        yield _Wish("sandbox", _BASH, _sandbox(sandbox))
    if env := settings.section("env"):
        yield _Wish("env", _BASH, {"env": {name: str(value) for name, value in env.items()}})
    if servers := settings.section("mcp.servers"):
        yield _Wish("mcp.servers", "tool-mcp", {"servers": servers})


def _sandbox(section: dict[str, Any]) -> dict[str, Any]:
    """The section as ``tool-bash`` has it: ``mode`` is its ``sandbox``, the other keys are the same."""
    config = {key: value for key, value in section.items() if key not in ("mode", "enabled")}
    if section.get("enabled") is False:
        return {**config, "sandbox": "off"}
    return {**config, "sandbox": section["mode"]} if "mode" in section else config


def _add_modules(draft: Draft, settings: Settings) -> None:
    sections: tuple[ModuleSection, ...] = ("tools", "hooks")
    for section in sections:
        key = f"modules.{section}"
        for entry in settings.get(key, []):
            if isinstance(entry, dict) and cast("Entry", entry).get("module"):
                draft.add(section, cast("Entry", entry), settings.origin(key))


def _set_sources(draft: Draft, settings: Settings) -> None:
    for module, source in settings.section("sources").items():
        if isinstance(source, str | dict):
            _merge_into(draft, module, {"source": cast("Any", source)}, settings.origin(join_key(("sources", module))))


def _apply_permissions(draft: Draft, settings: Settings) -> None:
    keys = [key for key in ("mode", "deny", "ask", "allow") if _is_set(settings, f"permissions.{key}")]
    if not keys:
        return
    origin = settings.origin(f"permissions.{keys[0]}")
    # Rules that nobody keeps would be worse than none: whoever wrote them relies on them.
    if draft.sections["tools"] and not draft.has("hooks", _APPROVAL):
        draft.add("hooks", {"module": _APPROVAL}, origin)
    for key in keys:
        value = settings.get(f"permissions.{key}")
        origin = settings.origin(f"permissions.{key}")
        for entry in list(draft.sections["hooks"]):
            if entry.get("module") == _APPROVAL:
                rules = value if key == "mode" else join_lists(config_of(entry).get(key) or [], value)
                draft.merge_at(("hooks", entry_key(entry)), {"config": {key: rules}}, origin)


def _apply_hooks(draft: Draft, settings: Settings) -> None:
    hooks = settings.section("hooks")
    if not hooks:
        return
    # A command that refuses calls must not be left out because a bundle does not expect it.
    if not draft.has("hooks", _COMMAND_HOOKS):
        draft.add("hooks", {"module": _COMMAND_HOOKS}, settings.origin("hooks"))
    draft.configure(_COMMAND_HOOKS, {"hooks": hooks}, settings.origin("hooks"))


def _is_set(settings: Settings, key: str) -> bool:
    return settings.get(key) not in (None, []) and settings.origin(key).scope != "default"


def _apply_folders(draft: Draft, settings: Settings, places: Places) -> None:
    key = "permissions.additional_directories"
    folders = [str(places.working_dir / Path(str(each)).expanduser()) for each in settings.get(key, [])]
    if not folders:
        return
    origin = settings.origin(key)
    for way, entry in list(draft.modules()):
        module, config = entry.get("module"), config_of(entry)
        change: dict[str, Any] = {}
        if module in _WRITERS:
            # Without a list the working directory alone may be written, and that stays so.
            change["allowed_write_paths"] = join_lists(config.get("allowed_write_paths") or ["."], folders)
        if module in _READERS:
            # Without a list everything may be read already.
            change |= {name: join_lists(config[name], folders) for name in _READ_LISTS if config.get(name) is not None}
        if change:
            draft.merge_at(way, {"config": change}, origin)


def _apply_limits(draft: Draft, settings: Settings) -> None:
    turns, budget = settings.get("limits.max_turns"), settings.get("limits.max_budget_usd")
    if turns is not None and "orchestrator" in draft.session:
        origin = settings.origin("limits.max_turns")
        draft.merge_at(("session", "orchestrator"), {"config": {"max_iterations": turns}}, origin)
    if budget is not None:
        origin = settings.origin("limits.max_budget_usd")
        draft.add("hooks", {"module": _COST, "config": {"max_cost_usd": budget}}, origin)


def _apply_overrides(draft: Draft, settings: Settings) -> None:
    for name, given in settings.section("overrides").items():
        key = join_key(("overrides", name))
        fields = cast("Entry", given) if isinstance(given, dict) else {}
        change = {field: fields[field] for field in ("source", "config") if fields.get(field) is not None}
        if not change:
            origin = settings.origin(key)
            draft.warnings.append(f"{origin.place}: {key} says nothing: expected 'config' or 'source'")
        elif not _merge_into(draft, name, change, settings.origin(key)):
            _warn_unused(draft, settings, key, name)


def _merge_into(draft: Draft, name: str, change: Entry, origin: Origin) -> bool:
    ways = [way for way, entry in draft.modules() if name in (entry.get("module"), way[1])]
    for way in ways:
        draft.merge_at(way, change, origin)
    return bool(ways)


def _warn_unused(draft: Draft, settings: Settings, key: str, module: str) -> None:
    draft.warnings.append(f"{settings.origin(key).place}: {key} does not count: {module} is not part of the bundle")

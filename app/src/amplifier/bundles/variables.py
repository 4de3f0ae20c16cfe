"""``${VAR}`` in the config of modules: replaced when a plan is made, and kept apart where it is a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier.bundles.draft import Draft, config_of, origin_near
from amplifier.bundles.merge import Entry
from amplifier.settings.expansion import Expansion

# Commands for a shell, which knows variables itself.
_AS_WRITTEN = ("hooks", "hooks-shell")


def expand_variables(draft: Draft, variables: Mapping[str, str]) -> set[str]:
    """Puts variables into what the bundle says, and gives the secrets among them; settings are expanded already."""
    expansion = Expansion(variables)
    for way, entry in list(draft.modules()):
        config = config_of(entry)
        kept = {"hooks": config["hooks"]} if way == _AS_WRITTEN and "hooks" in config else {}
        open_to_change = {key: value for key, value in config.items() if key not in kept}
        # A key whose variable is not set is left out: the module has its own default, or looks for the key itself.
        expanded = _without_missing(open_to_change, expansion.expand(open_to_change, ("plan", *way, "config")))
        if expanded != open_to_change:
            draft.replace_config(way, {**expanded, **kept})
    for path, names in expansion.missing.items():
        way = path[1:]
        told = ", ".join(f"${{{name}}}" for name in names)
        draft.warnings.append(f"{origin_near(draft, way).place}: {'.'.join(way)} names {told}, which is not set")
    return expansion.secrets


def _without_missing(written: Any, expanded: Any) -> Any:
    """``expanded`` without the keys that are nothing but a variable which is not set."""
    if not isinstance(written, dict):
        return expanded
    pairs = cast("Entry", written).items()
    return {
        key: _without_missing(value, expanded[key])
        for key, value in pairs
        if expanded[key] is not None or value is None
    }

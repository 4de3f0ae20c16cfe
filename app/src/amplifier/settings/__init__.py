"""Settings of the command: scopes of YAML files, variables and options, merged, with the origin of each value."""

from __future__ import annotations

from amplifier.settings.keys import Keys, load_keys, set_key, unset_key
from amplifier.settings.layers import flags_from
from amplifier.settings.origins import Origin
from amplifier.settings.schema import schema
from amplifier.settings.settings import Settings
from amplifier.settings.writing import Written, add_value, set_value, unset_value

__all__ = [
    "Keys",
    "Origin",
    "Settings",
    "Written",
    "add_value",
    "flags_from",
    "load_keys",
    "schema",
    "set_key",
    "set_value",
    "unset_key",
    "unset_value",
]

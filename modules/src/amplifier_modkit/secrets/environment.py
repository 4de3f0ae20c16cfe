"""Which variables of an environment hold secrets, by their names or by what is in them."""

from __future__ import annotations

from collections.abc import Mapping

from amplifier_modkit.secrets.judging import is_plain
from amplifier_modkit.secrets.names import names_secret
from amplifier_modkit.secrets.text import find_secrets


def secret_env_names(environ: Mapping[str, str]) -> frozenset[str]:
    """The names of the variables that a process with no need for secrets should not get."""
    return frozenset(
        name
        for name, value in environ.items()
        if not is_plain(value) and (names_secret(name) or bool(find_secrets(value)))
    )

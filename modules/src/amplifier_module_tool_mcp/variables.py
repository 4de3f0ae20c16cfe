"""Variables in what is written about servers: ``${NAME}`` and ``${NAME:-default}``, filled in from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

from amplifier_module_tool_mcp.errors import InvalidEntryError

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


def expanded(text: str, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """``text`` with its variables filled in, and the values that came from the environment.

    As in a shell, a default counts also for a variable that is empty. Raises ``InvalidEntryError`` with the name of a
    variable that is neither set nor has a default. What is filled in is not read again.
    """
    values: list[str] = []

    def value_of(found: re.Match[str]) -> str:
        value = environment.get(found["name"])
        if found["default"] is not None and not value:
            return found["default"]
        if value is None:
            raise InvalidEntryError(
                f"the variable {found['name']} is not set; set it, or write ${{{found['name']}:-…}} with a default"
            )
        values.append(value)
        return value

    return _VARIABLE.sub(value_of, text), values

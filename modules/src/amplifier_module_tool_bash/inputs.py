"""What a model gives the tools, read with care: schemas are not always obeyed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amplifier_modkit.shell.terms import MAX_CHARS
from amplifier_module_tool_bash.problems import InputError


@dataclass(frozen=True, slots=True)
class BashInput:
    """The input of ``bash``; without ``timeout_s`` the configured time counts."""

    command: str
    timeout_s: float | None
    is_background: bool


def read_input(given: Mapping[str, Any]) -> BashInput:
    """The input of a call; raises ``InputError``."""
    return BashInput(command_in(given), _timeout_in(given), flag_in(given, "run_in_background"))


def command_in(given: Mapping[str, Any]) -> str:
    """The command, which can be given to a shell."""
    command = given.get("command")
    if not isinstance(command, str) or not command.strip():
        raise InputError("'command' must be text with a shell command in it.")
    if "\0" in command or len(command) > MAX_CHARS:
        raise InputError(
            f"'command' must be at most {MAX_CHARS:,} characters, none of them NUL. Write a script to a file, run that."
        )
    try:
        command.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"'command' is not valid text at character {error.start}.") from error
    return command


def flag_in(given: Mapping[str, Any], key: str) -> bool:
    """The truth under ``key``, which may be left out."""
    value = given.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"'{key}' must be true or false.")
    return bool(value)


def _timeout_in(given: Mapping[str, Any]) -> float | None:
    value = given.get("timeout")
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise InputError("'timeout' must be a number of seconds above 0.")
    return min(float(value), 1e9)

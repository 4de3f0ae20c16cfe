"""The command ``amplifier-core``: validates modules and starts new ones.

It needs click, which the kernel does not: ``pip install 'amplifier-core[cli]'``. This file imports without it, so that
the command can say so.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amplifier_core._commands import cli, list_types, new, print_result, validate
    from amplifier_core.validation.kinds import VALIDATORS

__all__ = ["VALIDATORS", "cli", "list_types", "main", "new", "print_result", "validate"]

_WITHOUT_CLICK = "amplifier-core: error: this command needs click; install it with: pip install 'amplifier-core[cli]'\n"


def main() -> None:
    """Runs the command and ends the process: 0 all is well, 1 the module is not valid, 2 it could not be tried."""
    try:
        commands = import_module("amplifier_core._commands")
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.stderr.write(_WITHOUT_CLICK)
        sys.exit(2)
    commands.cli(prog_name="amplifier-core")


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("amplifier_core._commands"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

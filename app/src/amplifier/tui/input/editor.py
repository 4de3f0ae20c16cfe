"""The user's editor, for a file."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from amplifier.problems import Problem

_USUAL = "vi"


def edit_file(path: Path) -> None:
    """Opens a file in ``$VISUAL`` or ``$EDITOR``, and waits for its end; raises ``Problem`` where that fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _USUAL
    hint = "Name another one in $EDITOR."
    try:
        code = subprocess.call([*shlex.split(editor), str(path)])
    except (OSError, ValueError) as error:
        raise Problem(f"The editor '{editor}' cannot be started: {error}.", hint) from None
    if code != 0:
        raise Problem(f"The editor '{editor}' ended with code {code}.", hint)

"""What a file was before a tool changes it, handed to the application, which may keep it and bring it back.

The application offers the capability ``files.checkpoint``, a function that is called right before each change, in
whatever thread makes it. Contents do not travel in events: those are logged, and shown to everybody who listens.
"""

from __future__ import annotations

import logging
import os
import stat
from typing import Any

from amplifier_modkit.paths.errors import naming
from amplifier_modkit.paths.walk import Place

CHECKPOINT = "files.checkpoint"
WHOLE_BYTES = 8 << 20
"""Files up to this size are read whole, so that their content can be remembered."""

logger = logging.getLogger(__name__)


def former_content(place: Place) -> bytes | None:
    """The content of the file that is to be overwritten; ``None`` if there is none, or too much of it."""
    if place.facts is None or place.facts.st_size > WHOLE_BYTES:
        return None
    with naming(str(place.path)):
        descriptor, _ = place.folder.open_file(place.name)
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(WHOLE_BYTES + 1)
    # It may have grown since it was looked at.
    return data if len(data) <= WHOLE_BYTES else None


def checkpoint(coordinator: Any, place: Place, before: bytes | None, after: bytes | None) -> None:
    """Tells that the file at a place is about to be changed from ``before`` to ``after``.

    ``before`` is ``None`` where there is no file, or more of it than is read at once; ``after`` where it is removed.
    Keeping is a service: what goes wrong there does not stop the work.
    """
    keep = coordinator.get_capability(CHECKPOINT)
    if keep is None:
        return
    mode = None if place.facts is None else stat.S_IMODE(place.facts.st_mode)
    try:
        keep(str(place.path), before, after, mode)
    except Exception:
        logger.exception("%s is changed without a checkpoint", place.path)

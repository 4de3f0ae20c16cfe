"""What can keep a child session from being started."""

from __future__ import annotations


class SpawnError(RuntimeError):
    """A child session cannot be started or resumed; the text says why, and what there is instead."""

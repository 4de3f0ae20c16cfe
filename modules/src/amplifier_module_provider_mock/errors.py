"""What a script may be blamed for: that it cannot be read, or that a conversation goes otherwise than it says."""

from __future__ import annotations


class ScriptFormatError(ValueError):
    """A script that cannot be played: it names file or list, the number of the entry, and the key that is wrong."""


class ScriptError(AssertionError):
    """A conversation that left the script: an expectation that fails, a template without a value, no answer left."""

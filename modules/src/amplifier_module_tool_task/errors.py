"""Why a task is not begun."""

from __future__ import annotations


class RefusedError(Exception):
    """A task is not begun; the text tells the model why, and what it can do instead."""

    def __init__(self, message: str, kind: str = "invalid_input") -> None:
        super().__init__(message)
        self.kind = kind

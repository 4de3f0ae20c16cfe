"""Errors told in text: exceptions come from foreign code, and even reading their message may fail."""

from __future__ import annotations


def error_text(error: BaseException) -> str:
    """The message of an exception; its ``repr`` where making the text raises, as with some undecodable messages."""
    try:
        return str(error)
    except Exception:
        return _shown(error)


def describe_error(error: BaseException) -> str:
    """Type and message of an exception, for logs, reasons and reports."""
    return f"{type(error).__name__}: {error_text(error)}"


def _shown(error: BaseException) -> str:
    try:
        return repr(error)
    except Exception:
        return "(its message cannot be read)"

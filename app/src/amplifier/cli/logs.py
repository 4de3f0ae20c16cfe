"""What the program's parts log, on standard error: failures as lines, more with ``--verbose``, all with ``--debug``."""

from __future__ import annotations

import logging


class _OneLine(logging.Formatter):
    """A record without its traceback: what failed is told, where it failed is for those who ask."""

    def format(self, record: logging.LogRecord) -> str:
        from amplifier.console.plain import one_line

        return f"amplifier: {record.levelname.lower()}: {one_line(record.getMessage(), 500)}"


class _Everything(logging.Formatter):
    """A record with all there is to it, and nothing that would steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        from amplifier.console.plain import harmless

        return harmless(super().format(record))


def configure_logging(*, is_verbose: bool, is_debug: bool) -> None:
    """Sets up the root logger of this process, once."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Everything("%(asctime)s %(levelname)s %(name)s: %(message)s") if is_debug else _OneLine())
    if not is_debug:
        handler.addFilter(_is_not_told_otherwise)
    logging.basicConfig(level=_level(is_verbose, is_debug), handlers=[handler])


def _is_not_told_otherwise(record: logging.LogRecord) -> bool:
    """Leaves out what the outcome of a turn tells with a hint."""
    return not (record.name == "amplifier_core.session" and str(record.msg).startswith("Execution failed"))


def _level(is_verbose: bool, is_debug: bool) -> int:
    if is_debug:
        return logging.DEBUG
    return logging.WARNING if is_verbose else logging.ERROR

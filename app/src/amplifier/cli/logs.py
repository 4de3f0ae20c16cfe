"""What the program's parts log, on standard error: failures as lines, more with ``--verbose``, all with ``--debug``.

In a chat the conversation is on the screen: all of the log goes into a file there, and only with ``--debug``.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_MOST_BYTES = 8 << 20
# Loggers and the beginnings of their messages. The second half is told by a chat when it opens a session, and as the
# result of the call that started an agent.
_TOLD_BY_OUTCOME = (("amplifier_core.session", "Execution failed"),)
_TOLD_BY_CHAT = (
    *_TOLD_BY_OUTCOME,
    ("amplifier_core._session_init", "Failed to load"),
    ("amplifier_core.loader", "Failed to "),
    ("amplifier_core.loader", "%s"),
    ("amplifier_module_tool_task", "Agent '"),
)


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
    handler.setFormatter(_Everything(_FORMAT) if is_debug else _OneLine())
    if not is_debug:
        handler.addFilter(lambda record: not _is_told(record, _TOLD_BY_OUTCOME))
    logging.basicConfig(level=_level(is_verbose, is_debug), handlers=[handler])


def configure_chat_logging(file: Path, *, is_verbose: bool, is_debug: bool) -> str | None:
    """Sets up the root logger for a chat, once; gives what is to be said about the log, if anything is."""
    shown = logging.StreamHandler()
    shown.setFormatter(_OneLine())
    shown.setLevel(_level(is_verbose, False))
    shown.addFilter(lambda record: not _is_told(record, _TOLD_BY_CHAT))
    handlers: list[logging.Handler] = [shown]
    note = None
    if is_debug:
        try:
            handlers.append(_into(file))
            note = f"the log is written to {file}"
        except OSError as error:
            note, is_debug = f"the log cannot be written to {file}: {error.strerror}", False
    logging.basicConfig(level=_level(is_verbose, is_debug), handlers=handlers)
    return note


def _into(file: Path) -> logging.Handler:
    from logging.handlers import RotatingFileHandler

    file.parent.mkdir(parents=True, exist_ok=True)
    _make_private(file)
    handler = RotatingFileHandler(file, "a", _MOST_BYTES, 1, "utf-8", delay=True, errors="backslashreplace")
    handler.setFormatter(_Everything(_FORMAT))
    handler.rotator = _begin_anew
    return handler


def _make_private(file: str | Path) -> None:
    # What is logged may be private; the file is made before anything is in it.
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600))


def _begin_anew(file: str, former: str) -> None:
    os.rename(file, former)  # noqa: PTH104 - the handler has names, and pathlib is not needed here otherwise
    _make_private(file)


def _is_told(record: logging.LogRecord, otherwise: tuple[tuple[str, str], ...]) -> bool:
    """Whether a record says what is told in another way, with a hint."""
    message = str(record.msg)
    return any(
        message.startswith(beginning) and (record.name == name or record.name.startswith(f"{name}."))
        for name, beginning in otherwise
    )


def _level(is_verbose: bool, is_debug: bool) -> int:
    if is_debug:
        return logging.DEBUG
    return logging.WARNING if is_verbose else logging.ERROR

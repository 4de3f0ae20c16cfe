"""Scripts and code that come from files and from standard input."""

from __future__ import annotations

import re

from amplifier_modkit.shell.commands import Mark
from amplifier_modkit.shell.contents import Case
from amplifier_modkit.shell.places import normal
from amplifier_modkit.shell.programs import Form
from amplifier_modkit.shell.words import Kind, Word, static

# Names of standard input and of other streams, from whatever folder.
_STREAM = re.compile(r"-|/dev/.*|/proc/.*|(?:.*/)?(?:stdin|tty|\d+)", re.DOTALL)
# Lines that are complete, of commands that leave standard input alone.
_READS_NOTHING = re.compile(
    r"\s*(?:#.*|(?:cd|chmod|cp|date|echo|exit|export|ls|mkdir|mv|printf|pwd|rm|set|sleep|test|touch|true|which|whoami)"
    r"(?:\s+[\w./:=,@%+*?~-]+|\s+'[^']*')*\s*)"
)


def run_file(case: Case, file: Word) -> None:
    """Notes that a file of code is run."""
    if is_stream(file) or any(piece.kind is Kind.PROCESS for piece in file.pieces):
        case.mark(Mark.OPAQUE)
    elif file.known_start.startswith("data:"):
        case.mark(Mark.RUNS_CODE)
    elif file.is_static:
        case.mark(Mark.RUNS_FILE)
    else:
        case.mark(Mark.UNSURE if case.program.by_input == "code" else Mark.OPAQUE)


def is_stream(file: Word) -> bool:
    """Whether a path is standard input, or another stream."""
    return _STREAM.fullmatch(normal(file.text)) is not None


def run_input(case: Case) -> None:
    """Notes that standard input is run, if the program does that."""
    feed = case.command.feed
    kind = case.program.by_input
    if kind == "script" or (case.program.form is Form.FILE and not kind):
        if feed is None or feed.text is None or not _is_run_whole(feed.text):
            case.mark(Mark.OPAQUE)
            case.contents.guessed_scripts += [feed.guess] if feed is not None and feed.guess else []
            return
        case.mark(Mark.WRAPPER)
        case.script(static(feed.text))
    elif kind and feed is not None:
        case.mark(Mark.RUNS_CODE)


def _is_run_whole(text: str) -> bool:
    """Whether a shell runs all of a text that it reads line by line.

    Commands of the text read from the same place, and what one of them takes away is not read as the text that it was.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) < len("ab") or all(_READS_NOTHING.fullmatch(line) for line in lines)

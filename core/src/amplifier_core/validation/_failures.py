"""What went wrong in foreign code, told in one sentence that says what to change; never a traceback."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from amplifier_core._awaiting import TimeLimitError, is_cancellation, task_is_being_cancelled
from amplifier_core._error_text import describe_error
from amplifier_core.validation._time_limit import Interruption

_LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Culprit:
    """A piece of foreign code under a time limit: what it is called, and where its files are."""

    name: str
    limit_s: float
    folder: Path | None = None
    if_slow: str = "give what it waits for a time limit of its own"

    def told(self, error: BaseException) -> str:
        """What ``error`` means and how to avoid it."""
        if isinstance(error, SystemExit):
            return f"{self.name} calls sys.exit({error.code!r:.100}), which ends the whole application; raise an error"
        if isinstance(error, TimeLimitError | Interruption):
            return f"{self.name} did not end within {self.limit_s:g} s; {self.if_slow}"
        text = _syntax(error) if isinstance(error, SyntaxError) else describe_error(error).removesuffix(": ")
        if len(text) > _LONGEST_TEXT:
            text = text[:_LONGEST_TEXT] + "…"
        return f"{text}{self._place(error)}"

    def _place(self, error: BaseException) -> str:
        """The last line of the culprit's own files that the error went through; syntax errors say it themselves."""
        if self.folder is None or isinstance(error, SyntaxError):
            return ""
        own = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        places = [(file, line) for file, line in own if file.startswith(str(self.folder))]
        return f" ({places[-1][0]}, line {places[-1][1]})" if places else ""


def is_for_caller(error: BaseException) -> bool:
    """Whether an error is a request to stop the whole validation, and no failure of the code being tried."""
    if is_cancellation(error):
        return task_is_being_cancelled()
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def _syntax(error: SyntaxError) -> str:
    hint = "; save the file as UTF-8" if "utf-8" in str(error.msg).lower() else ""
    place = f" ({error.filename}, line {error.lineno})" if error.filename else ""
    return f"{type(error).__name__}: {error.msg}{place}{hint}"

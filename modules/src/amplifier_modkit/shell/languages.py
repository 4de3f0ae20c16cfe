"""Programs in small languages: which of them can do no more than read and print."""

from __future__ import annotations

import re
from collections.abc import Callable

from amplifier_modkit.shell.environment import changes_libraries, changes_programs

_LONGEST = 10_000
# Reads a command's output, pipes into one, calls a function by its name, or loads something.
_AWK_REACHES_OUT = re.compile(r"system|(?<!\|)\|(?!\|)|getline|@|close")
_WRITES = re.compile(r">(?!=)")
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*+/I?)"
_SED_ADDRESSES = rf"\s*+(?:{_SED_ADDRESS}(?:\s*+,\s*+(?:[+~]?\d+|{_SED_ADDRESS}))?)?\s*+!?\s*+"
_SED_COMMAND = re.compile(
    rf"{_SED_ADDRESSES}(?:"
    r"s(?P<mark>[/|#,:@!%_+~^])(?:(?!(?P=mark))[^\\\n]|\\.)*+(?P=mark)(?:(?!(?P=mark))[^\\\n]|\\.)*+(?P=mark)[gpiI\d]*+"
    r"|y/(?:[^/\\\n]|\\.)*+/(?:[^/\\\n]|\\.)*+/"
    r"|[aic]\\?[ \t]?[^\n\\]*+(?=\n|$)"
    r"|[dDgGhHnNpPqxz=lQ]\d*+|[{}]|)\s*+(?:[;\n]|(?<=[{\s;])|(?=\})|$)",
    re.DOTALL,
)
_SQL_REACHES_OUT = re.compile(
    r"\\!|^[ \t]*+[.\\]|\bprogram\b|\bsystem\b|load_extension|writefile|\bcopy\b", re.IGNORECASE | re.MULTILINE
)
_MODULE = re.compile(r"-?[\w:]+(?:=[\w:,]+)?")
_MAKE_REACHES_OUT = re.compile(r"[$`]|^\.?SHELL\b")


def _awk(text: str) -> bool:
    _, prints, behind = text.partition("print")
    return not _AWK_REACHES_OUT.search(text) and not (prints and _WRITES.search(behind))


def _sed(text: str) -> bool:
    position = 0
    while position < len(text):
        found = _SED_COMMAND.match(text, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
    return True


def _sql(text: str) -> bool:
    return not _SQL_REACHES_OUT.search(text)


def _make(text: str) -> bool:
    name, sign, _ = text.partition("=")
    is_program = bool(sign) and (changes_programs(name, None) or changes_libraries(name))
    return not is_program and not _MAKE_REACHES_OUT.search(text)


def _module(text: str) -> bool:
    return _MODULE.fullmatch(text) is not None


_CHECKS: dict[str, Callable[[str], bool]] = {"awk": _awk, "sed": _sed, "sql": _sql, "make": _make, "module": _module}


def is_harmless(language: str, text: str) -> bool:
    """Whether a program can do no more than read and print; in doubt it can."""
    return len(text) <= _LONGEST and _CHECKS[language](text)

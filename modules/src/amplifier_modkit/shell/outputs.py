"""What commands print, where their words tell it: ``echo sudo`` prints ``sudo``, ``wc -l`` prints a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from amplifier_modkit.shell.drafts import Draft

# What each prints with these words is one number and nothing else. A file name among the words would be printed too.
_NUMBERS = {
    "wc": re.compile(r"-[lcwm]"),
    "nproc": re.compile(r"(?:--all)?"),
    "date": re.compile(r"\+%s(?:%N)?|\+%[YmdHMS]"),
    "id": re.compile(r"-[ug]"),
    "seq": re.compile(r"-?\d+"),
}
_DIRECTIVE = re.compile(r"%[%sbd]")
_ECHO_OPTION = re.compile(r"-[neE]+")
_ESCAPE = re.compile(r"\\.?", re.DOTALL)
# The escapes that mean the same to every shell's echo and printf.
_COMMON_ESCAPES = {f"\\{char}": text for char, text in zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True)}


def is_number(drafts: Sequence[Draft]) -> bool:
    """Whether ``drafts`` can only print a number: one command, or one pipeline that ends in such a command."""
    if not drafts or any(later.input != (earlier,) for earlier, later in pairwise(drafts)):
        return False
    last = drafts[-1]
    values = [word.value for word in last.words]
    pattern = _NUMBERS.get(values[0] or "") if values else None
    if pattern is None or last.assignments or any(each.op != "<" or each.fd for each in last.redirections):
        return False
    return all(value is not None and pattern.fullmatch(value) for value in values[1:] or [""])


def known_output(drafts: Sequence[Draft]) -> str | None:
    """What ``drafts`` print; ``None`` if that is not known."""
    if len(drafts) != 1 or not drafts[0].words or drafts[0].assignments:
        return None
    draft = drafts[0]
    values = [word.value for word in draft.words]
    printed = PRINTERS.get(values[0] or "")
    arguments = [value for value in values[1:] if value is not None]
    if (
        printed is None
        or len(arguments) != len(values) - 1
        or any(each.access == "write" for each in draft.redirections)
    ):
        return None
    return printed(arguments, _input_text(draft))


def _input_text(draft: Draft) -> str | None:
    bodies = [each.body for each in draft.redirections if each.is_input]
    return bodies[-1].value if bodies and bodies[-1] is not None else None


def _echo(arguments: list[str], _: str | None) -> str | None:
    rest = list(arguments)
    options = ""
    while rest and _ECHO_OPTION.fullmatch(rest[0]):
        options += rest.pop(0)
    text = " ".join(rest)
    # Without the option some shells decode escapes and others do not.
    return text if "\\" not in text else _decoded(text) if "e" in options and "E" not in options else None


def _printf(arguments: list[str], _: str | None) -> str | None:
    if not arguments or arguments[0].startswith("-"):
        return None
    given = list(arguments[1:])
    texts = [_decoded(text) for text in _DIRECTIVE.split(arguments[0])]
    directives = _DIRECTIVE.findall(arguments[0])
    if any(text is None or "%" in text for text in texts):
        return None
    printed: list[str | None] = []
    while True:
        for text, directive in zip(texts, [*directives, ""], strict=True):
            printed += [text, _directive(directive, given)]
        if not given or set(directives) <= {"%%"}:
            known = [text for text in printed if text is not None]
            return "".join(known) if len(known) == len(printed) else None


def _directive(directive: str, given: list[str]) -> str | None:
    if directive in ("", "%%"):
        return directive[:1]
    text = given.pop(0) if given else ""
    if directive == "%d":
        return text if text.isdigit() else None
    return text if directive == "%s" else _decoded(text)


def _decoded(text: str) -> str | None:
    """``text`` without its escapes; ``None`` if it has one that not every shell reads in the same way."""
    if not set(_ESCAPE.findall(text)) <= set(_COMMON_ESCAPES):
        return None
    return _ESCAPE.sub(lambda found: _COMMON_ESCAPES[found[0]], text)


def _cat(arguments: list[str], text: str | None) -> str | None:
    return text if not arguments or arguments == ["-"] else None


PRINTERS: dict[str, Callable[[list[str], str | None], str | None]] = {"echo": _echo, "printf": _printf, "cat": _cat}
TRUSTED_PROGRAMS = frozenset(_NUMBERS) | frozenset(PRINTERS)
"""Programs whose output is taken as known; a function of that name would break it."""

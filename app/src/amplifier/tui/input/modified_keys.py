"""Keys that old terminals cannot tell from others, such as Shift+Enter: asked for, and read as what they stand for.

Terminals report them in two ways if they are asked to: xterm's (``modifyOtherKeys``) and kitty's. Both then report
other keys anew as well, among them Esc and Ctrl-C; so everything is put back into what terminals have always sent,
before anybody reads it. What is pasted is no keys, whatever it looks like, and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.output import Output

ON, OFF = "\x1b[>4;1m\x1b[>1u", "\x1b[<u\x1b[>4m"
_XTERM = re.compile(r"\x1b\[27;(?P<modifiers>\d{1,4});(?P<code>\d{1,7})~")
_KITTY = re.compile(r"\x1b\[(?P<code>\d{1,7})(?::[\d:]*)?(?:;(?P<modifiers>\d{0,4})(?::\d*)?(?:;[\d:]*)?)?u")
# R is left out: it ends the answer to where the cursor is.
_NAMED = re.compile(r"\x1b\[(?P<number>\d{1,3});(?P<modifiers>\d{1,4})(?::\d*)?(?P<end>[A-FHPQS~])")
_BEGUN = re.compile(r"\x1b(?:\[[\d;:]*)?\Z")
_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"

_SHIFT, _ALT, _CTRL = 1, 2, 4
_HELD = _SHIFT | _ALT | _CTRL
_LOCKS = 64 | 128
_ENTER, _TAB, _ESCAPE, _DELETE = 13, 9, 27, 127
_KEYPAD = {
    57414: "\r", 57417: "\x1b[D", 57418: "\x1b[C", 57419: "\x1b[A", 57420: "\x1b[B", 57421: "\x1b[5~",
    57422: "\x1b[6~", 57423: "\x1b[H", 57424: "\x1b[F", 57425: "\x1b[2~", 57426: "\x1b[3~",
}  # fmt: skip
_CONTROLS = {" ": "@", "/": "_"}
_PRIVATE = range(0xE000, 0xF900)


def as_ever(data: str) -> str:
    """``data`` with every key as terminals have always sent it; a key that has no such form is left out.

    Shift+Enter and Ctrl+Enter become Ctrl-J, which begins another line.
    """
    if "\x1b[" not in data:
        return data
    for pattern in (_XTERM, _KITTY):
        data = pattern.sub(lambda found: _key(int(found["code"]), _held(found["modifiers"])), data)
    return _NAMED.sub(_named, data)


def _held(modifiers: str | None) -> int:
    """Which keys are held, without those that are locked; the code is one more than their sum."""
    return (int(modifiers or 1) - 1) & ~_LOCKS


def _named(found: re.Match[str]) -> str:
    """An arrow or the like: as it is, unless a lock is reported with it."""
    held, end = _held(found["modifiers"]), found["end"]
    if held == int(found["modifiers"]) - 1:
        return found[0]
    if held & ~_HELD:
        return ""
    if held:
        return f"\x1b[{found['number']};{held + 1}{end}"
    return f"\x1b[{found['number']}~" if end == "~" else f"\x1bO{end}" if end in "PQS" else f"\x1b[{end}"


def _key(code: int, held: int) -> str:
    if held & ~_HELD:
        return ""
    special = _special(code, held)
    if special is not None:
        return special
    if code in _PRIVATE or code > 0x10FFFF or not chr(code).isprintable():
        return ""
    char = chr(code).upper() if held & _SHIFT else chr(code)
    if held & _CTRL:
        char = _control(char)
    return f"\x1b{char}" if held & _ALT and char else char


def _special(code: int, held: int) -> str | None:
    """A key that is no character; ``None`` for others."""
    alt = "\x1b" if held & _ALT else ""
    if code == _ENTER:
        return "\n" if held & (_SHIFT | _CTRL) else f"{alt}\r"
    if code == _TAB:
        return "" if held & _CTRL else "\x1b[Z" if held & _SHIFT else f"{alt}\t"
    if code in (_DELETE, 8):
        return "\x17" if held & _CTRL else f"{alt}\x7f"
    return "\x1b" if code == _ESCAPE else _KEYPAD.get(code)


def _control(char: str) -> str:
    """What Ctrl makes of a character; nothing where there is no such key."""
    upper = _CONTROLS.get(char, char.upper())
    return chr(ord(upper) & 0x1F) if len(upper) == 1 and "@" <= upper <= "_" else ""


class Parser:
    """Puts keys back before a parser reads them; what may be the middle of a report waits for its end."""

    def __init__(self, parser: Vt100Parser) -> None:
        self._parser = parser
        self._begun = ""
        self._is_pasting = False

    def feed(self, data: str) -> None:
        """Takes what was typed."""
        whole = self._begun + data
        begun = _BEGUN.search(whole)
        end = len(whole) if begun is None else begun.start()
        self._begun = whole[end:]
        self._pass_on(whole[:end])

    def flush(self) -> None:
        """Nothing more comes: what waits is what it is. Of a paste more comes, until its end."""
        if not self._is_pasting:
            begun, self._begun = self._begun, ""
            self._parser.feed(begun)
        self._parser.flush()

    def _pass_on(self, data: str) -> None:
        while data:
            # A report in a paste could become the mark of its end, and what follows would be keys.
            mark = _PASTE_END if self._is_pasting else _PASTE
            part, found, data = data.partition(mark)
            self._parser.feed((part if self._is_pasting else as_ever(part)) + found)
            self._is_pasting ^= bool(found)


@contextmanager
def keys_as_ever(terminal_in: Input) -> Generator[None]:
    """Has the keys of a terminal put back; terminals of other kinds are left alone."""
    if not isinstance(terminal_in, Vt100Input):
        yield
        return
    before = terminal_in.vt100_parser
    terminal_in.vt100_parser = cast("Vt100Parser", Parser(before))
    try:
        yield
    finally:
        terminal_in.vt100_parser = before


class _Asking:
    """An output that asks for the reports whenever it is drawn on, and takes that back whenever it is not."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)

    # Pastes are marked for just as long as the terminal is ours: not while an editor, or the shell, has it.

    def enable_bracketed_paste(self) -> None:
        self._output.enable_bracketed_paste()
        self._output.write_raw(ON)

    def disable_bracketed_paste(self) -> None:
        self._output.write_raw(OFF)
        self._output.disable_bracketed_paste()


def asking_for_keys(output: Output) -> Output:
    """``output``, with which the terminal is asked to tell more keys apart."""
    return cast("Output", _Asking(output))

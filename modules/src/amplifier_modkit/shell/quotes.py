"""What escapes stand for: in ANSI-C quotes, and in the texts that ``echo -e`` and ``printf`` print."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    rb"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})"
    rb"|U(?P<long>[0-9A-Fa-f]{1,8})|c(?P<control>[\x00-\x7f])|(?P<named>[abeEfnrtv\\'\"?]))",
    re.DOTALL,
)
_NAMED = dict(zip(b"abeEfnrtv\\'\"?", b"\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_LAST_CODE_POINT = 0x10FFFF


def decode_escapes(text: str) -> str | None:
    """``text`` with its escapes replaced; ``None`` where shells differ in what they make of it."""
    if "\\x{" in text:
        return None
    data = _ESCAPE.sub(_decoded, text.encode("utf-8", "surrogatepass"))
    # A shell's strings end at the first NUL.
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def _decoded(escape: re.Match[bytes]) -> bytes:
    kind = escape.lastgroup or ""
    found = escape[kind]
    if kind == "named":
        return bytes([_NAMED[found[0]]])
    if kind == "control":
        return bytes([found[0] & 0x1F])
    if kind in ("octal", "hex"):
        return bytes([int(found, 8 if kind == "octal" else 16) & 0xFF])
    code_point = int(found, 16)
    return chr(code_point).encode("utf-8", "surrogatepass") if code_point <= _LAST_CODE_POINT else b"?"

"""Bytes as text: by the mark at their beginning, by what the server or the page declares, else by guessing.

Only encodings that web pages use are known. Python has others which are no encodings of text at all.
"""

from __future__ import annotations

import re

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_META = re.compile(
    rb"<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE
)
_META_BYTES = 4096
_SAMPLE_BYTES = 32_768

_SAME = (
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "koi8-r",
    "koi8-u",
    "gb18030",
    "big5",
    "euc-jp",
    "iso-2022-jp",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
)
# As browsers read them: a superset where people write the name of the smaller set.
_CODECS = {name.replace("_", "-"): name for name in _SAME} | {
    "utf8": "utf-8",
    "us-ascii": "windows-1252",
    "ascii": "windows-1252",
    "latin1": "windows-1252",
    "latin-1": "windows-1252",
    "iso-8859-1": "windows-1252",
    "iso8859-1": "windows-1252",
    "cp1252": "windows-1252",
    "cp1251": "windows-1251",
    "iso-8859-9": "windows-1254",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "windows-31j": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5-hkscs": "big5hkscs",
    "euc-kr": "cp949",
    "ks-c-5601-1987": "cp949",
    "windows-874": "cp874",
    "tis-620": "cp874",
    "ibm866": "cp866",
    "macintosh": "mac-roman",
}


def to_text(data: bytes, declared: str | None = None, *, is_marked_up: bool = False) -> str:
    """``data`` as text; what cannot be read is replaced. ``is_marked_up`` says that the text may tell its encoding."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    named = _codec(declared) or (_codec_in_markup(data) if is_marked_up else None)
    if named is not None:
        return data.decode(named, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A body that was cut within a character is UTF-8 for all that.
        codec = "utf-8" if error.end >= len(data) and len(data) - error.start < 4 else _guess(data)
        return data.decode(codec, "replace")


def _codec(name: str | None) -> str | None:
    return _CODECS.get((name or "").strip().lower().replace("_", "-"))


def _codec_in_markup(data: bytes) -> str | None:
    found = _META.search(data[:_META_BYTES])
    codec = _codec(found[1].decode("ascii")) if found else None
    # Whoever could read the declaration did not read two bytes per character.
    return "utf-8" if codec is not None and codec.startswith("utf-16") else codec


def _guess(data: bytes) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "windows-1252"
    best = from_bytes(data[:_SAMPLE_BYTES]).best()
    return best.encoding if best is not None else "windows-1252"

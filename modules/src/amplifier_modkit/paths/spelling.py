"""From the text that somebody wrote to an absolute path, without asking the file system; links stay as they are."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

from amplifier_modkit.paths.errors import InvalidPathError

MOST_BYTES = 4096
"""What operating systems take as one path."""

# Characters that some file systems leave out when they compare names.
_IGNORABLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
# Windows ignores dots and spaces at the end of a name, and what follows a colon names a stream of the same file.
_TAIL_OF_NAME = re.compile(r"(?:[. ]+|[. ]*:[^/]*)(?=/|$)")


def absolute(path: str | os.PathLike[str], working_dir: Path) -> str:
    """The path with its ``~`` filled in, and ``working_dir`` in front of one that is relative.

    ``..`` is left in place: what it leads to depends on links. Raises ``InvalidPathError`` for what is no path.
    """
    text = os.fspath(path)
    _require_path(text)
    return os.path.join(working_dir, os.path.expanduser(text))  # noqa: PTH111, PTH118 - Path() would raise for ~nobody


def parts_of(path: str) -> tuple[str, list[str]]:
    """The root of an absolute path and the names below it, ``..`` included."""
    split = Path(path)
    # Two slashes in front are a root of their own to pathlib, and to no system we know.
    return (os.sep if os.name == "posix" else split.anchor), list(split.parts[1:])


def fold(path: str) -> str:
    """What is equal for paths that some file system takes for the same: another case, composition or ending.

    Denials compare folded paths, so that they hold on every file system. Where that is more than one file, all are
    denied.
    """
    text = path.replace(os.sep, "/").casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFC", _IGNORABLE.sub("", text))
    has_tail = ":" in text or "./" in text or " /" in text or text.endswith((".", " "))
    return _TAIL_OF_NAME.sub("", text) if has_tail else text


def is_within(path: str, root: str, separator: str = os.sep) -> bool:
    """Whether ``path`` is ``root`` or below it; both are resolved."""
    return path == root or path.startswith(root if root.endswith(separator) else root + separator)


def _require_path(text: str) -> None:
    if not text:
        raise InvalidPathError(text, "is empty")
    if "\0" in text:
        raise InvalidPathError(text, "holds a NUL character")
    try:
        size = len(os.fsencode(text))
    except UnicodeEncodeError as error:
        raise InvalidPathError(text, "holds half a character (a lone surrogate)") from error
    if size > MOST_BYTES:
        raise InvalidPathError(text, f"has {size} bytes, and {MOST_BYTES} are the most a path may have")

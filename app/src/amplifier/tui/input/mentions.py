"""``@path`` in what a user says: the file goes along with it. The user may name any file; the files name no others."""

from __future__ import annotations

import re
from pathlib import Path

from amplifier.bundles.mentions import Reader

_MENTION = re.compile(r'(?<![\w@/.:])@(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[\w~./+-]*[\w/]))')
_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_MOST_NAMES = 200


def with_mentioned(text: str, working_dir: Path) -> tuple[str, list[str]]:
    """``text`` with the files and folders behind it that it mentions, and what is to be said about them."""
    reader = Reader({})
    blocks: list[str] = []
    for found in dict.fromkeys(each["quoted"] or each["bare"] for each in _MENTION.finditer(text)):
        path = working_dir / Path(found).expanduser()
        block = _block(found, path, reader)
        if block is not None:
            blocks.append(block)
    return "\n\n".join([text, *blocks]), reader.warnings


def _block(name: str, path: Path, reader: Reader) -> str | None:
    try:
        if path.is_dir():
            names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir())
            more = [f"… and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
            return _tagged("folder", name, "\n".join([*names[:_MOST_NAMES], *more]))
        if not path.is_file():
            return None
    except OSError as error:
        reader.warnings.append(f"{path}: cannot be read: {error.strerror}")
        return None
    if path.suffix.lower() in _IMAGES:
        reader.warnings.append(f"{path}: an image is not sent along; the agent gets its path")
        return None
    passage = reader.read_file(path, ())
    return None if passage is None else _tagged("file", name, passage.text)


def _tagged(tag: str, name: str, text: str) -> str:
    return f'<{tag} path="{name}">\n{text}\n</{tag}>'

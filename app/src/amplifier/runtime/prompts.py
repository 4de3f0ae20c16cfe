"""What a user says, on its way to the model: the files, folders and images that it mentions go along with it.

``@path``, ``@"a path"`` and ``@a\\ path`` mention a file; so does a line that is nothing but the paths of images, as
terminals write files that are dropped on them. The user may name any file; the files name no others.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from amplifier.bundles.mentions import Reader
from amplifier.problems import UsageProblem
from amplifier.runtime.images import Image, image_at, is_image, require_room

_MENTION = re.compile(
    r"(?<![\w@/.:])@(?:\"(?P<double>[^\"\n]+)\"|'(?P<single>[^'\n]+)'"
    r"|(?P<bare>(?:[\w~./+-]|\\[^\n])*(?:[\w/]|\\[^\n])))"
)
_ESCAPED = re.compile(r"\\(.)")
_BARE = re.compile(r"[\w~./+-]*[\w/]")
_NAMED_AS_IMAGE = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".ico"}
)
_WENT_ALONG = re.compile(r'\n\n<(?:(?:file|folder|image) path="|command line="|remember>|changed_by_user>|stdin>)')
_MOST_NAMES = 200

Part = str | Image


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: text and images in order, and what is to be told about what could not go along."""

    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All its text; of an image, what stands around it."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def images(self) -> list[Image]:
        """Its images."""
        return [part for part in self.parts if isinstance(part, Image)]

    def content(self) -> list[dict[str, Any]]:
        """The prompt as blocks of a message; text that is next to each other is one block."""
        blocks: list[dict[str, Any]] = []
        for part in self.parts:
            if isinstance(part, Image):
                blocks.append(part.block())
            elif blocks and blocks[-1]["type"] == "text":
                blocks[-1]["text"] += part
            elif part:
                blocks.append({"type": "text", "text": part})
        return blocks

    def followed_by(self, texts: Iterable[str]) -> Prompt:
        """The prompt with paragraphs behind it; what the user has said stays its beginning."""
        return Prompt((*self.parts, *(f"\n\n{text}" for text in texts)), self.warnings)


def prompt_of(text: str, working_dir: Path, images: Sequence[Image] = (), *, own: str | None = None) -> Prompt:
    """What is said with ``text``: with the files, folders and images that it mentions, and with ``images``.

    ``own`` is what of it the user has written, without it all: the rest may come from anybody, who must not be able to
    have files sent by naming them. Of what cannot go along, warnings tell. Raises ``UsageProblem`` for more images than
    a prompt may have.
    """
    named = _named(text if own is None else own, working_dir)
    reader = Reader({})
    parts: list[Part] = [text]
    for name, path in named.items():
        try:
            parts += _parts(name, path, [part for part in parts if isinstance(part, Image)], reader)
        except OSError as error:
            reader.warnings.append(f"{path}: cannot be read: {error.strerror}")
        except UsageProblem as problem:
            reader.warnings.append(f"{problem.message} {problem.hint}")
    for image in images:
        parts += _shown(image.name, image)
    prompt = Prompt(tuple(parts), tuple(reader.warnings))
    require_room(prompt.images)
    return prompt


def spoken(text: str) -> str:
    """What the user has said of the text of a prompt, without what went along with it."""
    return _WENT_ALONG.split(text, maxsplit=1)[0]


def names_images(text: str, working_dir: Path) -> bool:
    """Whether ``text`` names a file that is an image, or is meant to be one."""
    return any(map(_is_meant_as_image, _named(text, working_dir).values()))


def dropped_images(text: str) -> list[Path]:
    """The images whose paths ``text`` consists of, as terminals write what is dropped on them; else none."""
    line = text.strip()
    if "\n" in line or not line.startswith(("/", "~/", "'", '"', "file://")):
        return []
    try:
        whole = _path_in(line)
        paths = [whole] if whole.is_file() else [_path_in(word) for word in shlex.split(line)]
        return paths if all(path.is_absolute() and _is_meant_as_image(path) for path in paths) else []
    except (OSError, ValueError):
        return []  # no paths, then


def mention_of(path: Path) -> str:
    """How a file is mentioned."""
    written = str(path)
    if _BARE.fullmatch(written):
        return f"@{written}"
    return "@" + re.sub(r"[^\w~./+-]", r"\\\g<0>", written) if '"' in written else f'@"{written}"'


def _named(text: str, working_dir: Path) -> dict[str, Path]:
    names = dict.fromkeys(map(_name, _MENTION.finditer(text)))
    found = {name: working_dir / _expanded(name) for name in names}
    return found | {str(path): path for path in dropped_images(text)}


def _name(mention: re.Match[str]) -> str:
    bare = mention["bare"]
    return mention["double"] or mention["single"] if bare is None else _ESCAPED.sub(r"\1", bare)


def _path_in(word: str) -> Path:
    if word.startswith("file://"):
        return Path(unquote(urlsplit(word).path))
    return _expanded(word)


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)  # there is no such user


def _is_meant_as_image(path: Path) -> bool:
    try:
        return path.is_file() and (path.suffix.lower() in _NAMED_AS_IMAGE or is_image(path))
    except OSError:
        return False  # no file has such a name


def _parts(name: str, path: Path, before: list[Image], reader: Reader) -> Iterator[Part]:
    """What goes along for a mention, if anything does; raises ``UsageProblem`` for an image that cannot."""
    is_named_as_image = path.suffix.lower() in _NAMED_AS_IMAGE
    if path.is_dir():
        yield _tagged("folder", name, "\n".join(_names_in(path)))
    elif not path.is_file():
        if is_named_as_image:
            reader.warnings.append(f"{path}: there is no such image")
    elif (image := image_at(path, name)) is not None:
        require_room([*before, image])
        yield from _shown(name, image)
    elif is_named_as_image:
        reader.warnings.append(f"{path}: is named as an image and is none; the agent gets its path")
    elif (passage := reader.read_file(path, ())) is not None:
        if path.suffix.lower() == ".svg":
            reader.warnings.append(f"{path}: goes along as text; to be seen as an image, convert it to PNG")
        yield _tagged("file", name, passage.text)


def _names_in(folder: Path) -> list[str]:
    names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in folder.iterdir())
    return [*names[:_MOST_NAMES], *([f"… and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else [])]


def _shown(name: str, image: Image) -> tuple[Part, ...]:
    return f'\n\n<image path="{name}">', image, "</image>"


def _tagged(tag: str, name: str, text: str) -> str:
    return f'\n\n<{tag} path="{name}">\n{text}\n</{tag}>'

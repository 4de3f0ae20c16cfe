"""Images that a user shows to the model: read from files, judged by their bytes, and given as blocks of a message."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplifier.problems import UsageProblem
from amplifier.runtime.image_formats import HEAD_BYTES, BrokenImageError, media_type_of, picture_in, unseen_format

MOST_BYTES = 3_750_000
"""Of one image: in base64 the 5 MB that all vendors take."""
MOST_BYTES_TOGETHER = 14_000_000
"""Of one prompt: in base64 less than the 20 MB that all vendors take in one request."""
MOST_IMAGES = 20
"""Of one prompt."""
MOST_PIXELS = 8_000
"""Along either side."""

_SEEN = "PNG, JPEG, GIF or WebP"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a model can see; ``name`` is how the user called it."""

    name: str
    media_type: str
    width: int
    height: int
    data: bytes

    @property
    def label(self) -> str:
        """What is shown in its place to people, such as ``[image shot.png, 640×480, 12 kB]``."""
        size = f"{max(1, round(len(self.data) / 1000)):,} kB"
        return f"[image {Path(self.name).name}, {self.width}×{self.height}, {size}]"

    def block(self) -> dict[str, Any]:
        """The image as a block of a message."""
        data = base64.b64encode(self.data).decode("ascii")
        return {"type": "image", "source": {"type": "base64", "media_type": self.media_type, "data": data}}


def is_image(path: Path) -> bool:
    """Whether a file begins as an image does that models see."""
    try:
        with path.open("rb") as file:
            return media_type_of(file.read(HEAD_BYTES)) is not None
    except OSError:
        return False


def image_at(path: Path, name: str) -> Image | None:
    """The image in a file; ``None`` for a file that is none. Raises ``UsageProblem`` for one that cannot be shown."""
    try:
        with path.open("rb") as file:
            data = file.read(HEAD_BYTES)
            if media_type_of(data) is not None:
                data += file.read(MOST_BYTES + 1 - len(data))
    except OSError as error:
        raise UsageProblem(f"{path}: cannot be read: {error.strerror}.", "Check who may read it.") from None
    if media_type_of(data) is not None:
        return _judged(data, str(path), name)
    if (unseen := unseen_format(data)) is not None:
        raise UsageProblem(
            f"{path}: is an image in the format {unseen}, which models do not see.", f"Convert it to {_SEEN}."
        )
    return None


def require_image(path: Path) -> Image:
    """The image in a file; raises ``UsageProblem`` where there is none."""
    # A pipe, or a device, would be waited for.
    image = None if path.exists() and not path.is_file() else image_at(path, str(path))
    if image is None:
        raise UsageProblem(f"{path}: is no image.", f"Give a file that is {_SEEN}.")
    return image


def image_from_base64(text: Any, name: str) -> Image:
    """The image that somebody sends as base64; raises ``UsageProblem`` where there is none."""
    try:
        data = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise UsageProblem(f"{name}: is no base64.", "Give 'data' as base64 without white space.") from None
    if media_type_of(data[:HEAD_BYTES]) is None:
        raise UsageProblem(f"{name}: is no image that models see.", f"Give {_SEEN}.")
    return _judged(data, name, name)


def require_room(images: Iterable[Image]) -> None:
    """Raises ``UsageProblem`` where one prompt has more images than a model takes."""
    all_of = list(images)
    if len(all_of) > MOST_IMAGES:
        raise UsageProblem(
            f"These are {len(all_of)} images; {MOST_IMAGES} in one prompt are the most.", "Send them one after another."
        )
    if sum(len(each.data) for each in all_of) > MOST_BYTES_TOGETHER:
        raise UsageProblem(
            f"These images have more than {MOST_BYTES_TOGETHER // 1_000_000} MB together, the most in one prompt.",
            "Send them one after another, or make them smaller.",
        )


def _judged(data: bytes, place: str, name: str) -> Image:
    if len(data) > MOST_BYTES:
        raise UsageProblem(
            f"{place}: is an image of more than {MOST_BYTES / 1_000_000:g} MB, the most that models take.",
            "Make it smaller, or save it as JPEG.",
        )
    media_type = media_type_of(data[:HEAD_BYTES]) or ""
    try:
        picture = picture_in(data, media_type)
    except BrokenImageError as error:
        kind = media_type.partition("/")[2].upper()
        raise UsageProblem(f"{place}: is a broken {kind} image: {error}.", "Save it again.") from None
    if max(picture) > MOST_PIXELS:
        raise UsageProblem(
            f"{place}: has {picture.width}×{picture.height} pixels; {MOST_PIXELS:,} along a side are the most.",
            "Make it smaller.",
        )
    return Image(name, media_type, *picture, data)

"""Images that a user shows: told apart by their bytes, measured, and refused with what to do instead."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.app.images_world import gif, jpeg, png, webp

from amplifier.problems import UsageProblem
from amplifier.runtime.image_formats import BrokenImageError, media_type_of, picture_in
from amplifier.runtime.images import (
    MOST_BYTES,
    Image,
    image_at,
    image_from_base64,
    is_image,
    require_image,
    require_room,
)

SEEN = [
    ("image/png", png(64, 48)),
    ("image/gif", gif(64, 48)),
    ("image/jpeg", jpeg(64, 48)),
    *(("image/webp", webp(64, 48, kind)) for kind in (b"VP8 ", b"VP8L", b"VP8X")),
]
NAMES = ["png", "gif", "jpeg", "webp", "webp-lossless", "webp-extended"]


@pytest.mark.parametrize(("media_type", "data"), SEEN, ids=NAMES)
def test_an_image_is_known_by_its_bytes(tmp_path: Path, media_type: str, data: bytes) -> None:
    """Whatever its name is: with its format and its size, and as a block that has all of it."""
    file = tmp_path / "notes.txt"
    file.write_bytes(data)
    image = image_at(file, "notes.txt")
    assert image == Image("notes.txt", media_type, 64, 48, data)
    assert is_image(file)
    assert require_image(file) == Image(str(file), media_type, 64, 48, data)
    assert image is not None
    assert image.label == "[image notes.txt, 64×48, 1 kB]"
    source = image.block()["source"]
    assert (image.block()["type"], source["type"], source["media_type"]) == ("image", "base64", media_type)
    assert base64.b64decode(source["data"]) == data


@pytest.mark.slow
@pytest.mark.parametrize(("media_type", "data"), SEEN, ids=NAMES)
@given(cut=st.integers(2, 2000))
def test_an_image_that_is_cut_off_is_broken(media_type: str, data: bytes, cut: int) -> None:
    """Wherever it is cut: it is refused, and never anything else."""
    assert media_type_of(data) == media_type
    with pytest.raises(BrokenImageError):
        picture_in(data[: max(12, len(data) - cut)], media_type)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (png()[:-1], "broken PNG image: it is cut off"),
        (png(0, 5), "broken PNG image: it has no pixels"),
        (png()[:8] + png()[33:], "broken PNG image: it has no header"),
        (gif()[:-2], "broken GIF image: it is cut off"),
        (gif()[:-1] + b"?;", "broken GIF image: its parts do not follow each other"),
        (jpeg()[:-2], "broken JPEG image: it is cut off"),
        (b"\xff\xd8\xff\xe0\x00\x02nothing", "broken JPEG image: its parts do not follow each other"),
        (webp()[:-1], "broken WEBP image: it is cut off"),
        (b"RIFF\0\0\0\0WEBPVP8X", "broken WEBP image: it is cut off"),
        (webp(kind=b"ABCD"), "broken WEBP image: it has no picture"),
        (png(9000, 1), "has 9000×1 pixels; 8,000 along a side are the most"),
        (png() + b"\x00" * MOST_BYTES, "is an image of more than 3.75 MB"),
        (b"BM\x10\x00\x00\x00\x00\x00\x00\x00", "is an image in the format BMP, which models do not see"),
        (b"II*\x00rest", "is an image in the format TIFF"),
        (b"\x00\x00\x00\x18ftypheic", "is an image in the format HEIC"),
    ],
)
def test_an_image_that_cannot_be_shown_is_refused(tmp_path: Path, data: bytes, told: str) -> None:
    """With the file, what is wrong with it, and what to do."""
    file = tmp_path / "shot.png"
    file.write_bytes(data)
    with pytest.raises(UsageProblem) as raised:
        image_at(file, "shot.png")
    assert raised.value.message.startswith(f"{file}: ")
    assert told in raised.value.message
    assert raised.value.hint.endswith(".")


def test_a_gif_without_the_mark_at_its_end_is_whole(tmp_path: Path) -> None:
    """All programs show it."""
    (tmp_path / "a.gif").write_bytes(gif()[:-1])
    assert require_image(tmp_path / "a.gif").width == 4


def test_what_is_no_image_is_none(tmp_path: Path) -> None:
    """Texts that begin like an image, other files of the same family, and what is not there."""
    file = tmp_path / "car.txt"
    for data in (b"BMW builds cars.", b"\x00\x00\x00\x18ftypmp42", b"", b"<svg/>"):
        file.write_bytes(data)
        assert (image_at(file, "car.txt"), is_image(file)) == (None, False)
        with pytest.raises(UsageProblem, match="is no image"):
            require_image(file)
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UsageProblem, match="is no image"):
        require_image(tmp_path / "pipe.png")
    assert not is_image(tmp_path / "gone.png")
    with pytest.raises(UsageProblem, match="cannot be read: No such file"):
        image_at(tmp_path / "gone.png", "gone.png")


def test_base64_is_decoded_and_judged() -> None:
    """An image is one; anything else is refused by the name of its place."""
    assert image_from_base64(base64.b64encode(png(5, 6)).decode(), "here").height == 6
    for text, told in (
        (None, "here: is no base64"),
        ("é", "is no base64"),
        ("a b", "is no base64"),
        ("aGk=", "no image"),
    ):
        with pytest.raises(UsageProblem, match=told):
            image_from_base64(text, "here")


def test_a_prompt_has_room_for_so_many_images() -> None:
    """Not more than vendors take, in number and together."""
    small = Image("a", "image/png", 1, 1, b"")
    large = Image("a", "image/png", 1, 1, bytes(MOST_BYTES))
    require_room([small] * 20)
    require_room([large] * 3)
    with pytest.raises(UsageProblem, match="These are 21 images; 20 in one prompt are the most"):
        require_room([small] * 21)
    with pytest.raises(UsageProblem, match="more than 14 MB together"):
        require_room([large] * 4)

"""Text and images in tool results."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from amplifier_core.message_models import ImageBlock, TextBlock
from amplifier_core.models import ToolResult

OMITTED = "[Image omitted from tool event; original retained for model request if unmodified.]"
SOURCE = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
IMAGE: dict[str, Any] = {"type": "image", "source": SOURCE}
TEXT: dict[str, Any] = {"type": "text", "text": "hi"}

CONTENT = "invalid tool result content"
IMAGE_SOURCE = "invalid tool result image source"
MEDIA_TYPE = "invalid tool result image media type"
DATA = "invalid tool result image data"


def image(**source: Any) -> list[dict[str, Any]]:
    """Content of one image whose source differs in what is given."""
    return [{"type": "image", "source": {**SOURCE, **source}}]


@pytest.mark.parametrize("empty", [None, []])
def test_no_content_is_none(empty: Any) -> None:
    """None and an empty list are stored as None and left out of every dump."""
    result = ToolResult(content=empty)
    assert result.content is None
    assert result.model_dump() == {"success": True, "output": None, "error": None}
    assert result.model_dump_json() == '{"success":true,"output":null,"error":null}'
    assert result.model_dump(include={"content"}) == {}


def test_content_becomes_blocks() -> None:
    """Dicts and blocks are taken alike, and dumped with exactly their known keys."""
    given: list[Any] = [TEXT, IMAGE, TextBlock(text="hi"), ImageBlock(source=SOURCE)]
    result = ToolResult(content=given)
    assert result.content == [TextBlock(text="hi"), ImageBlock(source=SOURCE)] * 2
    assert result.model_dump()["content"] == [TEXT, IMAGE] * 2
    assert ToolResult.model_validate_json(result.model_dump_json()) == result


def test_unknown_keys_are_dropped() -> None:
    """Other keys of a block and of an image source do not survive, visibility included."""
    result = ToolResult(
        content=[
            {**TEXT, "visibility": "user", "more": 1},
            {"type": "image", "source": {**SOURCE, "more": 1}, "more": 2},
            TextBlock.model_validate({**TEXT, "visibility": "user", "more": 1}),
        ]
    )
    assert result.content == [TextBlock(text="hi"), ImageBlock(source=SOURCE), TextBlock(text="hi")]
    assert result.model_dump()["content"] == [TEXT, IMAGE, TEXT]


def test_content_is_not_shared_with_the_caller() -> None:
    """Changing what was given does not change the result."""
    source = dict(SOURCE)
    result = ToolResult(content=[{"type": "image", "source": source}])
    source["data"] = "not base64"
    assert result.model_dump()["content"] == [IMAGE]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text", CONTENT),
        (7, CONTENT),
        ({}, CONTENT),
        ((TEXT,), CONTENT),
        ([None], CONTENT),
        (["text"], CONTENT),
        ([[TEXT]], CONTENT),
        ([{}], CONTENT),
        ([{"text": "hi"}], CONTENT),
        ([{"type": "text"}], CONTENT),
        ([{"type": "text", "text": 3}], CONTENT),
        ([{"type": "TEXT", "text": "hi"}], CONTENT),
        ([{"type": "thinking", "thinking": "hm"}], CONTENT),
        ([{"type": "image"}], IMAGE_SOURCE),
        ([{"type": "image", "source": "QUJD"}], IMAGE_SOURCE),
        ([{"type": "image", "source": {}}], IMAGE_SOURCE),
        (image(type="url"), IMAGE_SOURCE),
        (image(type="BASE64"), IMAGE_SOURCE),
        (image(media_type=None), MEDIA_TYPE),
        (image(media_type="image/PNG"), MEDIA_TYPE),
        (image(media_type="image/"), MEDIA_TYPE),
        (image(media_type="image/png;q=1"), MEDIA_TYPE),
        (image(media_type=" image/png"), MEDIA_TYPE),
        (image(media_type="image/png\n"), MEDIA_TYPE),
        (image(media_type="text/plain"), MEDIA_TYPE),
        (image(data=None), DATA),
        (image(data=b"QUJD"), DATA),
        (image(data=""), DATA),
        (image(data="===="), DATA),
        (image(data="QUJ"), DATA),
        (image(data="QUI"), DATA),
        (image(data="Q==="), DATA),
        (image(data="QUJD\n"), DATA),
        (image(data="QU JD"), DATA),
        (image(data="QU=D"), DATA),
        (image(data="QUJ_"), DATA),
        (image(data="QUJDé==="), DATA),
        ([TEXT, *image(data="?")], DATA),
    ],
)
def test_wrong_content_is_refused(content: Any, message: str) -> None:
    """Content that is not text or an inline image is refused, with a message that says which part is wrong."""
    with pytest.raises(ValidationError, match=message):
        ToolResult(content=content)


@pytest.mark.parametrize(
    "media_type", ["image/png", "image/svg+xml", "image/x-icon", "image/vnd.ms-photo", "image/3gpp"]
)
def test_media_types(media_type: str) -> None:
    """Any lower-case image type is fine."""
    assert ToolResult(content=image(media_type=media_type)).model_dump()["content"] == image(media_type=media_type)


@given(st.binary(min_size=1))
def test_every_base64_text_is_accepted(data: bytes) -> None:
    """Whatever the standard encoder writes is valid image data."""
    text = base64.b64encode(data).decode()
    assert ToolResult(content=image(data=text)).model_dump()["content"] == image(data=text)


@given(st.text(alphabet="AB+/=_ \n", max_size=9))
def test_data_is_valid_exactly_if_the_strict_decoder_takes_it(text: str) -> None:
    """The check agrees with the strict decoder of the standard library."""
    try:
        is_valid = bool(base64.b64decode(text, validate=True)) and len(text) % 4 == 0
    except ValueError:
        is_valid = False
    try:
        ToolResult(content=image(data=text))
    except ValidationError:
        assert not is_valid
    else:
        assert is_valid


def test_errors_do_not_quote_the_input() -> None:
    """An error text does not repeat what was given, which may be megabytes or secret."""
    with pytest.raises(ValidationError) as caught:
        ToolResult(content=image(data="s3cret data"))
    assert "s3cret" not in str(caught.value)


def test_content_is_validated_on_the_way_out() -> None:
    """Blocks that were tampered with after construction do not leave in a dump or an event."""
    result = ToolResult(content=[IMAGE])
    assert isinstance(result.content, list)
    result.content[0].source["type"] = "url"  # type: ignore[union-attr]
    for dump in (result.model_dump, result.model_dump_json):
        with pytest.raises(PydanticSerializationError, match=IMAGE_SOURCE):
            dump()
    with pytest.raises(ValueError, match=IMAGE_SOURCE):
        result.safe_hook_presentation()


def test_content_can_be_left_out_of_a_dump() -> None:
    """Excluding content works as for any field."""
    assert ToolResult(content=[TEXT]).model_dump(exclude={"content"}) == {
        "success": True,
        "output": None,
        "error": None,
    }


def test_hook_presentation_omits_images() -> None:
    """Hooks see text in the place of each image; the result itself keeps the images."""
    result = ToolResult(output={"path": "a.png"}, content=[TEXT, IMAGE])
    assert result.safe_hook_presentation() == {
        "success": True,
        "output": {"path": "a.png"},
        "error": None,
        "content": [TEXT, {"type": "text", "text": OMITTED}],
    }
    assert result.model_dump()["content"] == [TEXT, IMAGE]


def test_hook_presentation_without_content_has_no_such_key() -> None:
    """A plain result is presented by its three other fields."""
    result = ToolResult(success=False, error={"message": "no", "code": 1})
    assert result.safe_hook_presentation() == {
        "success": False,
        "output": "no",
        "error": {"message": "no", "code": 1},
    }

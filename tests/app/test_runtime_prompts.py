"""Prompts: what a text mentions goes along with it, in order, and what cannot is told."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.app.images_world import gif, png

from amplifier.console.prompt_lines import prompt_in
from amplifier.problems import UsageProblem
from amplifier.runtime.images import Image, require_image
from amplifier.runtime.prompts import Prompt, dropped_images, mention_of, names_images, prompt_of, spoken


def image(name: str, data: bytes) -> Image:
    """The image that a file of that name and those bytes is."""
    return Image(name, "image/png" if data.startswith(b"\x89") else "image/gif", 4, 3, data)


def test_mentioned_files_and_folders_go_along(tmp_path: Path) -> None:
    """Text files and lists of folders come behind the text; missing and unreadable ones do not."""
    (tmp_path / "a b.txt").write_text("spaced\n")
    (tmp_path / "code.py").write_text("print(1)\n")
    (tmp_path / "shot.png").write_bytes(b"\x89PNG")
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "sub").mkdir()
    for number in range(201):
        (tmp_path / "many" / f"{number:03}").write_text("")
    text = f'look at @code.py, @"a b.txt", @many, @shot.png, @nowhere, @{"x" * 300} and me@mail.org; @code.py again'
    prompt = prompt_of(text, tmp_path)
    first, code, spaced, folder = prompt.text.split("\n\n")
    assert first == text
    assert code == '<file path="code.py">\nprint(1)\n</file>'
    assert spaced == '<file path="a b.txt">\nspaced\n</file>'
    assert folder.startswith('<folder path="many">\n000\n001\n')
    assert folder.endswith("… and 2 more\n</folder>")
    assert prompt.content() == [{"type": "text", "text": prompt.text}]
    named, long = prompt.warnings
    assert named == f"{tmp_path / 'shot.png'}: is named as an image and is none; the agent gets its path"
    assert "cannot be read: File name too long" in long
    (tmp_path / "bin.dat").write_bytes(b"\0")
    assert prompt_of("@bin.dat", tmp_path) == Prompt(
        ("@bin.dat",), (f"{tmp_path / 'bin.dat'}: is no text, and left out of the prompt",)
    )
    assert prompt_of("@many", tmp_path / "many").warnings == ()


def test_mentioned_images_go_along_in_order(tmp_path: Path) -> None:
    """However their names are written, between their names, and among the files that are mentioned."""
    first, second, third = png(), gif(), png(colour=b"red")
    (tmp_path / "shot.png").write_bytes(first)
    (tmp_path / "My Shot.gif").write_bytes(second)
    (tmp_path / "no suffix (1)").write_bytes(third)
    (tmp_path / "a.txt").write_text("text")
    text = "@shot.png @a.txt @'My Shot.gif' @My\\ Shot.gif @no\\ suffix\\ \\(1\\)?"
    prompt = prompt_of(text, tmp_path)
    assert prompt.parts == (
        text,
        *('\n\n<image path="shot.png">', image("shot.png", first), "</image>"),
        '\n\n<file path="a.txt">\ntext\n</file>',
        *('\n\n<image path="My Shot.gif">', image("My Shot.gif", second), "</image>"),
        *('\n\n<image path="no suffix (1)">', image("no suffix (1)", third), "</image>"),
    )
    assert [block["type"] for block in prompt.content()] == ["text", "image"] * 3 + ["text"]
    assert prompt.content()[2]["text"] == (
        '</image>\n\n<file path="a.txt">\ntext\n</file>\n\n<image path="My Shot.gif">'
    )
    assert [each.name for each in prompt.images] == ["shot.png", "My Shot.gif", "no suffix (1)"]
    assert spoken(prompt.text) == text
    assert names_images(text, tmp_path)
    assert not names_images(f"@a.txt @{'x' * 300}", tmp_path)


def test_images_that_cannot_go_along_are_told(tmp_path: Path) -> None:
    """The text goes without them: broken, of another kind, missing, or one too many; a drawing goes as its text."""
    (tmp_path / "cut.png").write_bytes(png()[:-3])
    (tmp_path / "old.bmp").write_bytes(b"BM\x10\x00\x00\x00\x00\x00\x00\x00")
    (tmp_path / "art.svg").write_text("<svg/>")
    for number in range(21):
        (tmp_path / f"{number}.png").write_bytes(png())
    prompt = prompt_of("@cut.png @old.bmp @gone.JPG @art.svg @~nobody-here/x", tmp_path)
    assert prompt.text.endswith('\n\n<file path="art.svg">\n<svg/>\n</file>')
    assert prompt.warnings == (
        f"{tmp_path / 'cut.png'}: is a broken PNG image: it is cut off. Save it again.",
        f"{tmp_path / 'old.bmp'}: is an image in the format BMP, which models do not see. "
        "Convert it to PNG, JPEG, GIF or WebP.",
        f"{tmp_path / 'gone.JPG'}: there is no such image",
        f"{tmp_path / 'art.svg'}: goes along as text; to be seen as an image, convert it to PNG",
    )
    many = prompt_of(" ".join(f"@{number}.png" for number in range(21)), tmp_path)
    assert (len(many.images), len(many.warnings)) == (20, 1)
    with pytest.raises(UsageProblem, match="These are 21 images"):
        prompt_of(" ".join(f"@{number}.png" for number in range(20)), tmp_path, [image("more", png())])


def test_what_others_have_written_mentions_nothing(tmp_path: Path) -> None:
    """Images that the user gives beside it do go along."""
    file = tmp_path / "shot.png"
    file.write_bytes(png())
    prompt = prompt_of("see @shot.png", tmp_path, [require_image(file)], own="")
    assert prompt.parts == ("see @shot.png", f'\n\n<image path="{file}">', image(str(file), png()), "</image>")


def test_of_a_text_of_others_only_what_the_user_adds_mentions_something(tmp_path: Path) -> None:
    """The text of a command names a file, and nothing comes of it; the words behind the command name another."""
    for name in ("secret.txt", "a.txt"):
        (tmp_path / name).write_text(name)
    prompt = prompt_of("read @secret.txt and @a.txt", tmp_path, own="@a.txt")
    assert prompt.text == 'read @secret.txt and @a.txt\n\n<file path="a.txt">\na.txt\n</file>'


def test_paragraphs_go_behind(tmp_path: Path) -> None:
    """Neither the images nor the warnings get lost, nor what the user has said."""
    (tmp_path / "shot.png").write_bytes(png())
    prompt = prompt_of("@shot.png @gone.png", tmp_path).followed_by(["<remember>it</remember>", "last"])
    added = '\n\n<image path="shot.png"></image>\n\n<remember>it</remember>\n\nlast'
    assert prompt.text == f"@shot.png @gone.png{added}"
    assert spoken(prompt.text) == "@shot.png @gone.png"
    assert (len(prompt.images), len(prompt.warnings)) == (1, 1)
    assert Prompt(("", image("a", png()))).content() == [image("a", png()).block()]


def test_paths_that_are_dropped_on_the_line_are_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As terminals write them: quoted, escaped, as they are, several, as addresses; images only, alone on the line."""
    monkeypatch.setenv("HOME", str(tmp_path))
    spaced, plain, photo = tmp_path / "My Shot.png", tmp_path / "shot", tmp_path / "photo.heic"
    spaced.write_bytes(png())
    plain.write_bytes(png())
    photo.write_bytes(b"\x00\x00\x00\x18ftypheic")
    (tmp_path / "notes.txt").write_text("text")
    escaped = str(spaced).replace(" ", "\\ ")
    for written in (escaped, f"'{spaced}'", f'"{spaced}"', f" {spaced}\n", spaced.as_uri(), "'~/My Shot.png'"):
        assert dropped_images(written) == [spaced]
    assert dropped_images(f"{escaped} {plain} ~/shot") == [spaced, plain, plain]
    assert dropped_images(str(photo)) == [photo]
    for other in (
        f"{plain} what is it?", f"{plain}\n{plain}", str(tmp_path / "notes.txt"), str(tmp_path), "/help", "'", "",
        "shot", "'shot'", f"/{'x' * 300}", "/\0",
    ):  # fmt: skip
        assert dropped_images(other) == []
    prompt = prompt_of(escaped, tmp_path)
    assert prompt.parts == (escaped, f'\n\n<image path="{spaced}">', image(str(spaced), png()), "</image>")
    assert "is an image in the format HEIC" in prompt_of(str(photo), tmp_path).warnings[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/b.png", "@/a/b.png"), ("/a/my shot.png", '@"/a/my shot.png"'), ('/a/"b".png', '@/a/\\"b\\".png')],
)
def test_a_mention_is_as_plain_as_its_path(path: str, expected: str) -> None:
    """Quotes and signs that keep it together are there only where they must be."""
    assert mention_of(Path(path)) == expected


@pytest.mark.slow
@given(st.text(st.characters(exclude_characters="\n/\0\r\x85\u2028\u2029", exclude_categories=["Cs"]), min_size=1))
def test_what_is_mentioned_is_found_again(name: str) -> None:
    """Any name of a file comes back as it was, whatever is in it."""
    path = Path("/folder") / name
    found = _mentioned(f"see {mention_of(path)} there")
    assert found == [str(path)]


def _mentioned(text: str) -> list[str]:
    from amplifier.runtime.prompts import _named

    return list(_named(text, Path("/")))


def line(**fields: Any) -> bytes:
    """A line that a program sends."""
    return json.dumps(fields).encode()


def test_programs_send_texts_and_blocks() -> None:
    """In each of the forms that are used; what the text mentions is not read."""
    assert prompt_in(line(text="see @x.png"), 1) == Prompt(("see @x.png",))
    assert prompt_in(line(content="hi"), 1) == Prompt(("hi",))
    source = {"type": "base64", "media_type": "image/gif", "data": b64encode(png()).decode()}
    blocks = [{"type": "text", "text": "What is"}, {"type": "image", "source": source}, {"type": "text", "text": "?"}]
    prompt = prompt_in(line(type="user", message={"role": "user", "content": blocks}), 3)
    assert prompt.parts == ("What is", image("Block 2 of line 3", png()), "?")
    assert prompt_in(line(content=blocks[1:2]), 1).text == ""


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"{", "Line 7 of standard input is no JSON"),
        (b"[]", "Line 7 of standard input has no text"),
        (line(text=" "), "Line 7 of standard input has no text"),
        (line(content=[]), "Line 7 of standard input has no text"),
        (line(content=["x"]), "Block 1 of line 7 of standard input is neither text nor an image"),
        (line(content=[{"type": "text", "text": 5}]), "Block 1 of line 7"),
        (line(content=[{"type": "image", "source": {"type": "url", "url": "http://x"}}]), "Block 1 of line 7"),
        (
            line(content=[{"type": "image", "source": {"type": "base64", "data": "?"}}]),
            "Block 1 of line 7: is no base64",
        ),
    ],
)
def test_lines_that_are_no_prompts_are_refused(sent: bytes, told: str) -> None:
    """With the line, the block in it, and what is expected."""
    with pytest.raises(UsageProblem) as raised:
        prompt_in(sent, 7)
    assert told in raised.value.message
    assert raised.value.hint

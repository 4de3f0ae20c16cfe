"""How much of an answer is taken: size, time, compression, kinds of content."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modules.web_world import WebServer, answered, web

from amplifier_module_tool_web.decoding import decoder_for
from amplifier_module_tool_web.errors import BadContentError
from amplifier_module_tool_web.kinds import ContentType, declared_kind, image_type, kind_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def raw_deflate(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(data) + packing.flush()


def unpacked(coding: str | None, pieces: Iterator[bytes] | list[bytes]) -> bytes:
    decoder = decoder_for(coding)
    result = b"".join(b"".join(decoder.feed(piece)) for piece in pieces)
    decoder.finish()
    return result


@pytest.mark.slow
@given(
    st.binary(max_size=3000),
    st.sampled_from(["gzip", "x-gzip", "deflate", "raw", "identity", None]),
    st.integers(1, 50),
)
def test_bodies_are_unpacked_however_they_are_cut(data: bytes, coding: str | None, size: int) -> None:
    """Each coding that is asked for gives back what was packed, whatever pieces it comes in."""
    packed = {
        "gzip": gzip.compress(data),
        "x-gzip": gzip.compress(data),
        "deflate": zlib.compress(data),
        "raw": raw_deflate(data),
    }.get(coding or "", data)
    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    if coding == "raw" and size == 1 and packed[:1] and packed[0] & 0x0F == 8:
        return  # one byte does not tell whether a header is missing
    assert unpacked("deflate" if coding == "raw" else coding, pieces) == data


def test_several_gzip_parts_are_one_body() -> None:
    """What is packed in parts is unpacked as a whole, and what follows the end is left alone."""
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    assert (unpacked("gzip", [packed]), unpacked("GZIP , identity", [packed + b"junk", b"more"])) == (
        b"one two",
        b"one two",
    )


def test_a_deflate_body_may_begin_with_a_single_byte() -> None:
    """The header of zlib is recognised by its first byte alone, if no more has come."""
    packed = zlib.compress(b"hello")
    assert unpacked("deflate", [packed[:1], packed[1:]]) == b"hello"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress", "deflate, br"])
def test_a_coding_that_was_not_asked_for_is_an_error(coding: str) -> None:
    """Bytes that nobody unpacked are not taken for text, and a pile of codings is not unpacked."""
    with pytest.raises(BadContentError, match="though only gzip, deflate was asked for"):
        decoder_for(coding)


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"no gzip", "cannot be decompressed"), (gzip.compress(b"x" * 99, mtime=0)[:-9], "in the middle")],
    ids=["no gzip", "cut"],
)
def test_a_damaged_body_is_an_error(data: bytes, says: str) -> None:
    """What cannot be unpacked, or breaks off, is not passed off as the whole."""
    with pytest.raises(BadContentError, match=says):
        unpacked("gzip", [data])


async def test_a_body_is_read_up_to_the_limit() -> None:
    """A body without end is left at the limit, told so, and its connection is closed."""

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not reader.at_eof():
            writer.write(b"abcdefgh" * 1000)
            await writer.drain()

    server = WebServer({"/": endless})
    async with server.on():
        tools = await web(max_bytes=10_000)
        result = await tools.get(f"http://site.test:{server.port}/")
        await server.hung_up.wait()
    assert (result.success, result.output["total_bytes"], result.output["notes"]) == (
        True,
        10_000,
        ["the download was stopped after 10000 bytes; the rest is missing"],
    )


async def test_a_bomb_is_left_at_the_limit() -> None:
    """A small body that unpacks to a huge one is read up to the limit after unpacking."""
    bomb = gzip.compress(b" " * 5_000_000, 1)
    server = WebServer({"/": answered(bomb, Content_Encoding="gzip")})
    async with server.on():
        tools = await web(max_bytes=100_000)
        result = await tools.get(f"http://site.test:{server.port}/")
    assert (len(bomb) < 50_000, result.output["total_bytes"], len(result.output["notes"])) == (True, 100_000, 1)


async def test_packed_nothing_without_end_is_an_error() -> None:
    """Bytes that unpack to nothing count against the limit as they come."""
    empty = gzip.compress(b"") * 2000
    server = WebServer({"/": answered(empty, Content_Encoding="gzip")})
    async with server.on():
        tools = await web(max_bytes=len(empty) - 1)
        result = await tools.get(f"http://site.test:{server.port}/")
    assert result.error == {
        "type": "bad_content",
        "message": f"More than {len(empty) - 1} bytes came, and hardly anything was in them.",
    }


async def test_a_body_that_drips_ends_with_the_whole_time() -> None:
    """A server that is always just in time is left when the whole has taken too long."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not reader.at_eof():
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0)

    server = WebServer({"/": drip})
    async with server.on():
        tools = await web(timeout=5, total_timeout=0.1)
        result = await tools.get(f"http://site.test:{server.port}/")
        await server.hung_up.wait()
    assert result.error == {
        "type": "timeout",
        "message": f"http://site.test:{server.port}/ took longer than 0.1 s. Try again later, or use another source.",
    }


async def test_a_lookup_that_never_ends_ends_with_the_whole_time() -> None:
    """The time limit holds for names as well."""

    async def silent(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    tools = await web(silent, total_timeout=0.05)
    assert (await tools.get("http://site.test/")).error["type"] == "timeout"


@pytest.mark.parametrize(
    ("answer", "is_success", "says"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", False, "The body did not come"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst and more", True, "first"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 99\r\n\r\nfirst",
            False,
            "conflicting Content-Length",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", False, "The body did not come"),
    ],
    ids=["too-long", "too-short", "two-lengths", "bad-chunk"],
)
async def test_a_lying_length_does_not_pass(answer: bytes, is_success: bool, says: str) -> None:
    """A body is what the length says; one that breaks off is an error."""
    server = WebServer({"/": answer})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/")
    assert result.success is is_success
    assert says in (result.output["content"] if is_success else result.error["message"])


async def test_a_body_that_cannot_be_shown_is_not_downloaded() -> None:
    """Films and archives are described by their headers; the connection is closed without them."""

    async def film(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 5000000000\r\n\r\n")
        await writer.drain()
        await reader.read()

    server = WebServer({"/": film})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/")
        await server.hung_up.wait()
    assert (result.success, result.output["content"]) == (
        True,
        "[Its content is not text: video/mp4, 5000000000 bytes. To have it as a file, fetch it with 'save_to_file'.]",
    )


async def test_a_body_of_unknown_kind_is_looked_at_first() -> None:
    """What begins like no text is not read to its end."""

    async def unknown(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n" + b"\0\1" * 4000)
        await writer.drain()
        await reader.read()

    server = WebServer({"/": unknown})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/")
        await server.hung_up.wait()
    assert result.output["content"] == (
        "[Its content is not text: application/octet-stream, unknown size. "
        "To have it as a file, fetch it with 'save_to_file'.]"
    )


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(status: int) -> None:
    """A page that has moved is fetched where it is now, and the result tells where that is."""
    server = WebServer({"/old?a=b": answered(status=status, Location="new"), "/new": answered(b"here")})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/old?a=b")
    assert (result.output["content"], result.output["final_url"]) == ("here", f"http://site.test:{server.port}/new")
    assert [seen.method for seen in server.seen] == ["GET", "GET"]


@pytest.mark.parametrize(
    "answer", [answered(b"see there", status=302), answered(b"choices", status=300, Location="/x")]
)
async def test_a_redirect_to_nowhere_is_a_failure(answer: bytes) -> None:
    """An answer that is no page, and says nowhere to go, is told with its status."""
    server = WebServer({"/": answer})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/")
    assert (result.success, result.error["type"], len(server.seen)) == (False, "http_error", 1)


@pytest.mark.parametrize(
    ("header", "media", "charset"),
    [
        ("text/HTML; Charset=UTF-8", "text/html", "utf-8"),
        ('text/plain;charset="iso-8859-1"', "text/plain", "iso-8859-1"),
        ("text/plain; format=flowed; charset = 'x'", "text/plain", "x"),
        ("nonsense", "", None),
        ("text/html<script>", "", None),
        (None, "", None),
    ],
)
def test_content_types_are_read(header: str | None, media: str, charset: str | None) -> None:
    """The type and the charset are found in any case, and nonsense is nothing."""
    assert ContentType.from_header(header) == ContentType(media, charset)


@pytest.mark.parametrize(
    ("media", "body", "kind"),
    [
        ("text/html", b"", "html"),
        ("application/xhtml+xml", b"", "html"),
        ("application/pdf", b"", "pdf"),
        ("text/csv", b"a,b", "text"),
        ("text/plain", b"a\0b", "binary"),
        ("text/plain", b"\xff\xfea\0", "text"),
        ("application/json", b"{}", "text"),
        ("application/vnd.api+json", b"{}", "text"),
        ("image/svg+xml", b"<svg/>", "text"),
        ("image/png", PNG, "image"),
        ("audio/mpeg", b"", "binary"),
        ("application/zip", b"PK", "binary"),
        ("application/octet-stream", b"%PDF-1.7", "pdf"),
        ("", PNG, "image"),
        ("", b"\n <!-- x --> <!DOCTYPE html><p>", "html"),
        ("", b"<html lang=en>", "html"),
        ("", b"plain words", "text"),
        ("", b"\0\0", "binary"),
        ("application/x-unknown", b"words", "text"),
    ],
)
def test_kinds_are_told_by_type_and_beginning(media: str, body: bytes, kind: str) -> None:
    """The declared type counts; where it says little, the first bytes do."""
    assert kind_of(ContentType(media), body) == kind


def test_a_declared_wide_charset_explains_zeros() -> None:
    """Text in two bytes per character is text."""
    assert kind_of(ContentType("text/plain", "utf-16le"), b"a\0") == "text"


def test_a_type_alone_decides_only_where_it_says_enough() -> None:
    """What is sent as anything has to be looked at."""
    assert [declared_kind(ContentType(media)) for media in ("font/woff2", "application/octet-stream", "")] == [
        "binary",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"<svg/>", None),
    ],
)
def test_images_are_told_by_their_first_bytes(body: bytes, media: str | None) -> None:
    """Only what models can look at is an image."""
    assert image_type(body) == media

"""The tool ``web_fetch`` as a model meets it: results, parts, files, failures."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.modules.web_world import WebServer, answered, pdf, web

from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_web.fetch_input import FetchInput

PNG = b"\x89PNG\r\n\x1a\n" + bytes(10)
HTML = b"<title>T</title><p>Hello <a href=x>there</a></p>"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_a_page_is_told_with_everything_about_it() -> None:
    """The result has the text, where it is from, how much of it there is, and that strangers wrote it."""
    server = WebServer({"/": answered("äöü".encode())})
    async with server.on():
        url = f"http://site.test:{server.port}/"
        result = await (await web()).get(url)
    assert (result.success, result.content, result.output) == (
        True,
        None,
        {
            "url": url,
            "content_type": "text/plain",
            "source": "web",
            "content": "äöü",
            "truncated": False,
            "total_bytes": 6,
            "offset": 0,
            "limit": 204_800,
            "returned_bytes": 6,
        },
    )


@pytest.mark.slow
async def test_a_web_page_comes_as_markdown() -> None:
    """The whole way: fetched, converted in a process of its own, links made whole, the title told."""
    server = WebServer({"/": answered(HTML, "text/html")})
    async with server.on():
        url = f"http://site.test:{server.port}/"
        result = await (await web()).get(url)
    assert (result.output["content"], result.output["title"]) == (f"Hello [there]({url}x)", "T")


async def test_a_long_page_is_read_in_parts_from_one_download() -> None:
    """Each part begins where the last one ended; only the first is fetched, and anew each time."""
    text = "zwölf Boxkämpfer " * 20
    server = WebServer({"/old": answered(status=302, Location="/new"), "/new": answered(text.encode())})
    async with server.on():
        tools, url = await web(default_limit=100), f"http://site.test:{server.port}/old"
        results = [await tools.get(url)]
        while (offset := results[-1].output.get("next_offset")) is not None:
            results.append(await tools.get(url, offset=offset))
        by_final_url = await tools.get(results[0].output["final_url"], offset=1)
        await tools.get(url, offset=0)
    assert "".join(result.output["content"] for result in results) == text
    assert [result.output["truncated"] for result in results] == [True] * (len(results) - 1) + [False]
    assert {result.output["total_bytes"] for result in results} == {len(text.encode())}
    assert [result.output.get("cached") for result in (results[0], results[1], by_final_url)] == [None, True, True]
    assert [seen.path for seen in server.seen] == ["/old", "/new", "/old", "/new"]


async def test_a_later_part_may_be_asked_for_first() -> None:
    """What is not kept is fetched, whatever part of it is wanted; behind the end there is nothing."""
    server = WebServer({"/": answered(b"0123456789")})
    async with server.on():
        tools, url = await web(), f"http://site.test:{server.port}/"
        part, behind = await tools.get(url, offset=4, limit=3.0), await tools.get(url, offset=99)
        tools.fetch.forget()
        await tools.get(url, offset=4)
    assert (part.output["content"], part.output["next_offset"], behind.output["content"]) == ("456", 7, "")
    assert len(server.seen) == 2


async def test_an_image_comes_as_a_block() -> None:
    """Models that can look at pictures get the picture."""
    server = WebServer({"/": answered(PNG, "image/png")})
    async with server.on():
        url = f"http://site.test:{server.port}/"
        result = await (await web()).get(url)
    blocks = [block.model_dump() for block in result.content]
    assert (blocks[0]["text"], blocks[1]["source"]) == (
        f"[Image: image/png, 18 bytes] from {url}",
        {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
    )
    assert result.output["content"] == "[Image: image/png, 18 bytes]"


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
async def test_an_error_of_the_server_is_a_failure_with_its_words(status: int) -> None:
    """Status and body are told, the body shortened; nothing of it is kept."""
    server = WebServer({"/": answered(b"sorry " * 1000, status=status)})
    async with server.on():
        tools, url = await web(), f"http://site.test:{server.port}/"
        result = await tools.get(url)
        await tools.get(url, offset=1)
    assert (result.success, result.error) == (
        False,
        {
            "type": "http_error",
            "status": status,
            "message": f"HTTP {status} Said from {url}. Check the URL, or use another source.",
        },
    )
    assert (result.output["status"], result.output["source"]) == (status, "web")
    assert result.output["content"] == ("sorry " * 1000)[:2000] + "…"
    assert len(server.seen) == 2


async def test_an_error_whose_body_cannot_be_read_is_told_for_all_that() -> None:
    """The status is worth more than what came with it."""
    server = WebServer({"/": answered(b"%PDF-broken", "application/pdf", status=403)})
    async with server.on():
        result = await (await web(convert_timeout=0.001)).get(f"http://site.test:{server.port}/")
    assert (result.error["status"], result.output["content"]) == (
        403,
        "[No preview: The content could not be converted within 0.001 s.]",
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "'url' is missing"),
        ({"url": 7}, "'url' is missing"),
        ({"url": "  "}, "'url' is missing"),
        ({"url": "http://a.test/", "offset": -1}, "'offset' must be a whole number, 0 or more."),
        ({"url": "http://a.test/", "offset": "1"}, "'offset' must be"),
        ({"url": "http://a.test/", "offset": True}, "'offset' must be"),
        ({"url": "http://a.test/", "limit": 0}, "'limit' must be a whole number, 1 or more."),
        ({"url": "http://a.test/", "limit": 1.5}, "'limit' must be"),
        ({"url": "http://a.test/", "save_to_file": ""}, "'save_to_file' must be"),
        ({"url": "http://a.test/", "save_to_file": 1}, "'save_to_file' must be"),
    ],
)
async def test_input_that_cannot_be_used_is_told(given: dict[str, Any], says: str) -> None:
    """A model learns which argument is wrong and what it should be."""
    result: Any = await (await web()).fetch.execute(given)
    assert (result.success, result.error["type"]) == (False, "invalid_input")
    assert says in result.error["message"]


def test_a_limit_is_bounded() -> None:
    """However much is asked for, one result has a bounded size."""
    assert FetchInput.read({"url": " http://a.test/ ", "limit": 10**12}, 5) == FetchInput(
        "http://a.test/", None, 0, 1_048_576
    )


async def test_a_file_gets_every_byte(in_a_folder_of_its_own: Path) -> None:
    """What is saved is the body as it came; the result has a preview, and whoever watches is told."""
    body = b"line\r\n" * 500
    server = WebServer({"/": answered(body)})
    async with server.on():
        tools, url = await web(), f"http://site.test:{server.port}/"
        result = await tools.get(url, save_to_file="new/folder/page.txt")
    saved = in_a_folder_of_its_own / "new/folder/page.txt"
    assert saved.read_bytes() == body
    assert result.output == {
        "url": url,
        "content_type": "text/plain",
        "source": "web",
        "saved_to": str(saved),
        "saved_bytes": len(body),
        "preview": body.decode()[:1000],
    }
    ((event, data),) = tools.told.get_events()
    assert (event, data["path"], data["bytes"]) == ("artifact:write", str(saved), len(body))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "body", "media", "expected"),
    [
        ("page.html", HTML, "text/html", HTML),
        ("page.md", HTML, "text/html", b"Hello [there](http://site.test:{port}/x)"),
        ("paper.pdf", pdf("words"), "application/pdf", pdf("words")),
        ("paper.TXT", pdf("words"), "application/pdf", b"[page 1 of 1]\nwords"),
        ("data.bin", b"\0\1\2", "application/zip", b"\0\1\2"),
        ("pic.md", PNG, "image/png", PNG),
        ("broken.txt", b"%PDF-broken", "application/pdf", b"%PDF-broken"),
    ],
    ids=["page", "page-as-text", "pdf", "pdf-as-text", "binary", "image", "broken"],
)
async def test_pages_are_saved_as_text_where_the_name_asks_for_it(
    in_a_folder_of_its_own: Path, name: str, body: bytes, media: str, expected: bytes
) -> None:
    """A web page or PDF with the name of a text file becomes text; everything else stays as it is."""
    server = WebServer({"/": answered(body, media)})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/", save_to_file=name)
        port = str(server.port).encode()
    assert result.success
    assert (in_a_folder_of_its_own / name).read_bytes() == expected.replace(b"{port}", port)


REFUSED = [
    ("outside", "../outside.txt", "outside of the allowed paths"),
    ("absolute", "/tmp/outside.txt", "outside of the allowed paths"),
    ("secret", ".env", "secrets are kept there"),
    ("key", "id_rsa", "secrets are kept there"),
    ("guard", ".amplifier/settings.yaml", "decides what agents may do"),
    ("hook", ".git/hooks/post-checkout", "decides what agents may do"),
    ("link", "link/file.txt", "outside of the allowed paths"),
    ("there", "there.txt", "There is a file by the name there.txt already"),
    ("folder", "folder", "There is a folder by the name folder already"),
    ("below-file", "there.txt/below.txt", "cannot be written"),
    ("nul", "a\0b", "NUL character"),
    ("denied", "denied/file.txt", "denied_write_paths"),
]


@pytest.mark.parametrize(("path", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_a_file_is_written_only_where_it_may_be(in_a_folder_of_its_own: Path, path: str, says: str) -> None:
    """The path policy holds for files from the web, and is asked before anything is fetched."""
    here = in_a_folder_of_its_own
    (here / "folder").mkdir()
    (here / "there.txt").write_text("mine")
    (here / "link").symlink_to("/tmp")
    server = WebServer({"/": answered(b"body")})
    async with server.on():
        tools = await web(denied_write_paths=["denied"])
        result = await tools.get(f"http://site.test:{server.port}/", save_to_file=path)
    assert (result.success, result.error["type"], server.seen) == (False, "not_saved", [])
    assert says in result.error["message"]
    assert (tools.told.get_events(), (here / "there.txt").read_text()) == ([], "mine")


async def test_a_file_is_replaced_only_where_configuration_says_so(in_a_folder_of_its_own: Path) -> None:
    """With 'overwrite' a file that is there gets the content, and a folder stays a folder; what was there is kept."""
    (in_a_folder_of_its_own / "there.txt").write_text("old")
    (in_a_folder_of_its_own / "folder").mkdir()
    server = WebServer({"/": answered(b"new")})
    async with server.on():
        tools, url = await web(overwrite=True), f"http://site.test:{server.port}/"
        kept: list[tuple[Any, ...]] = []
        tools.coordinator.register_capability("files.checkpoint", lambda *given: kept.append(given))
        results = [await tools.get(url, save_to_file=name) for name in ("there.txt", "folder", "made.txt")]
    assert [result.success for result in results] == [True, False, True]
    assert (in_a_folder_of_its_own / "there.txt").read_text() == "new"
    assert [(Path(path).name, *contents) for path, *contents, _ in kept] == [
        ("there.txt", b"old", b"new"),
        ("made.txt", None, b"new"),
    ]


async def test_relative_files_start_in_the_configured_directory(tmp_path: Path) -> None:
    """The working directory of the config is where files go, and the only place where they may."""
    place = tmp_path / "work"
    place.mkdir()
    server = WebServer({"/": answered(b"body")})
    async with server.on():
        tools, url = await web(working_dir=str(place)), f"http://site.test:{server.port}/"
        result = await tools.get(url, save_to_file="file")
        refused = await tools.get(url, save_to_file=str(tmp_path / "file"))
    assert (result.output["saved_to"], refused.success) == (str(place / "file"), False)


async def test_half_a_file_is_not_saved(in_a_folder_of_its_own: Path) -> None:
    """Content beyond the limit is not written at all, and an error page is not what was asked for."""
    server = WebServer({"/big": answered(b"x" * 1001), "/gone": answered(b"gone", status=410)})
    async with server.on():
        tools, url = await web(max_bytes=1000), f"http://site.test:{server.port}"
        big = await tools.get(f"{url}/big", save_to_file="file")
        gone = await tools.get(f"{url}/gone", save_to_file="file")
    assert big.error == {
        "type": "not_saved",
        "message": "Nothing was saved: the content has more than 1000 bytes, which is the limit. "
        "The user can raise 'max_bytes'.",
    }
    assert (gone.error["status"], (in_a_folder_of_its_own / "file").exists()) == (410, False)


async def test_a_disk_that_refuses_is_told(in_a_folder_of_its_own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operating system says about a file reaches the model."""

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("amplifier_module_tool_web.saving.replace_file", full)
    server = WebServer({"/": answered(b"body")})
    async with server.on():
        result = await (await web()).get(f"http://site.test:{server.port}/", save_to_file="file")
    assert result.error == {
        "type": "not_saved",
        "message": "file cannot be written: [Errno 28] No space left on device.",
    }


async def test_the_session_says_where_files_start(tmp_path: Path) -> None:
    """Without a configured directory the session's own is used."""
    from amplifier_module_tool_web.config import WebConfig
    from amplifier_module_tool_web.mounting import fetch_tool

    place = tmp_path / "session"
    place.mkdir()
    coordinator = TestCoordinator()
    coordinator.register_capability("session.working_dir", str(place))
    server = WebServer({"/": answered(b"body")})
    async with server.on():
        config = WebConfig.read({"allow_private": ["127.0.0.0/8"], "allowed_ports": []})
        tool = await fetch_tool(coordinator, config)
        result: Any = await tool.execute({"url": f"http://127.0.0.9:{server.port}/", "save_to_file": "file"})
    assert result.output["saved_to"] == str(place / "file")

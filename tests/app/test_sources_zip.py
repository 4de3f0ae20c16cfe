"""Archives as sources: files and downloads, and archives that are made to do harm."""

from __future__ import annotations

import io
import socketserver
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.app.source_world import files_below, free_port, places_in, sources_in_folder, zip_bytes

from amplifier.problems import SourceProblem
from amplifier.sources import lock_path, write_lock
from amplifier.sources.tree import Limits

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """A server on this machine that answers every request so; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(socketserver.ThreadingMixIn, HTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # whoever asked has gone

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def sending(body: bytes, length: int | None = None) -> Answer:
    """Answers with ``body``; ``length`` is what it says its length is."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.end_headers()
        request.wfile.write(body)

    return answer


def test_an_archive_on_this_machine_is_unpacked(tmp_path: Path) -> None:
    """Relative to the project; without the outer folder that servers put around the files, if there is one."""
    work = places_in(tmp_path).project_dir
    (work / "a.zip").write_bytes(zip_bytes({"repo-main/": b"", "repo-main/x.py": b"1", "repo-main/sub/y.py": b"2"}))
    (work / "b.zip").write_bytes(zip_bytes({"pkg/__init__.py": b"", "pkg/y.py": b"2"}))
    (work / "c.zip").write_bytes(zip_bytes({"x.py": b"1", "sub/y.py": b"2"}))
    (work / "d.zip").write_bytes(zip_bytes({}))
    sources = sources_in_folder(tmp_path)
    assert files_below(sources.find("./a.zip").folder) == {"x.py": "1", "sub/y.py": "2"}
    assert files_below(sources.find("b.zip").folder) == {"pkg/__init__.py": "", "pkg/y.py": "2"}
    assert sources.find("./c.zip").root == sources.find("./a.zip").root
    assert files_below(sources.find("./c.zip#subdirectory=sub").folder) == {"y.py": "2"}
    assert files_below(sources.find("./d.zip").folder) == {}
    assert [each.name for each in sources.used.values()] == [
        "./a.zip", "./b.zip", "./c.zip", "./c.zip#subdirectory=sub", "./d.zip",
    ]  # fmt: skip


def test_an_archive_that_changes_is_unpacked_again_unless_it_is_locked(tmp_path: Path) -> None:
    """A locked one that changed by a byte is refused, frozen or not."""
    file = places_in(tmp_path).project_dir / "a.zip"
    file.write_bytes(zip_bytes({"x.py": b"1"}))
    assert files_below(sources_in_folder(tmp_path).find("./a.zip").folder) == {"x.py": "1"}
    assert sources_in_folder(tmp_path).find("./a.zip").state == "cached"
    file.write_bytes(zip_bytes({"x.py": b"2"}))
    found = (sources := sources_in_folder(tmp_path)).find("./a.zip")
    assert files_below(found.folder) == {"x.py": "2"}
    write_lock(lock_path(places_in(tmp_path)), {"./a.zip": sources.pin_of(found)})
    assert sources_in_folder(tmp_path, is_frozen=True).find("./a.zip").state == "locked"
    file.write_bytes(zip_bytes({"x.py": b"3"}))
    for is_frozen in (False, True):
        with pytest.raises(SourceProblem, match=r"The source ./a.zip is not what was locked: expected sha256:"):
            sources_in_folder(tmp_path, is_frozen=is_frozen).find("./a.zip")


def test_an_archive_is_downloaded_once(tmp_path: Path) -> None:
    """Afterwards nobody is asked; programs stay programs."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        program = zipfile.ZipInfo("run")
        program.external_attr = 0o100755 << 16
        archive.writestr(program, "#!")
    with serving(sending(target.getvalue())) as address:
        found = sources_in_folder(tmp_path).find(f"{address}/a.zip")
        assert (found.state, (found.folder / "run").stat().st_mode & 0o777) == ("fetched", 0o755)
    assert sources_in_folder(tmp_path).find(f"{address}/a.zip").state == "cached"
    with pytest.raises(SourceProblem, match="is not in the cache, and nothing may be fetched"):
        sources_in_folder(tmp_path, is_offline=True).find(f"{address}/b.zip")


def _redirect(place: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/b.zip":
            sending(zip_bytes({"x.py": b"1"}))(request)
            return
        request.send_response(302)
        request.send_header("Location", place)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def test_redirects_lead_to_places_as_safe(tmp_path: Path) -> None:
    """To the same server, and never to files or to other open connections."""
    with serving(_redirect("/b.zip")) as address:
        assert files_below(sources_in_folder(tmp_path).find(f"{address}/a.zip").folder) == {"x.py": "1"}
    for place in ("http://e.org/a.zip", "ftp://u:p@e.org/x"):
        with serving(_redirect(place)) as address, pytest.raises(SourceProblem) as caught:
            sources_in_folder(tmp_path).find(f"{address}/a.zip")
        told = place.replace("u:p@", "")
        assert caught.value.message.endswith(f"the server sends us to {told}, which is not as safe.")
    with serving(_redirect("file:///etc/passwd")) as address, pytest.raises(SourceProblem, match="is not allowed"):
        sources_in_folder(tmp_path).find(f"{address}/a.zip")


def _failing(request: BaseHTTPRequestHandler) -> None:
    request.send_response(404)
    request.end_headers()


def _dripping(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"x")
        request.wfile.flush()


def _silent(request: BaseHTTPRequestHandler) -> None:
    request.rfile.read(1)


def _babbling(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"what?\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (_failing, "the server answered 404 Not Found"),
        (sending(b"12", length=5), "the connection ended too early"),
        (_dripping, "the server took longer than 0.2 s"),
        (_silent, "timed out"),
        (_babbling, "what?"),
        (sending(b"x" * 5000), "it is larger than 3,000 bytes"),
    ],
    ids=["404", "short", "dripping", "silent", "babbling", "large"],
)
def test_a_server_that_does_not_give_it_is_told(tmp_path: Path, answer: Answer, reason: str) -> None:
    """In time, and with nothing left behind."""
    limits = Limits(timeout_s=0.2, max_bytes=10**9 if answer is _dripping else 3000)
    sources = sources_in_folder(tmp_path, limits=limits)
    with serving(answer) as address, pytest.raises(SourceProblem) as caught:
        sources.find(f"{address}/a.zip")
    assert caught.value.message.startswith(f"{address}/a.zip cannot be fetched: {reason}")
    assert list((sources.cache.root / "drafts").iterdir()) == []


def test_no_server_and_no_file_is_told(tmp_path: Path) -> None:
    """With the reason of the system."""
    port = free_port()
    with pytest.raises(SourceProblem, match="Connection refused"):
        sources_in_folder(tmp_path).find(f"http://127.0.0.1:{port}/a.zip")
    with pytest.raises(SourceProblem, match="No such file or directory"):
        sources_in_folder(tmp_path).find("./a.zip")


def _special(name: str, mode: int, content: bytes = b"/etc/passwd") -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        about = zipfile.ZipInfo(name)
        about.external_attr = mode << 16
        archive.writestr(about, content)
    return target.getvalue()


def _encrypted() -> bytes:
    content = bytearray(zip_bytes({"a": b"x"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def _damaged() -> bytes:
    content = bytearray(zip_bytes({"a": b"12345678" * 40}))
    content[40] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zip_bytes({"../evil": b"x"}), "has a file named '../evil'"),
        (zip_bytes({"a/../../evil": b"x", "b": b""}), "has a file named 'a/../../evil'"),
        (zip_bytes({"/evil": b"x"}), "has a file named '/evil'"),
        (zip_bytes({"a\\..\\evil": b"x"}), "has a file named"),
        (zip_bytes({"C:/evil": b"x", "b": b""}), "has a file named 'C:/evil'"),
        (zip_bytes({"a/b": b"x", "a/b/c": b""}), "has 'b/c' twice"),
        (_special("link", 0o120777), "'link' in it is a link or a device"),
        (_special("pipe", 0o010666), "'pipe' in it is a link or a device"),
        (_encrypted(), "'a' in it is encrypted"),
        (_damaged(), "it is no zip archive, or a damaged one"),
        (b"no archive", "it is no zip archive, or a damaged one"),
        (zip_bytes({"bomb": b"\0" * 200_000}), "is larger than 100,000 bytes"),
        (zip_bytes({f"{number}": b"" for number in range(21)}), "has more than 20 files"),
    ],
    ids=["up", "up-inside", "absolute", "backslash", "drive", "twice", "link", "pipe", "encrypted", "damaged", "none",
         "bomb", "many"],
)  # fmt: skip
def test_an_archive_that_is_made_to_do_harm_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    """Nothing is written outside, and nothing is kept."""
    (places_in(tmp_path).project_dir / "a.zip").write_bytes(content)
    sources = sources_in_folder(tmp_path, limits=Limits(max_files=20, max_bytes=100_000))
    with pytest.raises(SourceProblem) as caught:
        sources.find("./a.zip")
    assert reason in caught.value.message
    assert list(tmp_path.rglob("*evil*")) == []
    assert not (sources.cache.root / "trees").exists()

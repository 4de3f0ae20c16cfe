"""Brings a zip archive to this machine and unpacks it; neither the server nor the archive is trusted."""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from amplifier.problems import SourceProblem
from amplifier.sources.address import Address, told
from amplifier.sources.tree import Limits, TreeWriter

_CHUNK = 1 << 16
_READ_TIMEOUT_S = 30.0
_ENCRYPTED = 0x1


def fetch_archive(address: Address, target: Path, limits: Limits) -> str:
    """Writes the archive to ``target`` and gives its hash; raises ``SourceProblem``."""
    with target.open("wb") as file:
        return _hashed(address, limits, file.write)


def archive_hash(address: Address, limits: Limits) -> str:
    """The hash of an archive on this machine; raises ``SourceProblem`` where it cannot be read."""
    return _hashed(address, limits, len)


def _hashed(address: Address, limits: Limits, take: Callable[[bytes], object]) -> str:
    digest = hashlib.sha256()
    size = 0
    for chunk in _chunks(address, limits):
        size += len(chunk)
        if size > limits.max_bytes:
            raise _failed(address, f"it is larger than {limits.max_bytes:,} bytes")
        digest.update(chunk)
        take(chunk)
    return f"sha256:{digest.hexdigest()}"


def unpack(archive: Path, writer: TreeWriter, address: Address) -> None:
    """Writes the files of ``archive``; without the single outer folder that servers of code put around them."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(archive) as opened:
            members = [each for each in opened.infolist() if not each.is_dir()]
            outer = _outer_folder([each.filename for each in members])
            for member in members:
                _require_plain(member, address)
                with opened.open(member) as content:
                    is_executable = bool(member.external_attr >> 16 & stat.S_IXUSR)
                    name = member.filename.removeprefix(outer)
                    writer.add_file(name, _pieces(content), is_executable=is_executable)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _failed(address, f"it is no zip archive, or a damaged one ({error})") from None
    writer.finish()


def _require_plain(member: Any, address: Address) -> None:
    mode = member.external_attr >> 16
    if member.flag_bits & _ENCRYPTED:
        raise _failed(address, f"{member.filename!r} in it is encrypted")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise _failed(address, f"{member.filename!r} in it is a link or a device")


def _outer_folder(names: list[str]) -> str:
    first = names[0].partition("/")[0] + "/" if names and "/" in names[0] else ""
    # A package is a folder as well; its own folder must stay.
    if not first.strip("./") or any(not name.startswith(first) for name in names) or f"{first}__init__.py" in names:
        return ""
    return first


def _chunks(address: Address, limits: Limits) -> Iterator[bytes]:
    if not address.is_local:
        yield from _downloaded(address, limits)
        return
    try:
        with Path(address.place).open("rb") as file:
            yield from _pieces(file)
    except OSError as error:
        raise _failed(address, f"{address.place}: {error.strerror}") from None


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _downloaded(address: Address, limits: Limits) -> Iterator[bytes]:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    deadline = time.monotonic() + limits.timeout_s
    request = Request(address.place, headers={"User-Agent": "amplifier", "Accept": "*/*"})
    try:
        with _opener().open(request, timeout=min(_READ_TIMEOUT_S, limits.timeout_s)) as answer:
            # Piece by piece as they come: a server that sends a byte a minute must not hold us.
            while chunk := answer.read1(_CHUNK):
                yield chunk
                if time.monotonic() > deadline:
                    raise _failed(address, f"the server took longer than {limits.timeout_s:g} s")
            if answer.length:
                raise _failed(address, "the connection ended too early")
    except HTTPError as error:
        error.close()
        raise _failed(address, f"the server answered {error.code} {error.reason}") from None
    except (OSError, HTTPException) as error:
        raise _failed(address, str(getattr(error, "reason", None) or error)) from None


def _opener() -> Any:
    from urllib.request import HTTPRedirectHandler, build_opener

    class Closed(HTTPRedirectHandler):
        """Follows to addresses as closed as the first; never to files, and never from https to http."""

        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            before, after = urlsplit(str(req.full_url)), urlsplit(newurl)
            is_as_closed = after.scheme == "https" or (after.scheme, after.hostname) == (before.scheme, before.hostname)
            if not is_as_closed:
                fp.close()
                raise OSError(f"the server sends us to {told(newurl)}, which is not as safe")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return build_opener(Closed)


def _failed(address: Address, why: str) -> SourceProblem:
    return SourceProblem(f"{told(address.text)} cannot be fetched: {told(why)}.", "Check the address and the network.")

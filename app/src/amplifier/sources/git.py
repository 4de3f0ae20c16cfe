"""Brings one commit of a repository to this machine with the program ``git``.

The server is not trusted: nothing of the repository is run, no filter and no hook, submodules are not fetched, and
files are written by us, one by one. The user's own git settings count for the connection alone (credentials, proxies).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NoReturn

from amplifier.problems import SourceProblem
from amplifier.sources.address import SECURE, Address, told
from amplifier.sources.processes import Ended, TooMuchError, run_limited
from amplifier.sources.tree import Limits, TreeWriter

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{4,63}")
_KEPT_VARIABLES = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})
_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "protocol.ext.allow=never",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_CHUNK = 1 << 20
_ALL_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_REGULAR, _EXECUTABLE, _LINK = b"100644", b"100755", b"120000"


class GitFetch:
    """One fetch into ``folder``, an empty one that the caller removes; ``commit`` is known after ``fetch``."""

    def __init__(self, address: Address, folder: Path, limits: Limits, environ: Mapping[str, str]) -> None:
        self._address = address
        self._folder = folder
        self._repository = folder / "repository.git"
        self._limits = limits
        self._environ = git_environ(environ, address.place)
        self.commit = ""

    def fetch(self, wanted: str | None) -> None:
        """Fetches the commit ``wanted``, or without it the one that the address names now."""
        self._repository.mkdir(parents=True)
        self._require(self._git("init", "--quiet", "--bare", "."))
        if wanted is not None:
            self.commit = self._fetch_commit(wanted)
        elif self._address.ref is not None and _COMMIT.fullmatch(self._address.ref):
            self.commit = self._fetch_commit(self._address.ref)
        else:
            self.commit = self._fetch_ref(self._address.ref or "HEAD")

    def write(self, writer: TreeWriter) -> None:
        """Writes the files of the commit."""
        listed = self._require(self._git("ls-tree", "-r", "-z", "--full-tree", self.commit))
        with _Blobs(self._command("cat-file", "--batch"), self._repository, self._environ) as blobs:
            for line in listed.out.split(b"\0")[:-1]:
                about, _, path = line.partition(b"\t")
                mode, kind, identity = about.split(b" ")
                name = path.decode("utf-8", "replace")
                if kind != b"blob":
                    continue  # a submodule: it would be another repository
                if mode == _LINK:
                    writer.add_link(name, b"".join(blobs.read(identity)).decode("utf-8", "replace"))
                else:
                    writer.add_file(name, blobs.read(identity), is_executable=mode == _EXECUTABLE)
        writer.finish()

    def _fetch_ref(self, ref: str) -> str:
        ended = self._git("fetch", "--quiet", "--depth=1", "--no-tags", self._address.place, ref)
        if ended.code == 0:
            return self._commit_of("FETCH_HEAD")
        if "find remote ref" not in ended.err:
            self._fail(ended)
        if not _SHORT_COMMIT.fullmatch(ref):
            raise SourceProblem(
                f"{self._told} has no branch, tag or commit '{ref}'.", "Check the part of the source behind '@'."
            )
        self._require(self._git("fetch", "--quiet", "--no-tags", self._address.place, *_ALL_REFS))
        return self._commit_of(ref)

    def _fetch_commit(self, commit: str) -> str:
        ended = self._git("fetch", "--quiet", "--depth=1", "--no-tags", self._address.place, commit)
        if ended.code != 0 and not self._has(commit):
            # Not every server gives commits by their id; then it must be behind a branch or a tag.
            self._fetch_everything(ended)
        if not self._has(commit):
            raise SourceProblem(
                f"{self._told} does not have the commit {commit} any more: it was rewritten or removed.",
                "If the change is meant: amplifier lock --update SOURCE. If not, ask those who made it.",
            )
        return commit

    def _fetch_everything(self, refused: Ended) -> None:
        ended = self._git("fetch", "--quiet", "--no-tags", self._address.place, *_ALL_REFS)
        if ended.code != 0:
            self._fail(refused if "not our ref" not in refused.err else ended)

    def _has(self, commit: str) -> bool:
        return self._git("cat-file", "-e", f"{commit}^{{commit}}").code == 0

    def _commit_of(self, name: str) -> str:
        ended = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        commit = ended.out.decode("ascii", "replace").strip()
        if ended.code != 0 or not _COMMIT.fullmatch(commit):
            raise SourceProblem(f"{self._told} has no commit '{name}'.", "Check the part of the source behind '@'.")
        return commit

    @property
    def _told(self) -> str:
        return told(self._address.text)

    def _command(self, *args: str) -> list[str]:
        return ["git", *(word for each in _SAFE for word in ("-c", each)), *args]

    def _git(self, *args: str) -> Ended:
        limits = self._limits
        try:
            return run_limited(
                self._command(*args),
                self._environ,
                self._repository,
                timeout_s=limits.timeout_s,
                max_bytes=limits.max_bytes,
            )
        except TooMuchError as error:
            raise SourceProblem(
                f"{self._told} cannot be fetched: the server {error}.",
                "Try again later; a larger limit is set with sources.timeout.",
            ) from None
        except FileNotFoundError:
            raise SourceProblem(
                f"{self._told} cannot be fetched: the program git is not there.", "Install git, and call it again."
            ) from None

    def _require(self, ended: Ended) -> Ended:
        if ended.code != 0:
            self._fail(ended)
        return ended

    def _fail(self, ended: Ended) -> NoReturn:
        lines = [line.strip() for line in told(ended.err).splitlines() if line.strip()]
        reason = next(
            (line for line in lines if line.startswith(("fatal:", "error:", "remote:"))), "git gave no reason"
        )
        raise SourceProblem(
            f"{self._told} cannot be fetched: {reason[:300]}",
            "Check the address, the network, and whether git can read it: nothing is asked for here.",
        )


def git_environ(environ: Mapping[str, str], url: str) -> dict[str, str]:
    """The variables for git: nothing of a repository around us, no questions, and only the protocol that was named."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    scheme = url.partition("://")[0]
    # A user's git may be told to go to https addresses by ssh; nothing leads from a network to files.
    allowed = "https:ssh" if scheme in SECURE and scheme != "file" else scheme
    return {
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_ALLOW_PROTOCOL": allowed,
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
        "PATH": environ.get("PATH", os.defpath),
    }


class _Blobs:
    """Contents of files by their id, from one running ``git cat-file --batch``."""

    def __init__(self, command: list[str], repository: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=repository,
            env=dict(environ),
        )  # fmt: skip

    def __enter__(self) -> _Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read(self, identity: bytes) -> Iterator[bytes]:
        """The content in pieces; to be read to its end before the next one."""
        wanted, answers = _pipes(self._process)
        wanted.write(identity + b"\n")
        wanted.flush()
        head = answers.readline().split()
        if len(head) != 3:
            raise SourceProblem(
                f"The repository lacks the object {identity.decode()}, which its commit names.", "Fetch it again."
            )
        left = int(head[2])
        while left:
            chunk = answers.read(min(left, _CHUNK))
            left -= len(chunk)
            yield chunk
        answers.read(1)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout

"""Attacks on the path policy: a small world with something to steal and something to spoil, and a row per attempt.

A row says what is prepared, which path is asked for, and the verdict. ``CANARY`` is in every file that must not be
read, and whatever is outside of the project must stay as it is.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

CANARY = "canary-3f9c"
Verdict = Literal["denied", "invalid", "unstable", "missing", "no folder", "fails", "allowed"]


@dataclass(frozen=True, slots=True)
class World:
    """The folders of the world: a home, a project to work in, and what is around."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    def build(self) -> World:
        """Makes it; readable text in the project, canaries elsewhere."""
        for path in (
            "home/.ssh/id_ed25519",
            "home/.ssh/config",
            "home/.aws/credentials",
            "home/.gnupg/private.kbx",
            "home/.netrc",
            "home/.config/gcloud/access.db",
            "home/.config/gh/hosts.yml",
            "home/.docker/config.json",
            "home/.kube/config",
            "home/.amplifier/keys.env",
            "home/.bashrc",
            "outside/secret.txt",
            "outside/folder/inner.txt",
            "project/.env",
            "project/.env.production",
            "project/server.pem",
            "project/tls/site.key",
            "project/deploy/id_rsa",
            "project/.git-credentials",
            "project/denied/secret.txt",
            "project/denied/public/open.txt",
            "project/notes/diary.lock",
        ):
            self._write(path, CANARY)
        for path in (
            "project/readme.md",
            "project/src/main.py",
            "project/src/deep/er/x.py",
            "project/.env.example",
            "project/.gitignore",
            "project/environment.txt",
            "project/denied-not/fine.txt",
            "project/we ird/a.txt",
            "project/.git/config",
            "project/.git/hooks/pre-commit",
            "project/.amplifier/settings.yaml",
            "project/.claude/settings.json",
            "project/.mcp.json",
        ):
            self._write(path, "harmless")
        return self

    def link(self, name: str, target: str | Path) -> None:
        """Makes a link in the project."""
        (self.project / name).symlink_to(target)

    def snapshot(self) -> dict[str, tuple[bytes, int]]:
        """Content and mode of every file that must not change."""
        kept = (self.home, self.outside, self.project / "denied", self.project / ".git", self.project / ".amplifier")
        files = [file for root in kept for file in root.rglob("*") if file.is_file() and not file.is_symlink()]
        secrets = [self.project / name for name in (".env", ".env.production", "server.pem", "tls/site.key")]
        return {str(file): (file.read_bytes(), file.stat().st_mode) for file in [*files, *secrets] if file.exists()}

    def _write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def confined(world: World) -> dict[str, Any]:
    """Reading and writing in the project only, but for what is denied there."""
    return {
        "allowed_read_paths": ["."],
        "denied_read_paths": ["denied", "*.lock"],
        "denied_write_paths": ["denied", "*.lock"],
    }


def wide(world: World) -> dict[str, Any]:
    """Reading everywhere, as without a config; writing everywhere, as nobody should."""
    return {"allowed_write_paths": ["/"], "denied_read_paths": ["denied"], "denied_write_paths": ["denied"]}


@dataclass(frozen=True, slots=True)
class Attack:
    """One attempt. In ``path``, ``{home}``, ``{project}``, ``{outside}`` and ``{user}`` are filled in."""

    id: str
    path: str
    read: Verdict = "denied"
    write: Verdict = "denied"
    prepare: Callable[[World], object] | None = None
    config: Callable[[World], dict[str, Any]] = confined

    def asked(self, world: World) -> str:
        """The path as the model gives it."""
        pairs = {"{home}": world.home, "{project}": world.project, "{outside}": world.outside}
        path = self.path
        for key, folder in pairs.items():
            path = path.replace(key, str(folder))
        return path


def _links(*pairs: tuple[str, str]) -> Callable[[World], object]:
    def prepare(world: World) -> None:
        folders = {"home": world.home, "project": world.project, "outside": world.outside}
        for name, target in pairs:
            world.link(name, target.format(**folders))

    return prepare


def _chain(length: int, end: str) -> Callable[[World], object]:
    def prepare(world: World) -> None:
        for number in range(length):
            world.link(f"link{number}", f"link{number + 1}" if number < length - 1 else world.root / end)

    return prepare


def _twin(source: str) -> Callable[[World], object]:
    return lambda world: os.link(world.root / source, world.project / "twin.txt")


def _socket(world: World) -> None:
    # Its path must be short, so it is made by a name in the folder.
    here = Path.cwd()
    os.chdir(world.project)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind("sock")
        finally:
            os.chdir(here)


_DEEP = "src/" + "../src/" * 20

ATTACKS = (
    # Ways out of the project.
    Attack("parent", "../outside/secret.txt"),
    Attack("many-parents", "../" * 60 + "etc/passwd"),
    Attack("parent-in-the-middle", "src/../../outside/secret.txt"),
    Attack("parent-of-a-file", "readme.md/../../outside/secret.txt", "no folder", "no folder"),
    Attack("parent-of-nothing", "nothing/../../outside/secret.txt", "missing", "missing"),
    Attack("parents-beyond-the-root", "/../../../..{outside}/secret.txt"),
    Attack("absolute", "{outside}/secret.txt"),
    Attack("absolute-not-there", "{outside}/nothing.txt"),
    Attack("absolute-folder-not-there", "{outside}/no/such/thing.txt"),
    Attack("through-a-file-outside", "{outside}/secret.txt/x"),
    Attack("two-slashes", "//{outside}/secret.txt"),
    Attack("many-slashes", "////{outside}////secret.txt"),
    Attack("dots-and-slashes", "{project}/./.././outside/./secret.txt"),
    Attack("trailing-slash", "{outside}/secret.txt/"),
    Attack("name-begins-like-the-root", "{project}-evil/x"),
    Attack("system-file", "/etc/passwd"),
    Attack("root", "/"),
    Attack("folder-above", ".."),
    Attack("long-way-round", _DEEP + "main.py", "allowed", "allowed"),
    Attack("long-way-out", _DEEP + "../../outside/secret.txt"),
    # Links.
    Attack("link-to-a-file", "link", prepare=_links(("link", "{outside}/secret.txt"))),
    Attack("relative-link", "link", prepare=_links(("link", "../outside/secret.txt"))),
    Attack("link-to-a-folder", "link/inner.txt", prepare=_links(("link", "{outside}/folder"))),
    Attack("new-file-in-a-linked-folder", "link/new.txt", prepare=_links(("link", "{outside}/folder"))),
    Attack("new-folder-in-a-linked-folder", "link/a/b/new.txt", prepare=_links(("link", "{outside}/folder"))),
    Attack("link-to-nothing-outside", "link", prepare=_links(("link", "{outside}/new.txt"))),
    Attack("link-to-a-link", "one", prepare=_links(("one", "two"), ("two", "{outside}/secret.txt"))),
    Attack("chain-of-forty-links", "link0", prepare=_chain(40, "outside/secret.txt")),
    Attack("chain-of-forty-harmless-links", "link0", "allowed", "allowed", prepare=_chain(40, "project/readme.md")),
    Attack("chain-of-too-many-links", "link0", "unstable", "unstable", prepare=_chain(41, "project/readme.md")),
    Attack("link-to-itself", "loop", "unstable", "unstable", prepare=_links(("loop", "loop"))),
    Attack("loop-of-links", "a", "unstable", "unstable", prepare=_links(("a", "b"), ("b", "a"))),
    Attack("loop-through-a-folder", "x/x/readme.md", "unstable", "unstable", prepare=_links(("x", "x/.."))),
    Attack("parent-behind-a-link", "link/../secret.txt", prepare=_links(("link", "{outside}/folder"))),
    Attack("link-out-and-in-again", "link", "allowed", "allowed", _links(("link", "../outside/../project/readme.md"))),
    Attack("link-to-the-root", "link{outside}/secret.txt", prepare=_links(("link", "/"))),
    Attack("link-to-here", "dot/dot/../outside/secret.txt", prepare=_links(("dot", "."))),
    Attack("harmless-link", "link", "allowed", "allowed", prepare=_links(("link", "src/main.py"))),
    Attack("link-to-a-secret", "link.txt", prepare=_links(("link.txt", ".env"))),
    Attack("link-to-what-is-denied", "link", prepare=_links(("link", "denied/secret.txt"))),
    Attack("secret-name-that-is-a-link", ".env.local", prepare=_links((".env.local", "readme.md"))),
    # Hard links: other names of a file.
    Attack("hard-link-to-a-denied-file", "twin.txt", "denied", "allowed", _twin("project/denied/secret.txt")),
    Attack("hard-link-to-a-key", "twin.txt", "denied", "allowed", _twin("home/.ssh/id_ed25519")),
    Attack("hard-link-to-a-secret-file", "twin.txt", "denied", "denied", _twin("home/.netrc")),
    # What is denied wins.
    Attack("denied-inside-allowed", "denied/secret.txt"),
    Attack("denied-folder-itself", "denied"),
    Attack("allowed-name-inside-denied", "denied/public/open.txt"),
    Attack("denied-and-not-there", "denied/nothing/at/all"),
    Attack("through-denied-and-back", "denied/../readme.md"),
    Attack("denied-by-pattern", "notes/diary.lock"),
    Attack("denied-by-pattern-and-below", "diary.lock/x"),
    Attack("denied-in-another-case", "DENIED/secret.txt"),
    Attack("denied-with-a-dot", "denied./secret.txt"),
    Attack("denied-with-a-space", "denied /secret.txt"),
    Attack("denied-with-an-invisible-character", "den\u200bied/secret.txt"),
    Attack("denied-with-a-stream", "denied::$INDEX_ALLOCATION/secret.txt"),
    Attack("begins-like-denied", "denied-not/fine.txt", "allowed", "allowed"),
    # Secrets.
    Attack("env", ".env"),
    Attack("env-of-production", ".env.production"),
    Attack("env-in-another-case", ".ENV"),
    Attack("env-in-wide-letters-is-another-file", ".ｅnv", "missing", "allowed"),
    Attack("env-with-a-dot", ".env."),
    Attack("env-with-a-stream", ".env::$DATA"),
    Attack("env-with-an-invisible-character", ".e\u200dnv"),
    Attack("env-in-a-new-folder", "new/folder/.env"),
    Attack("env-roundabout", "src/.././src/../.env"),
    Attack("env-example", ".env.example", "allowed", "allowed"),
    Attack("no-env", "environment.txt", "allowed", "allowed"),
    Attack("certificate", "server.pem"),
    Attack("key-in-capitals", "tls/SITE.KEY"),
    Attack("key-without-extension", "deploy/id_rsa"),
    Attack("git-credentials", ".git-credentials"),
    Attack("key-of-the-user", "~/.ssh/id_ed25519", config=wide),
    Attack("key-by-the-absolute-path", "{home}/.ssh/id_ed25519", config=wide),
    Attack("not-there-beside-the-keys", "~/.ssh/nothing", config=wide),
    Attack("folder-of-the-keys", "~/.ssh", config=wide),
    Attack("keys-of-another-user", "/home/somebody/.ssh/id_rsa", config=wide),
    Attack("keys-of-root", "~root/.ssh/authorized_keys", config=wide),
    Attack("cloud-credentials", "~/.aws/credentials", config=wide),
    Attack("cloud-credentials-deep", "~/.config/gcloud/access.db", config=wide),
    Attack("tokens", "~/.config/gh/hosts.yml", config=wide),
    Attack("netrc", "~/.netrc", config=wide),
    Attack("gnupg", "~/.gnupg/private.kbx", config=wide),
    Attack("docker", "~/.docker/config.json", config=wide),
    Attack("kube", "~/.kube/config", config=wide),
    Attack("own-keys", "~/.amplifier/keys.env", config=wide),
    Attack("shadow", "/etc/shadow", config=wide),
    Attack("link-to-the-keys", "keys/id_ed25519", prepare=_links(("keys", "{home}/.ssh")), config=wide),
    # What guards the agent may be read, and not be written.
    Attack("own-settings", ".amplifier/settings.yaml", "allowed"),
    Attack("own-settings-new", ".amplifier/settings.local.yaml", "missing"),
    Attack("own-settings-in-another-case", ".Amplifier/settings.yaml", "missing"),
    Attack("settings-of-others", ".claude/settings.json", "allowed"),
    Attack("servers", ".mcp.json", "allowed"),
    Attack("git-hook", ".git/hooks/pre-commit", "allowed"),
    Attack("git-config", ".git/config", "allowed"),
    Attack("git-config-of-a-module", "sub/.git/config", "missing"),
    Attack("gitignore", ".gitignore", "allowed", "allowed"),
    Attack("link-to-own-settings", "s.yaml", "allowed", prepare=_links(("s.yaml", ".amplifier/settings.yaml"))),
    # What is no file.
    Attack("memory", "/proc/self/mem", config=wide),
    Attack("environment", "/proc/self/environ", config=wide),
    Attack("environment-of-the-parent", f"/proc/{os.getppid()}/environ", config=wide),
    Attack("other-name-of-the-root", "/proc/self/root/etc/passwd", config=wide),
    Attack("other-name-of-the-directory", "/proc/self/cwd/readme.md", config=wide),
    Attack("open-file", "/proc/self/fd/0", config=wide),
    Attack("standard-input", "/dev/stdin", config=wide),
    Attack("terminal", "/dev/tty", config=wide),
    Attack("null", "/dev/null", config=wide),
    Attack("endless", "/dev/zero", config=wide),
    Attack("kernel", "/sys/kernel/uevent_seqnum", config=wide),
    Attack("link-to-a-device", "zero", prepare=_links(("zero", "/dev/zero")), config=wide),
    Attack("link-to-memory", "mem", prepare=_links(("mem", "/proc/self/mem")), config=wide),
    Attack("pipe", "pipe", prepare=lambda world: os.mkfifo(world.project / "pipe"), config=wide),
    Attack("socket", "sock", prepare=_socket, config=wide),
    # What is no path.
    Attack("nul", "readme.md\x00.txt", "invalid", "invalid"),
    Attack("lone-surrogate", "\ud800.txt", "invalid", "invalid"),
    Attack("too-long", "x" * 5000, "invalid", "invalid"),
    Attack("name-too-long", "x" * 300, "fails", "fails"),
    Attack("name-too-long-outside", "{outside}/" + "x" * 300),
    Attack("unknown-user", "~nobody-of-that-name/.ssh/id_rsa"),
    Attack("newline-in-a-name", "readme.md\n../outside/secret.txt", "missing", "allowed"),
    Attack("space-in-a-name", "we ird/a.txt", "allowed", "allowed"),
    Attack("url", "file:///etc/passwd", "missing", "allowed"),
    Attack("encoded", "..%2foutside%2fsecret.txt", "missing", "allowed"),
    Attack("backslashes", "..\\outside\\secret.txt", "missing", "allowed"),
    Attack("variable", "$HOME/.bashrc", "missing", "allowed"),
    Attack("wildcard", "../outside/*"),
    Attack("command", "$(cat ../outside/secret.txt)", "missing", "allowed"),
    Attack("combining-accent", "de\u0301nied/x", "missing", "allowed"),
)  # fmt: skip

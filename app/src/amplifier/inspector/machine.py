"""The machine under the command: Python, packages and extras, sandbox, disk, and, if asked, the network."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from amplifier.inspector.finding import Finding

OLDEST_PYTHON = (3, 11)
EXTRAS = (
    ("httpx2", "providers of models over the network", "amplifier-modules[providers]"),
    ("xllamacpp", "the embedded model", "amplifier-modules[local]"),
    ("mcp", "MCP servers", "amplifier-modules[mcp]"),
    ("html_to_markdown", "reading web pages", "amplifier-modules[web]"),
    ("keyring", "keys in the system's keyring", "keyring"),
)
"""Packages that something needs which not everybody has, what that is, and what to install."""

PROGRAMS = (("git", "sources from git", "git"), ("rg", "quicker search", "ripgrep"))
"""Programs that are used where they are there, what for, and what to install."""

HOSTS = {
    "provider-anthropic": "api.anthropic.com",
    "provider-openai": "api.openai.com",
    "provider-gemini": "generativelanguage.googleapis.com",
}
LEAST_FREE, LITTLE_FREE = 100_000_000, 1_000_000_000
_LIMIT_S = 5.0
_LSM = Path("/sys/kernel/security/lsm")

Run = Callable[[list[str]], bool]
Reach = Callable[[str], str | None]


def look_at_python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """Whether this Python is new enough."""
    told = f"Python {'.'.join(map(str, version))} on {platform.system()}"
    if version[:2] < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding("python", "broken", f"{told} is too old", f"Install Python {wanted} or later.")
    return Finding("python", "ok", told)


def look_at_extras(is_there: Callable[[str], bool] = lambda name: find_spec(name) is not None) -> Iterator[Finding]:
    """What can be installed beside the command, and what it is for."""
    missing = [(purpose, extra) for name, purpose, extra in EXTRAS if not is_there(name)]
    present = [purpose for name, purpose, _ in EXTRAS if is_there(name)]
    yield Finding("extras", "ok", f"there is: {', '.join(present) or 'nothing beside what is needed'}")
    for purpose, extra in missing:
        yield Finding("extras", "note", f"not there: {purpose}", f'pip install "{extra}"')


def look_at_programs(which: Callable[[str], str | None] = shutil.which) -> Iterator[Finding]:
    """Programs that are used where they are there."""
    for name, purpose, package in PROGRAMS:
        path = which(name)
        if path is None:
            yield Finding("programs", "note", f"{name} is not there ({purpose})", f"Install {package}.")
        else:
            yield Finding("programs", "ok", f"{name} ({purpose}): {path}")


def look_at_sandbox(
    which: Callable[[str], str | None] = shutil.which, runs: Run | None = None, lsm: Path = _LSM
) -> Finding:
    """How commands of an agent can be confined: by bubblewrap, by Landlock, or not at all."""
    program = which("bwrap")
    works = runs or _runs
    if program is not None and works([program, "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"]):
        return Finding("sandbox", "ok", f"bubblewrap works ({program})")
    if _has_landlock(lsm):
        told = "bubblewrap does not run here" if program else "bubblewrap is not there"
        return Finding("sandbox", "note", f"Landlock alone confines commands: {told}", _SANDBOX_FIX)
    told = "bubblewrap does not run here (are user namespaces allowed?)" if program else "there is no bubblewrap"
    return Finding("sandbox", "note", f"commands of an agent are not confined: {told}, and no Landlock", _SANDBOX_FIX)


_SANDBOX_FIX = "Install bubblewrap and allow user namespaces; 'sandbox.mode: required' refuses to run without."


def look_at_disk(home: Path, free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free) -> Finding:
    """Whether there is room for sessions."""
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    left = free(there)
    told = f"{left / 1e9:.1f} GB are free for {home}"
    if left < LEAST_FREE:
        return Finding("disk", "broken", told, "Make room; amplifier session cleanup deletes old sessions.")
    if left < LITTLE_FREE:
        return Finding("disk", "note", told, "amplifier session cleanup deletes old sessions.")
    return Finding("disk", "ok", told)


def look_at_network(providers: Iterable[str], reach: Reach | None = None) -> Iterator[Finding]:
    """Whether the services of the providers with a key can be reached."""
    hosts = [HOSTS[each] for each in providers if each in HOSTS]
    if not hosts:
        yield Finding("network", "ok", "no provider that needs it has a key")
    for host in hosts:
        problem = (reach or _reached)(host)
        if problem is None:
            yield Finding("network", "ok", f"{host} can be reached")
        else:
            yield Finding(
                "network", "broken", f"{host} cannot be reached: {problem}", "Check the connection, proxy and firewall."
            )


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _has_landlock(lsm: Path) -> bool:
    try:
        return "landlock" in lsm.read_text(encoding="ascii").split(",")
    except OSError:
        return False


def _reached(host: str, port: int = 443) -> str | None:
    """Why a host cannot be reached; ``None`` if it can."""
    import socket

    try:
        socket.create_connection((host, port), timeout=_LIMIT_S).close()
    except OSError as error:
        return str(error)
    return None

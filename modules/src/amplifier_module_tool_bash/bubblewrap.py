"""The words by which bubblewrap builds a command's surroundings. Nothing is run here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from amplifier_module_tool_bash.surroundings import Surroundings

_ALWAYS = (
    "--die-with-parent", "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL",
)  # fmt: skip
# What programs need to run at all, where only some paths may be read.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")
# Of what is running, only what names of hosts and programs are found by: sockets there are ways out of any sandbox.
_OF_RUN = ("/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf", "/run/current-system")
# Settings of the kernel, which go by the user's id and not by capabilities: root could write them without any.
_OF_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs", "driver", "acpi", "scsi", "mtrr", "pressure", "dynamic_debug")
_ROOT = Path("/")


def wrapper(program: str, place: Surroundings) -> tuple[str, ...]:
    """The words that come before those of a command; later ones cover earlier ones."""
    return (
        program,
        *_ALWAYS,
        *(() if place.network else ("--unshare-net",)),
        *_root(place),
        *("--dev", "/dev", "--proc", "/proc"),
        *_each("--ro-bind-try", (Path("/proc", name) for name in _OF_PROC)),
        *("--tmpfs", "/run"),
        *_each("--ro-bind-try", map(Path, _OF_RUN)),
        *("--bind", str(place.temporary), "/tmp", "--tmpfs", "/var/tmp"),
        *_each("--ro-bind-try", (*place.runtime, *(place.readable or ()))),
        *_each("--bind", (path for path in _by_depth(place.writable) if path != _ROOT)),
        *_each("--ro-bind", place.protected),
        *_hiding(place),
        *("--chdir", str(place.working_dir), "--"),
    )


def _root(place: Surroundings) -> Iterator[str]:
    if place.readable is None:
        yield from ("--bind" if _ROOT in place.writable else "--ro-bind", "/", "/")
        return
    for each in _SYSTEM:
        path = Path(each)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), each)
        else:
            yield from ("--ro-bind-try", each, each)


def _hiding(place: Surroundings) -> Iterator[str]:
    for path in place.hidden:
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", "/dev/null", str(path))


def _each(option: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from (option, str(path), str(path))


def _by_depth(paths: tuple[Path, ...]) -> list[Path]:
    return sorted(paths, key=lambda path: len(path.parts))

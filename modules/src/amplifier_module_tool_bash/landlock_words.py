"""The settings by which the keeper confines a command with Landlock. Nothing is confined here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from amplifier_module_tool_bash.surroundings import Surroundings, is_within

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/proc",
    "/dev",
)


def keeper_settings(place: Surroundings, *, has_namespace: bool) -> tuple[str, ...]:
    """What the keeper is told; Landlock can only allow, so what is hidden is left out of what may be read."""
    holes = tuple(path for path in place.hidden if not is_within(path, place.writable))
    roots = (Path("/"),) if place.readable is None else (*map(Path, _SYSTEM), *place.runtime, *place.readable)
    readable = [each for root in roots for each in covering(root, holes)]
    network = () if place.network else ("no-tcp=", *(("no-network=",) if has_namespace else ()))
    return (
        "landlock=",
        *network,
        *(f"read={path}" for path in readable),
        *(f"list={path}" for path in (("/",) if place.readable is None else ())),
        *(f"write={path}" for path in (*place.writable, place.temporary, *_DEVICES)),
    )


def covering(root: Path, holes: Sequence[Path]) -> Iterator[Path]:
    """The fewest paths that are all of ``root`` but for ``holes``.

    Links are left out: what they lead to is there under its own name, or is a hole.
    """
    if not is_within(root, holes):
        yield from _around(root, frozenset(holes), frozenset(above for hole in holes for above in hole.parents))


def _around(path: Path, holes: frozenset[Path], above: frozenset[Path]) -> Iterator[Path]:
    if path in holes:
        return
    if path not in above:
        yield path
        return
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if not entry.is_symlink())
    for name in names:
        yield from _around(path / name, holes, above)

"""What a command finds around it: where it may write, what is hidden from it, whether there is a network.

Made of the path policy, and anew every now and then: files with secrets come and go.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import amplifier_modkit
from amplifier_modkit.paths.policy import PathPolicy

_MOST_HIDDEN = 500


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One command's part of the machine."""

    working_dir: Path
    temporary: Path
    """The session's own folder for temporary files."""
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] | None = None
    """Without it, everything that is not hidden."""
    protected: tuple[Path, ...] = ()
    """What may not be written although it is below something writable."""
    hidden: tuple[Path, ...] = ()
    network: bool = False
    runtime: tuple[Path, ...] = ()
    """What the keeper needs to run; has to be readable."""

    def as_of_now(self) -> Surroundings:
        """The same without what is gone: hiding a file that is not there would put one there."""
        return replace(
            self,
            writable=tuple(_there(self.writable)),
            protected=tuple(_there(self.protected)),
            hidden=tuple(_there(self.hidden)),
        )


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where the programs are that stand between the agent and its commands."""

    prefixes: tuple[Path, ...]
    """Installations; a command that could change them would run outside of the sandbox before long."""
    packages: Path
    """The code itself, which an agent that works on itself may change."""

    @classmethod
    def of_this_process(cls) -> Runtime:
        """That of the agent which asks."""
        prefixes = dict.fromkeys((Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()))
        return cls(tuple(prefixes), Path(amplifier_modkit.__file__).resolve().parent.parent)


def surroundings_of(policy: PathPolicy, temporary: Path, runtime: Runtime, *, network: bool) -> Surroundings:
    """What the policy makes of the machine; goes through the writable folders, so it may take a while."""
    writable = tuple(_there(policy.writable_roots()))
    secret_files = itertools.chain.from_iterable(_unreadable(policy, writable))
    return Surroundings(
        working_dir=policy.working_dir,
        temporary=temporary,
        writable=writable,
        readable=policy.readable_roots(),
        protected=(*_there(policy.protected_roots()), *_inside(runtime.prefixes, writable)),
        hidden=_outermost([*_there(policy.denied_roots()), *itertools.islice(secret_files, _MOST_HIDDEN)]),
        network=network,
        runtime=(*runtime.prefixes, runtime.packages),
    )


def is_within(path: Path, roots: Iterable[Path]) -> bool:
    """Whether a path is one of ``roots``, or below."""
    around = {path, *path.parents}
    return any(root in around for root in roots)


def _unreadable(policy: PathPolicy, roots: Iterable[Path]) -> Iterator[Iterator[Path]]:
    return (policy.unreadable_below(root) for root in roots)


def _inside(paths: Iterable[Path], roots: tuple[Path, ...]) -> list[Path]:
    """Those below one of ``roots``; who names one of them as a root means it."""
    return [path for path in paths if path not in roots and is_within(path, roots)]


def _there(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.exists()]


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths without those that are below others."""
    chosen: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not is_within(path, chosen):
            chosen.append(path)
    return tuple(chosen)

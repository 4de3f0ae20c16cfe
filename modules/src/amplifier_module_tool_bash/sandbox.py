"""The sandbox of a session: the best that this machine has, tried out once, and what it leaves open."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from amplifier_modkit.confinement import landlock
from amplifier_modkit.processes import Confinement, Limits, start
from amplifier_module_tool_bash.bubblewrap import wrapper
from amplifier_module_tool_bash.config import SandboxMode
from amplifier_module_tool_bash.landlock_words import keeper_settings
from amplifier_module_tool_bash.surroundings import Surroundings

_OPEN_NETWORK = "the network can be reached"
_OPEN_SIGNALS = "other processes can be signalled"
_ALL_OPEN = ("files anywhere can be written", "files with secrets can be read", _OPEN_NETWORK, _OPEN_SIGNALS)
_LANDLOCK_LEAVES = (
    "files with secrets can be read in the folders that can be written",
    "what is protected in them can be written",
    "sockets in the file system can be reached",
    "rights and times of files can be changed",
)
_PROBE_LIMIT_S = 10.0
_TRIED: dict[tuple[object, ...], bool] = {}


class SandboxError(Exception):
    """A sandbox is required, and this machine has none that works."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way to confine commands; ``missing`` says what it leaves open."""

    name: str
    missing: tuple[str, ...] = ()
    confine: Callable[[Surroundings], Confinement] | None = None
    """Without it, nothing is confined."""
    temporary: str | None = None
    """What a command calls the session's folder for temporary files, if not by its own name."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a machine has to build a sandbox of."""

    bubblewrap: str | None
    """The path of the program."""
    landlock_version: int

    @classmethod
    def of_this_machine(cls) -> Offer:
        """What is here; whether it works is another question."""
        return cls(shutil.which("bwrap"), landlock.version())


async def choose(mode: SandboxMode, offer: Offer, place: Surroundings) -> Sandbox:
    """The best sandbox that works; raises ``SandboxError`` where one is required and files or network stay open."""
    if mode == "off":
        return Sandbox("off", _ALL_OPEN)
    chosen = await _best(offer, place)
    is_open = chosen.confine is None or any(each in _ALL_OPEN for each in chosen.missing)
    if mode == "required" and is_open:
        raise SandboxError(
            f"'sandbox: required' of tool-bash cannot be kept on this machine: {', '.join(chosen.missing)}. Install "
            "bubblewrap and allow user namespaces, or set 'sandbox' to 'best-effort'."
        )
    return chosen


async def _best(offer: Offer, place: Surroundings) -> Sandbox:
    for candidate in _candidates(offer, place):
        if await _is_known_to_work(offer, candidate, place):
            return candidate
    return Sandbox("none", _ALL_OPEN)


def _candidates(offer: Offer, place: Surroundings) -> list[Sandbox]:
    """From the best to the least."""
    wrapped = [] if offer.bubblewrap is None else _bubblewraps(offer.bubblewrap, place)
    return wrapped + (_landlocks(offer.landlock_version, place) if offer.landlock_version else [])


def _bubblewraps(program: str, place: Surroundings) -> list[Sandbox]:
    """With a network of its own, and without where a machine allows namespaces for all but that."""

    def made(**changes: bool) -> Sandbox:
        def confine(place: Surroundings) -> Confinement:
            return Confinement(wrapper(program, replace(place, **changes)))

        return Sandbox("bubblewrap", (_OPEN_NETWORK,) if changes else (), confine, "/tmp")

    return [made()] if place.network else [made(), made(network=True)]


def _landlocks(version: int, place: Surroundings) -> list[Sandbox]:
    signals = () if version >= landlock.MIN_SCOPE_VERSION else (_OPEN_SIGNALS,)
    has_tcp = version >= landlock.MIN_TCP_VERSION

    def made(has_namespace: bool, missing: tuple[str, ...]) -> Sandbox:
        def confine(place: Surroundings) -> Confinement:
            return Confinement(keeper_settings=keeper_settings(place, has_namespace=has_namespace))

        return Sandbox("landlock", (*_LANDLOCK_LEAVES, *missing, *signals), confine)

    open_part = "the network can be reached but for TCP" if has_tcp else _OPEN_NETWORK
    return [made(False, ())] if place.network else [made(True, ()), made(False, (open_part,))]


async def _is_known_to_work(offer: Offer, candidate: Sandbox, place: Surroundings) -> bool:
    """Whether it works, tried once per process: sessions come and go, the machine stays."""
    key = (offer, candidate.name, candidate.missing)
    if key not in _TRIED and candidate.confine is not None:
        _TRIED[key] = await _works(await asyncio.to_thread(candidate.confine, place))
    return _TRIED[key]


async def _works(confinement: Confinement) -> bool:
    """Whether a command that does nothing runs in it."""
    try:
        process = await start(
            ("true",),
            env={"PATH": os.environ.get("PATH", os.defpath)},
            cwd=Path("/"),
            confinement=confinement,
            limits=Limits(max_output_bytes=1000, linger_s=0),
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.wait(), _PROBE_LIMIT_S)
    except TimeoutError:
        return False
    finally:
        await process.end()
    return process.returncode == 0

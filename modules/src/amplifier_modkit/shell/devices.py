"""Files below ``/dev``: which of them are only streams, and which are disks, memory or the network."""

from __future__ import annotations

import re

from amplifier_modkit.shell.answers import Answer, yes_if
from amplifier_modkit.shell.places import normal
from amplifier_modkit.shell.words import ANYTHING, Word

_HARMLESS = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|full|fd/\d+|shm/.+|random|urandom|pts/\d+)")
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/")


ENDLESS = frozenset({"/dev/zero", "/dev/random", "/dev/urandom", "/dev/full"})


def is_harmless_device(path: Word) -> bool:
    """Whether writing there changes nothing."""
    return path.is_static and _HARMLESS.fullmatch(normal(path.outline)) is not None


def is_network(path: Word) -> Answer:
    """Whether the shell opens a connection in place of the file."""
    return yes_if(_NETWORK.match(normal(path.outline)) is not None)


def is_device(path: str) -> Answer:
    """Whether a normal path is a device that is more than a stream."""
    if not path.startswith("/dev/") or _HARMLESS.fullmatch(path):
        return Answer.NO
    return Answer.MAYBE if ANYTHING in path and not _NETWORK.match(path) else Answer.YES

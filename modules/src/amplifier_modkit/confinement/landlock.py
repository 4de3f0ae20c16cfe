"""Landlock: a process gives up rights to files, TCP and signals for itself and everything that it will start."""

from __future__ import annotations

import ctypes
import os

from amplifier_modkit.confinement.system_calls import PR_SET_NO_NEW_PRIVS, prctl, system_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_BELOW_PATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_ALL_TCP = 0b11
_SCOPES = 0b11
# How many rights to files each version has; from the first index on.
_RIGHTS_BY_VERSION = (13, 14, 15, 15, 16)

MIN_TCP_VERSION = 4
MIN_SCOPE_VERSION = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The version of Landlock that this kernel offers; 0 is none."""
    try:
        return system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    except (OSError, AttributeError):
        return 0


def restrict(*, readable: Sequence[str], listable: Sequence[str], writable: Sequence[str], network: bool) -> None:
    """Leaves this thread, and what it starts, the given paths with all below; paths that are not there are passed over.

    Raises ``OSError`` where the kernel does not have it.
    """
    offered = version()
    if not offered:
        raise OSError("this kernel has no Landlock")
    handled = (1 << _RIGHTS_BY_VERSION[min(offered, len(_RIGHTS_BY_VERSION)) - 1]) - 1
    tcp = 0 if network or offered < MIN_TCP_VERSION else _ALL_TCP
    ruleset = _create(_Ruleset(handled, tcp, _SCOPES if offered >= MIN_SCOPE_VERSION else 0), offered)
    try:
        for paths, rights in (
            (listable, _READ_DIR),
            (readable, _EXECUTE | _READ_FILE | _READ_DIR),
            (writable, handled),
        ):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _create(wanted: _Ruleset, offered: int) -> int:
    fields = 1 if offered < MIN_TCP_VERSION else 2 if offered < MIN_SCOPE_VERSION else 3
    return system_call(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(8 * fields), ctypes.c_uint32(0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        is_folder = os.path.isdir(f"/proc/self/fd/{folder}")  # noqa: PTH112 - pathlib takes long to start
        rule = _PathRule(rights if is_folder else rights & _ON_FILES, folder)
        system_call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_BELOW_PATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(folder)

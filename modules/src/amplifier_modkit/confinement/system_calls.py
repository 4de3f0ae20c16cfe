"""System calls of Linux that Python has no functions for. Each raises ``OSError`` with the number of the failure."""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

IS_LINUX = sys.platform.startswith("linux")


def prctl(option: int, value: int) -> None:
    """Sets one property of this process or thread."""
    _checked(_library().prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3))


def unshare(flags: int) -> None:
    """Gives this process namespaces of its own."""
    _checked(_library().unshare(flags))


def system_call(number: int, *arguments: Any) -> int:
    """The answer of a system call by its number; on all machines that have Landlock its calls have the same."""
    return _checked(_library().syscall(ctypes.c_long(number), *arguments))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer

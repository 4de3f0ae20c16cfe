"""The keeper: a small process that starts one command and outlives it, so that nothing of it is left behind.

It ends everything the command has started when the command is over, and when its own lifeline breaks: a pipe whose
other end the process has that wanted the command. So a parent that is killed takes its commands along. Runs by
``python -I -S -c``, and does without ``typing`` and ``pathlib`` to start in half the time.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from amplifier_modkit.confinement import landlock
from amplifier_modkit.confinement.system_calls import (
    CLONE_NEWNET,
    CLONE_NEWUSER,
    IS_LINUX,
    PR_CAPBSET_DROP,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    prctl,
    unshare,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

CANNOT_START = 126
"""The exit code when the command cannot be confined, or not be started."""
ENDED = 128 + signal.SIGTERM
"""The exit code of a command that was ended because the lifeline broke."""

_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
# Python ignores these from its start, and what ignores a signal hands that on to what it starts.
_RESTORED = (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ)
_LOOK_AGAIN_S = 0.02
# The first looks come quickly: most commands take milliseconds.
_FIRST_LOOK_S = 0.001
# Where the end of a command rings, only others who have ended wait to be reaped.
_REAP_AGAIN_S = 1.0


def main(words: Sequence[str]) -> NoReturn:
    """Keeps the command after ``--``; before it are settings as ``name=value``, each any number of times."""
    cut = list(words).index("--")
    settings: dict[str, list[str]] = {}
    for word in words[:cut]:
        name, _, value = word.partition("=")
        settings.setdefault(name, []).append(value)
    os._exit(keep(list(words[cut + 1 :]), settings))


def keep(command: Sequence[str], settings: Mapping[str, Sequence[str]]) -> int:
    """Runs ``command`` and returns its exit code, 128 and its number for a signal, when all of it has ended."""
    lifeline = int(settings["lifeline"][0])
    os.set_inheritable(lifeline, False)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    if IS_LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        become(command, settings, keeper)
    grace_s, linger_s = float(settings["grace"][0]), float(settings["linger"][0])
    code = _waited(child, lifeline)
    if code is not None:
        _wait_for_rest(lifeline, linger_s)
    end_all(child, grace_s)
    return ENDED if code is None else code


def become(command: Sequence[str], settings: Mapping[str, Sequence[str]], keeper: int) -> NoReturn:
    """Turns this process into ``command``, confined as the settings say; one that cannot be confined does not run."""
    try:
        os.setsid()
        for number in _RESTORED:
            signal.signal(number, signal.SIG_DFL)
        if IS_LINUX:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            raise ProcessLookupError("its keeper is gone")  # before there was a signal to tell
        confine(settings)
        os.execvp(command[0], list(command))
    except BaseException as error:
        os.write(2, f"The command was not started: {error}\n".encode())
    os._exit(CANNOT_START)


def confine(settings: Mapping[str, Sequence[str]]) -> None:
    """Gives up rights as the settings say."""
    if "no-network" in settings:
        leave_network()
    if "landlock" in settings:
        landlock.restrict(
            readable=settings.get("read", ()),
            listable=settings.get("list", ()),
            writable=settings.get("write", ()),
            network="no-tcp" not in settings,
        )
        drop_capabilities()


def drop_capabilities() -> None:
    """Makes the programs that follow ordinary ones, whoever runs them; others than root have nothing to drop."""
    number = 0
    while True:
        try:
            prctl(PR_CAPBSET_DROP, number)
        except OSError:
            return
        number += 1


def leave_network() -> None:
    """Moves this process into a network with nothing in it; raises ``OSError`` where that is not allowed."""
    user, group = os.getuid(), os.getgid()
    try:
        unshare(CLONE_NEWNET)
    except PermissionError:
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib takes long to start
                file.write(text)


def _waited(child: int, lifeline: int) -> int | None:
    """The exit code of the child, ``None`` if the lifeline broke before."""
    bell = _bell(child)
    pause_s = _FIRST_LOOK_S
    while True:
        code, _ = _reaped(child)
        if code is not None:
            return code
        if _is_broken(lifeline, bell, pause_s):
            return None
        pause_s = min(pause_s * 2, _LOOK_AGAIN_S if not bell else _REAP_AGAIN_S)


def _bell(child: int) -> list[int]:
    """What rings when the child ends, where the system has such a thing."""
    try:
        return [os.pidfd_open(child)]
    except (AttributeError, OSError):
        return []


def _reaped(wanted: int = 0) -> tuple[int | None, bool]:
    """The exit code of ``wanted`` if it has just ended, and whether anybody is left; takes leave of all who have ended.

    Whoever loses its parent becomes a child of this process, so without children there is nobody below.
    """
    code: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code, False
        if pid == 0:
            return code, True
        if pid == wanted:
            exited = os.waitstatus_to_exitcode(status)
            code = exited if exited >= 0 else 128 - exited


def _is_broken(lifeline: int, bell: list[int], timeout_s: float) -> bool:
    readable, _, _ = select.select([lifeline, *bell], [], [], timeout_s)
    return lifeline in readable and os.read(lifeline, 1) == b""


def _wait_for_rest(lifeline: int, linger_s: float) -> None:
    """Gives what the command has left running a moment to end by itself, such as the other end of a ``>(…)``."""
    until = time.monotonic() + linger_s
    while _reaped()[1] and time.monotonic() < until and not _is_broken(lifeline, [], _FIRST_LOOK_S):
        pass


def end_all(group: int, grace_s: float) -> None:
    """Ends the command's group and everything below this process: first politely, then for certain."""
    if IS_LINUX and not _reaped()[1]:
        return
    signal_all(group, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while _reaped()[1] and time.monotonic() < until:
        time.sleep(_FIRST_LOOK_S)
    signal_all(group, signal.SIGKILL)
    while _reaped()[1]:
        # Again and again: who starts processes while they are being ended has some that were not found.
        signal_all(group, signal.SIGKILL)
        time.sleep(_FIRST_LOOK_S)


def signal_all(group: int, number: int) -> None:
    """Signals a group and all below this process."""
    for send, target in ((os.killpg, group), *((os.kill, pid) for pid in descendants(os.getpid()))):
        try:
            send(target, number)
        except (ProcessLookupError, PermissionError):
            continue


def descendants(ancestor: int) -> list[int]:
    """The processes below one that have not ended; none where the system does not tell."""
    children: dict[int, list[int]] = {}
    for name in _process_names():
        parent = _parent_of(name)
        if parent is not None:
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [ancestor]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _process_names() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - pathlib takes long to start
    except OSError:
        return []


def _parent_of(name: str) -> int | None:
    """The parent of a process; ``None`` if it is over."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib takes long to start
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return None
    return int(parent) if state not in (b"Z", b"X") else None


if __name__ == "__main__":  # pragma: no cover - the line by which the keeper is started in a process of its own
    main(sys.argv[1:])

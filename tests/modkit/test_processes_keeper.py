"""The keeper's decisions on a scripted system; what real systems make of them is shown by the tests of processes."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_modkit.confinement import keeper, system_calls


class Exited(BaseException):
    """Stands for the end of a process."""


class System:
    """Stands for ``os`` in the keeper: a child 7 that ends when told, and a process 8 that it leaves behind."""

    WNOHANG = os.WNOHANG

    def __init__(self, *waits: Any, is_child: bool = False) -> None:
        self.said: list[Any] = []
        self._waits: Iterator[Any] = iter(waits)
        self._is_child = is_child

    def __getattr__(self, name: str) -> Any:
        def record(*given: Any) -> None:
            self.said.append((name, *given))

        return record if name in ("set_inheritable", "setsid", "killpg", "kill", "write") else getattr(os, name)

    def fork(self) -> int:
        return 0 if self._is_child else 7

    def getpid(self) -> int:
        return 1

    def getppid(self) -> int:
        return 1

    def pidfd_open(self, pid: int) -> int:
        raise OSError

    def waitpid(self, pid: int, options: int) -> tuple[int, int]:
        answer = next(self._waits, ChildProcessError())
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def execvp(self, name: str, words: list[str]) -> None:
        self.said.append(("execvp", name, words))
        raise FileNotFoundError(2, "no such program")

    def _exit(self, code: int) -> None:
        raise Exited(code)

    def listdir(self, path: str) -> list[str]:
        return []


NOBODY_YET = (0, 0)
SETTINGS = {"lifeline": ["3"], "grace": ["0"], "linger": ["0"]}


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[..., System]:
    """Puts a scripted system under the keeper, in which no time passes and nobody pulls the lifeline."""

    def place(system: System, *, is_broken: bool = False, is_linux: bool = True) -> System:
        clock = itertools.count()
        monkeypatch.setattr(keeper, "os", system)
        monkeypatch.setattr(keeper, "IS_LINUX", is_linux)
        monkeypatch.setattr(keeper, "prctl", lambda *given: system.said.append(("prctl", *given)))
        monkeypatch.setattr(keeper, "time", SimpleNamespace(sleep=lambda s: None, monotonic=lambda: next(clock)))
        monkeypatch.setattr(signal, "signal", lambda number, action: None)
        monkeypatch.setattr(keeper, "_is_broken", lambda lifeline, bell, timeout_s: is_broken)
        return system

    return place


def signals(system: System) -> list[tuple[Any, ...]]:
    return [each for each in system.said if each[0] in ("kill", "killpg")]


TERM, KILL = ("killpg", 7, signal.SIGTERM), ("killpg", 7, signal.SIGKILL)
OURS = (7, 0), NOBODY_YET


def test_a_command_that_leaves_nobody_is_simply_over(put: Callable[..., System]) -> None:
    """Its exit code is the keeper's, and nobody is signalled."""
    system = put(System(NOBODY_YET, NOBODY_YET, (5, 0), (7, 3 << 8)))
    assert (keeper.keep(["x"], SETTINGS), signals(system)) == (3, [])
    assert ("prctl", system_calls.PR_SET_CHILD_SUBREAPER, 1) in system.said
    assert ("set_inheritable", 3, False) in system.said


def test_a_signal_becomes_an_exit_code(put: Callable[..., System]) -> None:
    """A command that was killed has 128 and the signal's number for exit code, as in a shell."""
    put(System((7, signal.SIGKILL)))
    assert keeper.keep(["x"], SETTINGS) == 137


def test_who_stays_behind_is_asked_and_then_killed(put: Callable[..., System]) -> None:
    """After the lingering and the grace, signals go out until nobody is left."""
    system = put(System(*OURS, *[NOBODY_YET] * 6, (8, 9)))
    settings = {**SETTINGS, "linger": ["2"], "grace": ["2"]}
    assert keeper.keep(["x"], settings) == 0
    assert signals(system) == [TERM, KILL, KILL]


def test_a_broken_lifeline_ends_the_command(put: Callable[..., System]) -> None:
    """The keeper waits no longer and ends everything."""
    system = put(System(NOBODY_YET, NOBODY_YET, (7, 15)), is_broken=True)
    assert (keeper.keep(["x"], SETTINGS), signals(system)) == (keeper.ENDED, [TERM, KILL])


def test_a_lifeline_that_breaks_while_lingering_ends_the_rest(put: Callable[..., System]) -> None:
    """What was left running does not get its moment then."""
    system = put(System(*OURS, NOBODY_YET, NOBODY_YET, (8, 9)), is_broken=True)
    assert keeper.keep(["x"], {**SETTINGS, "linger": ["9"]}) == 0
    assert signals(system) == [TERM, KILL]


def test_elsewhere_the_group_is_ended_in_any_case(put: Callable[..., System]) -> None:
    """Without Linux, orphans do not come back to the keeper, so being without children tells nothing."""
    system = put(System((7, 0)), is_linux=False)
    assert (keeper.keep(["x"], SETTINGS), signals(system)) == (0, [TERM, KILL])
    assert not [each for each in system.said if each[0] == "prctl"]


@pytest.mark.parametrize("is_linux", [True, False])
def test_the_child_becomes_the_command(put: Callable[..., System], is_linux: bool) -> None:
    """It leads a session, dies with its keeper where the system offers that, and tells if it cannot be started."""
    system = put(System(is_child=True), is_linux=is_linux)
    with pytest.raises(Exited, match="126"):
        keeper.main(["lifeline=3", "grace=0", "linger=0", "--", "program", "word"])
    assert [each for each in system.said if each[0] in ("setsid", "execvp", "write")] == [
        ("setsid",),
        ("execvp", "program", ["program", "word"]),
        ("write", 2, b"The command was not started: [Errno 2] no such program\n"),
    ]
    assert (("prctl", system_calls.PR_SET_PDEATHSIG, signal.SIGKILL) in system.said) is is_linux


def test_a_child_without_keeper_does_not_run(put: Callable[..., System]) -> None:
    """A keeper that died before it could be watched takes the child along."""
    system = put(System())
    with pytest.raises(Exited, match="126"):
        keeper.become(["x"], {}, 99)
    assert system.said[-1] == ("write", 2, b"The command was not started: its keeper is gone\n")


def test_the_exit_code_leaves_the_keeper(put: Callable[..., System]) -> None:
    """The keeper's own exit code is that of the command."""
    put(System((7, 4 << 8)))
    with pytest.raises(Exited, match="4"):
        keeper.main(["lifeline=3", "grace=0", "linger=0", "--", "x"])


def test_what_cannot_be_signalled_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are gone or belong to others do not keep the rest from being signalled."""
    tried: list[int] = []

    def fail(target: int, number: int) -> None:
        tried.append(target)
        raise (ProcessLookupError if target == 7 else PermissionError)

    monkeypatch.setattr(keeper, "os", SimpleNamespace(kill=fail, killpg=fail, getpid=lambda: 1))
    monkeypatch.setattr(keeper, "descendants", lambda ancestor: [8, 9])
    keeper.signal_all(7, signal.SIGTERM)
    assert tried == [7, 8, 9]


def test_the_lifeline_breaks_when_its_other_end_is_closed() -> None:
    """Words on it mean nothing; only its end does. A bell wakes, and breaks nothing."""
    read, write = os.pipe()
    rings, ring = os.pipe()
    try:
        assert keeper._is_broken(read, [], 0) is False
        os.write(write, b"x")
        assert keeper._is_broken(read, [], 0) is False
        os.write(ring, b"x")
        assert keeper._is_broken(read, [rings], 10) is False
        os.close(write)
        assert keeper._is_broken(read, [], 0) is True
    finally:
        for each in (read, rings, ring):
            os.close(each)


def test_a_child_that_ends_rings() -> None:
    """Where the system has it, the end of a child is waited for and not looked for."""
    child = subprocess.Popen(("true",))
    (bell,) = keeper._bell(child.pid)
    quiet = os.pipe()
    try:
        assert keeper._is_broken(quiet[0], [bell], 10) is False
    finally:
        for each in (bell, *quiet):
            os.close(each)
        child.wait()


def test_descendants_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All levels below a process are there, and nobody who has ended; without a list of processes there are none."""
    code = "import subprocess; subprocess.run(['sh', '-c', 'echo; sleep 60; :'])"
    with subprocess.Popen((sys.executable, "-c", code), stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = keeper.descendants(child.pid)
        names = {Path(f"/proc/{pid}/comm").read_text() for pid in found}
        for pid in (*found, child.pid):
            os.kill(pid, signal.SIGKILL)
    assert "sh\n" in names
    assert keeper.descendants(child.pid) == []
    monkeypatch.setattr(keeper, "_process_names", lambda: ["0"])
    assert keeper.descendants(1) == []
    monkeypatch.undo()
    monkeypatch.setattr(keeper, "os", SimpleNamespace(listdir=_no_list))
    assert keeper.descendants(1) == []


def _no_list(path: str) -> list[str]:
    raise FileNotFoundError(path)


def test_one_who_has_ended_has_no_parent() -> None:
    """A child that nobody has taken leave of does not count as running."""
    child = subprocess.Popen(("true",))
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert keeper._parent_of(str(child.pid)) is None
    child.wait()


def in_thread(work: Callable[[], Any]) -> Any:
    """What ``work`` gives in a thread of its own, which alone gives up rights."""
    answers: list[Any] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            answers.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return answers[0]


def test_confining_goes_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up without a setting; network, files and capabilities are with theirs."""
    done: list[Any] = []
    monkeypatch.setattr(keeper, "leave_network", lambda: done.append("network"))
    monkeypatch.setattr(keeper, "drop_capabilities", lambda: done.append("capabilities"))
    monkeypatch.setattr("amplifier_modkit.confinement.landlock.restrict", lambda **given: done.append(given))
    keeper.confine({})
    assert done == []
    keeper.confine({"no-network": [""], "landlock": [""], "no-tcp": [""], "read": ["/a", "/b"], "write": ["/c"]})
    files = {"readable": ["/a", "/b"], "listable": (), "writable": ["/c"], "network": False}
    assert done == ["network", files, "capabilities"]


def test_a_network_of_its_own_is_entered_by_whoever_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root leaves the network directly; others make themselves a user namespace first, with the same ids."""
    asked: list[int] = []
    written: dict[str, str] = {}

    def unshare(flags: int) -> None:
        asked.append(flags)
        if not flags & system_calls.CLONE_NEWUSER:
            raise PermissionError

    class File:
        def __init__(self, path: str, mode: str, encoding: str) -> None:
            self.path = path

        def __enter__(self) -> File:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def write(self, text: str) -> None:
            written[self.path] = text

    monkeypatch.setattr(keeper, "unshare", unshare)
    monkeypatch.setattr(keeper, "open", File, raising=False)
    keeper.leave_network()
    user, group = os.getuid(), os.getgid()
    assert asked == [system_calls.CLONE_NEWNET, system_calls.CLONE_NEWUSER | system_calls.CLONE_NEWNET]
    assert written == {
        "/proc/self/setgroups": "deny",
        "/proc/self/uid_map": f"{user} {user} 1",
        "/proc/self/gid_map": f"{group} {group} 1",
    }
    monkeypatch.setattr(keeper, "unshare", lambda flags: asked.append(flags))
    keeper.leave_network()
    assert asked[2:] == [system_calls.CLONE_NEWNET]


def test_capabilities_are_dropped_until_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number is dropped up to the first that the system refuses."""
    dropped: list[int] = []

    def prctl(option: int, number: int) -> None:
        if number == 3:
            raise OSError
        dropped.append(number)

    monkeypatch.setattr(keeper, "prctl", prctl)
    keeper.drop_capabilities()
    assert dropped == [0, 1, 2]


def test_system_calls_raise_what_the_system_says() -> None:
    """A refusal is an ``OSError`` with its number; what works gives its answer."""
    assert in_thread(lambda: system_calls.prctl(system_calls.PR_SET_NO_NEW_PRIVS, 1)) is None
    assert isinstance(in_thread(lambda: system_calls.prctl(-1, 0)), OSError)
    assert isinstance(in_thread(lambda: system_calls.unshare(0)), type(None))
    with pytest.raises(OSError, match="Bad address|Invalid argument|not implemented"):
        system_calls.system_call(444, None, 8, 0)

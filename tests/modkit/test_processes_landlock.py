"""Landlock on the real kernel, in threads of their own: a thread gives up rights for itself alone."""

from __future__ import annotations

import ctypes
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_modkit.confinement import landlock
from amplifier_modkit.confinement.system_calls import IS_LINUX

needs_landlock = pytest.mark.skipif(landlock.version() < landlock.MIN_TCP_VERSION, reason="this kernel has no Landlock")


def confined(work: Callable[[], Any], **rights: Any) -> Any:
    """What ``work`` gives, or raises, in a thread with those rights only."""
    answers: list[Any] = []

    def run() -> None:
        try:
            landlock.restrict(**{"readable": (), "listable": (), "writable": (), "network": False, **rights})
            answers.append(work())
        except OSError as error:
            answers.append(type(error).__name__)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return answers[0]


@needs_landlock
def test_only_what_is_allowed_can_be_used(tmp_path: Path) -> None:
    """Reading, listing and writing are apart from each other, and hold below the given paths."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_text("text")
    file, other = inside / "file", outside / "file"
    assert confined(file.read_text, readable=[str(inside)]) == "text"
    assert confined(other.read_text, readable=[str(inside)]) == "PermissionError"
    assert confined(lambda: file.write_text("x"), readable=[str(inside)]) == "PermissionError"
    assert confined(lambda: file.write_text("text"), writable=[str(inside)]) == 4
    assert confined(lambda: (inside / "more").write_text("x"), writable=[str(inside)]) == 1
    assert confined(lambda: other.write_text("x"), writable=[str(inside)]) == "PermissionError"
    assert confined(lambda: len(list(outside.iterdir())), listable=[str(tmp_path)]) == 1
    assert confined(other.read_text, listable=[str(tmp_path)]) == "PermissionError"
    assert confined(file.read_text, readable=[str(file), str(tmp_path / "gone")]) == "text"


@needs_landlock
def test_the_network_is_given_up_unless_it_is_allowed() -> None:
    """A connection to this machine itself needs the right as well."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def connect() -> str:
            with socket.socket() as client:
                client.connect(server.getsockname())
                return "connected"

        assert confined(connect) == "PermissionError"
        assert confined(connect, network=True) == "connected"


VERSIONS = {1: (13, 0, 0, 8), 3: (15, 0, 0, 8), 4: (15, 3, 0, 16), 6: (16, 3, 3, 24), 99: (16, 3, 3, 24)}


@pytest.mark.parametrize("version", VERSIONS)
def test_older_kernels_are_asked_for_what_they_have(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rights, network and scopes are those of the version, in a structure of the size it knows."""
    rights, tcp, scopes, size = VERSIONS[version]
    asked: list[Any] = []

    def answer(number: int, *given: Any) -> int:
        asked.append((number, *given))
        raise OSError("enough")

    monkeypatch.setattr(landlock, "version", lambda: version)
    monkeypatch.setattr(landlock, "system_call", answer)
    with pytest.raises(OSError, match="enough"):
        landlock.restrict(readable=(), listable=(), writable=(), network=False)
    (number, pointer, given_size, flags) = asked[0]
    wanted = pointer._obj
    assert (number, wanted.fs, wanted.net, wanted.scoped) == (444, (1 << rights) - 1, tcp, scopes)
    assert (given_size.value, flags.value, IS_LINUX) == (size, 0, True)


def test_a_kernel_without_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version is 0, and nothing pretends to confine."""

    def refuse(number: int, *given: ctypes.c_int) -> int:
        raise OSError(38, "not implemented")

    monkeypatch.setattr(landlock, "system_call", refuse)
    assert landlock.version() == 0
    with pytest.raises(OSError, match="no Landlock"):
        landlock.restrict(readable=(), listable=(), writable=(), network=False)

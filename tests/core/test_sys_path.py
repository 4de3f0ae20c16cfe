"""Counted entries of ``sys.path``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core._sys_path import first_on_sys_path, hold_sys_path_entry, release_sys_path_entry


@pytest.fixture(autouse=True)
def _same_path_afterwards() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def test_an_entry_goes_to_the_front_and_leaves_with_its_last_holder(tmp_path: Path) -> None:
    """Two holders: the entry stays until both have released it."""
    before, entry = list(sys.path), str(tmp_path)
    assert hold_sys_path_entry(entry)
    assert hold_sys_path_entry(entry)
    assert sys.path == [entry, *before]
    release_sys_path_entry(entry)
    assert sys.path == [entry, *before]
    release_sys_path_entry(entry)
    assert sys.path == before


def test_an_entry_that_somebody_else_added_is_not_ours(tmp_path: Path) -> None:
    """What was on the path before is neither moved nor ever removed."""
    entry = str(tmp_path)
    sys.path.append(entry)
    assert not hold_sys_path_entry(entry)
    assert sys.path.count(entry) == 1
    assert sys.path[-1] == entry


def test_an_entry_that_was_taken_away_meanwhile_is_no_problem(tmp_path: Path) -> None:
    """Foreign code may remove a held entry: the next holder gets it back, and releasing what is gone is fine."""
    entry = str(tmp_path)
    assert hold_sys_path_entry(entry)
    sys.path.remove(entry)
    assert hold_sys_path_entry(entry)
    assert sys.path[0] == entry
    release_sys_path_entry(entry)
    sys.path.remove(entry)
    release_sys_path_entry(entry)
    assert entry not in sys.path


@pytest.mark.slow
@given(st.lists(st.booleans(), max_size=30))
def test_the_path_shows_an_entry_exactly_while_somebody_holds_it(steps: list[bool]) -> None:
    """Law over any order of holding and releasing: present if and only if held."""
    held = 0
    for wants_hold in [*steps]:
        if wants_hold:
            assert hold_sys_path_entry("/law")
            held += 1
        elif held:
            release_sys_path_entry("/law")
            held -= 1
        assert sys.path.count("/law") == (1 if held else 0)
    for _ in range(held):
        release_sys_path_entry("/law")
    assert "/law" not in sys.path


def test_holders_in_many_threads_do_not_lose_count(tmp_path: Path) -> None:
    """The count is safe across threads."""
    entry = str(tmp_path)
    start = threading.Barrier(4)

    def hold_and_release() -> None:
        start.wait()
        for _ in range(200):
            assert hold_sys_path_entry(entry)
            release_sys_path_entry(entry)

    assert hold_sys_path_entry(entry)
    threads = [threading.Thread(target=hold_and_release) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.path.count(entry) == 1
    release_sys_path_entry(entry)
    assert entry not in sys.path


def test_first_for_a_block_keeps_the_former_position(tmp_path: Path) -> None:
    """An entry of the path is first inside the block and where it was afterwards, errors included."""
    entry = str(tmp_path)
    sys.path.append(entry)
    before = list(sys.path)
    with pytest.raises(ZeroDivisionError), first_on_sys_path(entry):
        assert sys.path[0] == entry
        raise ZeroDivisionError
    assert sys.path == before


def test_a_block_that_removes_its_entry_is_no_problem(tmp_path: Path) -> None:
    """Imported code may tidy the path itself."""
    with first_on_sys_path(str(tmp_path)):
        sys.path.remove(str(tmp_path))
    assert str(tmp_path) not in sys.path

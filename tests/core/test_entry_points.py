"""The index of installed entry points."""

from __future__ import annotations

import importlib.metadata
import logging
from typing import Any

import pytest

from amplifier_core._entry_points import EntryPointIndex

GROUP = "amplifier.made.for.tests"


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The groups that were read from the installed distributions, in order."""
    groups: list[str] = []
    read = importlib.metadata.entry_points

    def counted(*, group: str) -> Any:
        groups.append(group)
        return read(group=group)

    monkeypatch.setattr(importlib.metadata, "entry_points", counted)
    return groups


def test_installed_entry_points_are_read_once(workshop: Any, readings: list[str]) -> None:
    """However many names are looked up, the distributions are walked over once."""
    workshop.installed(GROUP, {"a": "pkg_a:mount", "b": "pkg_b:mount"})
    index = EntryPointIndex(GROUP)
    assert not index.is_read
    for _ in range(100):
        assert index.find("a").value == "pkg_a:mount"  # type: ignore[union-attr]
        assert index.find("missing") is None
    assert [entry.name for entry in index.all()] == ["a", "b"]
    assert index.is_read
    assert readings == [GROUP]


def test_what_was_installed_since_is_seen_after_a_refresh(workshop: Any, readings: list[str]) -> None:
    """A missing name is looked up a second time only in an index that was read before."""
    index = EntryPointIndex(GROUP)
    assert index.find_even_if_new("late") is None
    assert readings == [GROUP]
    workshop.installed(GROUP, {"late": "pkg:mount"})
    assert index.find("late") is None
    found = index.find_even_if_new("late")
    assert found is not None
    assert found.value == "pkg:mount"
    assert index.find_even_if_new("late") is found
    assert readings == [GROUP, GROUP]


def test_of_two_packages_with_one_name_the_first_wins_and_is_told(
    workshop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The order is that of the import path; a disagreement is a warning, mere repetition is not."""
    workshop.installed(GROUP, {"twice": "second:mount", "same": "one:mount"})
    workshop.installed(GROUP, {"twice": "first:mount", "same": "one:mount"})
    entries = {entry.name: entry.value for entry in EntryPointIndex(GROUP).all()}
    assert entries == {"twice": "first:mount", "same": "one:mount"}
    assert [record.getMessage() for record in caplog.records] == [
        f"Two packages provide 'twice' in '{GROUP}': using first:mount, ignoring second:mount"
    ]


def test_a_damaged_distribution_is_told_and_does_not_raise(workshop: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Metadata that cannot be decoded leaves the index empty, with the reason kept and logged."""
    site = workshop.installed(GROUP, {"a": "pkg:mount"})
    (damaged,) = site.glob("*.dist-info/entry_points.txt")
    damaged.write_bytes(b"[\xff\xfe]\n")
    index = EntryPointIndex(GROUP)
    assert index.all() == []
    assert index.problem is not None
    assert index.problem.startswith("UnicodeDecodeError")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"Cannot read the entry points of group '{GROUP}': {index.problem}"

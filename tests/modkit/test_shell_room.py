"""The front of the shell room: what it offers, and that it is loaded by use alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from amplifier_modkit import shell


def test_every_name_of_the_room_is_there() -> None:
    """What is listed can be had."""
    assert [name for name in shell.__all__ if getattr(shell, name, None) is None] == []


def test_a_name_that_is_not_there_is_told() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'pars'"):
        getattr(shell, "pars")  # noqa: B009 - a constant would not type-check


@pytest.mark.slow
def test_a_session_without_commands_does_not_load_the_room() -> None:
    """The tool and the guard are mounted by most sessions, and the room has many tables."""
    code = (
        "import sys, amplifier_module_tool_bash, amplifier_module_hooks_approval\n"
        "print([name for name in sys.modules if name.startswith('amplifier_modkit.shell.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['amplifier_modkit.shell.terms']\n"

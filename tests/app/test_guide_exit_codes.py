"""The table of exit codes in the guide is the command's own."""

from __future__ import annotations

import re

from tests.app import test_guide_commands as guides

from amplifier.problems import EXIT_CODES


def test_the_table_of_exit_codes_is_the_commands_own() -> None:
    """Every code with its meaning, in order."""
    rows = re.findall(
        r"^\| (\d+) \| (.+) \|$", (guides.GUIDE / "scripting.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES

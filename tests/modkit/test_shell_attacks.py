"""The attack table against the rules: no attempt gets past the strict profile, and no harmless twin is stopped."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.modkit.attacks_shell import ATTACKS, BENIGN, Row

from amplifier_modkit.shell import CommandLists, covers, judge, parse


@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row.id)
def test_the_strict_profile_lets_no_attempt_pass(row: Row) -> None:
    """Each attempt gets the verdict of its row, and a verdict that stops says why and by which rule."""
    verdict = judge(parse(row.command), "strict")
    assert (verdict.decision, bool(verdict.reason), bool(verdict.rule_id)) == (row.strict, True, True)


@pytest.mark.parametrize("row", BENIGN, ids=lambda row: row.id)
def test_no_profile_stops_what_is_harmless(row: Row) -> None:
    """Each harmless command is understood, and passes in every profile."""
    parsed = parse(row.command)
    verdicts = [judge(parsed, profile).decision for profile in ("strict", "standard", "permissive", "unrestricted")]
    assert (parsed.reason, verdicts) == ("", ["allow"] * 4)


def test_the_table_is_large_and_has_no_row_twice() -> None:
    """There are far more than 150 attempts, each with an id and a command of its own."""
    rows = [*ATTACKS, *BENIGN]
    assert len(ATTACKS) >= 800
    assert [row.id for row, count in Counter(rows).items() if count > 1] == []
    assert [command for command, count in Counter(row.command for row in rows).items() if count > 1] == []
    assert [row.id for row in ATTACKS if row.strict == "allow"] == []


@pytest.mark.slow
@pytest.mark.no_cover
def test_profiles_are_ordered_by_what_they_let_pass() -> None:
    """No profile is stricter about an attempt than the one before it, and the last one lets everything pass."""
    order = {"allow": 0, "ask": 1, "deny": 2}
    for row in ATTACKS:
        parsed = parse(row.command)
        verdicts = [judge(parsed, profile).decision for profile in ("strict", "standard", "permissive", "unrestricted")]
        assert sorted(verdicts, key=order.__getitem__, reverse=True) == verdicts, row
        assert verdicts[-1] == "allow"


def test_an_allowance_of_harmless_commands_never_covers_an_attempt() -> None:
    """Rules that allow the usual commands with any words do not allow what hides in them."""
    usual = ["Bash(ls:*)", "Bash(echo:*)", "Bash(cat:*)", "Bash(git:*)", "Bash(find:*)", "Bash(env:*)", "Bash(x:*)"]
    assert [
        row.id
        for row in ATTACKS
        if row.strict == "deny" and "sudo" in row.command and covers(usual, parse(row.command))
    ] == []


def test_a_denial_of_a_command_holds_against_every_attempt_to_hide_it() -> None:
    """With nothing but the user's own denial, what runs or may run the command is stopped even where all is allowed."""
    lists = CommandLists(denied=("sudo",))
    passed = [
        row.id
        for row in ATTACKS
        if row.strict == "deny"
        and "sudo id" in row.command
        and judge(parse(row.command), "unrestricted", lists).decision == "allow"
    ]
    assert passed == []

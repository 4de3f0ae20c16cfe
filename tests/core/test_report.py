"""The load report: what it keeps, how it reads, and that it is plain data."""

from __future__ import annotations

import json

import pytest

from amplifier_core import events, kernel_events
from amplifier_core.report import LoadReport, ModuleProblem, MountedModule, UnknownConfigKey


def full_report() -> LoadReport:
    """A report with an entry of every kind."""
    return LoadReport(
        mounted=[MountedModule("tool", "tool-bash", ("bash",)), MountedModule("hook", "hooks-log")],
        skipped=[ModuleProblem("provider", "provider-x", "no key", "not_configured")],
        failed=[ModuleProblem("tool", "tool-web", "import failed")],
        unknown_keys=[UnknownConfigKey("tool-bash", "timout", "timeout"), UnknownConfigKey("tool-bash", "zzz")],
        cleanup_errors=["close raised OSError: gone"],
    )


def test_a_report_reads_line_by_line() -> None:
    """One line per entry, each with what it is about."""
    assert str(full_report()) == (
        "mounted: tool tool-bash as bash\n"
        "mounted: hook hooks-log\n"
        "skipped: provider provider-x: no key\n"
        "failed: tool tool-web: import failed\n"
        "unread config: tool-bash: nobody reads config key 'timout' (did you mean 'timeout'?)\n"
        "unread config: tool-bash: nobody reads config key 'zzz'\n"
        "clean-up errors: close raised OSError: gone"
    )


def test_an_empty_report_says_so() -> None:
    """It is clean, and there is nothing in it."""
    report = LoadReport()
    assert (str(report), report.is_clean) == ("nothing mounted", True)


def test_a_module_mounted_under_its_own_id_needs_no_second_name() -> None:
    """Other names are told."""
    assert str(MountedModule("tool", "bash", ("bash",))) == "tool bash"
    assert str(MountedModule("tool", "bash", ("bash", "sh"))) == "tool bash as bash, sh"


@pytest.mark.parametrize("section", ["skipped", "failed", "unknown_keys", "cleanup_errors"])
def test_any_problem_makes_a_report_unclean(section: str) -> None:
    """What mounted is no problem."""
    report = LoadReport(mounted=full_report().mounted)
    assert report.is_clean
    getattr(report, section).extend(getattr(full_report(), section))
    assert not report.is_clean


def test_a_report_is_json() -> None:
    """Keys are stable."""
    assert json.loads(json.dumps(full_report().to_dict())) == {
        "mounted": [
            {"kind": "tool", "module_id": "tool-bash", "names": ["bash"]},
            {"kind": "hook", "module_id": "hooks-log", "names": []},
        ],
        "skipped": [
            {"kind": "provider", "module_id": "provider-x", "reason": "no key", "reason_code": "not_configured"}
        ],
        "failed": [{"kind": "tool", "module_id": "tool-web", "reason": "import failed", "reason_code": "unknown"}],
        "unknown_keys": [
            {"module_id": "tool-bash", "key": "timout", "nearest": "timeout"},
            {"module_id": "tool-bash", "key": "zzz", "nearest": None},
        ],
        "cleanup_errors": ["close raised OSError: gone"],
    }


def test_reports_share_nothing() -> None:
    """Every session has lists of its own."""
    LoadReport().cleanup_errors.append("mine")
    assert LoadReport().cleanup_errors == []


def test_the_kernel_s_own_events_are_no_canonical_ones() -> None:
    """They are listed once each, and apart from the closed list."""
    named = {value for key, value in vars(kernel_events).items() if key.isupper() and key != "KERNEL_EVENTS"}
    assert set(kernel_events.KERNEL_EVENTS) == named
    assert len(kernel_events.KERNEL_EVENTS) == len(named)
    assert not named & set(events.ALL_EVENTS)

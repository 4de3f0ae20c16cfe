"""The official conformance suite of MCP runs against tool-mcp; its verdicts are those of the guide."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.modules.foreign import FOLDER, needs_foreign, program, run

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "mcp.md"

pytestmark = [pytest.mark.slow, needs_foreign]

SCENARIOS = re.findall(r"^\| `(?P<name>[^`]+)` \| (?P<verdict>pass|fail) \|", GUIDE.read_text("utf-8"), re.MULTILINE)


def test_the_guide_has_all_scenarios() -> None:
    """The table of the guide has every client scenario of the suite, and no other."""
    listed = run(*program("@modelcontextprotocol/conformance", "conformance"), "list", "--client", timeout_s=60)
    names = re.findall(r"^  - (\S+)", listed.stdout.partition("Client scenarios")[2] or listed.stdout, re.MULTILINE)
    assert sorted(names) == sorted(name for name, _ in SCENARIOS)


@pytest.mark.parametrize(("scenario", "verdict"), SCENARIOS, ids=[name for name, _ in SCENARIOS])
def test_conformance(scenario: str, verdict: str, tmp_path: Path) -> None:
    """The official suite says of our client what the guide says."""
    client = f"{sys.executable} {FOLDER / 'conformance_client.py'}"
    suite = program("@modelcontextprotocol/conformance", "conformance")
    options = ("--scenario", scenario, "--command", client, "-o", str(tmp_path / "results"), "--timeout", "60000")
    ran = run(*suite, "client", *options, timeout_s=110)
    assert ("OVERALL: PASSED" in ran.stdout + ran.stderr) == (verdict == "pass"), ran.stdout + ran.stderr

"""Whether a module keeps its contract: the kernel's validators, and its behaviour suites in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from amplifier.problems import Problem, UsageProblem

_SUITES = "amplifier_core.validation.behavioral"
_LIMIT_S = 300


class Verdict(NamedTuple):
    """The checks of one module: ``name``, ``passed``, ``message`` and ``severity`` each."""

    kind: str
    path: str
    checks: list[dict[str, Any]]

    @property
    def is_valid(self) -> bool:
        """Whether no check of severity ``error`` failed."""
        return all(check["passed"] or check["severity"] != "error" for check in self.checks)


async def validate(path: Path, config: dict[str, Any] | None = None, kind: str | None = None) -> Verdict:
    """The checks of the kernel's validator for the module at ``path``; it is imported and mounted for that."""
    from amplifier_core.validation import VALIDATORS, detect_kind

    kind = kind or detect_kind(path)
    if kind not in VALIDATORS:
        raise UsageProblem(
            f"{path} is no module that can be validated: its kind is {kind or 'unknown'}.",
            f"Expected one of {', '.join(VALIDATORS)}, as __amplifier_module_type__ or by the name of the package.",
        )
    result = await VALIDATORS[kind]().validate(path, None, config)
    return Verdict(kind, str(path), [asdict(check) for check in result.checks])


def behaviour(kind: str, path: Path) -> list[dict[str, Any]]:
    """A check for each test of the behaviour suite of ``kind``, run by pytest on the module at ``path``."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", f"{_SUITES}.test_{kind}",
            "-o", "python_classes=*Tests", "--module-path", str(path.absolute()), "--junitxml", str(report),
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_LIMIT_S, check=False, errors="replace"
            )
        except subprocess.TimeoutExpired:
            raise Problem(
                f"The behaviour suite of {path} did not end in {_LIMIT_S} s.", "Look where it waits."
            ) from None
        if not report.is_file():
            told = (done.stderr or done.stdout).strip().splitlines()
            raise Problem(
                f"The behaviour suite cannot be run: {told[-1] if told else 'pytest ended without a report'}",
                "It needs pytest and pytest-asyncio: pip install 'amplifier-core[dev]'",
            )
        return list(_checks_in(report))


def _checks_in(report: Path) -> Iterator[dict[str, Any]]:
    from xml.etree import ElementTree

    for case in ElementTree.parse(report).iter("testcase"):
        failed = next((found for tag in ("failure", "error") if (found := case.find(tag)) is not None), None)
        skipped = case.find("skipped")
        told = skipped if failed is None else failed
        yield {
            "name": case.get("name", "").removeprefix("test_"),
            "passed": failed is None,
            "message": "as promised" if told is None else (told.get("message") or "failed").partition("\n")[0],
            "severity": "info" if failed is None else "error",
        }

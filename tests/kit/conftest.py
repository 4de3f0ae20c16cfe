"""What the tests of the chaos suite share: running a module that is written in the test, and telling what broke."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amplifier_kit.chaos import faults_of, run_mount
from amplifier_kit.chaos._stage import Subject

Mount = Callable[[Any, dict[str, Any]], Any]


@pytest.fixture
def broken() -> Callable[[str, Mount], Awaitable[dict[str, str]]]:
    """``await broken(kind, mount)``: the promises that a module breaks, by fault, each with its message.

    The time limit is never reached by what works, however busy the machine.
    """

    async def broken(kind: str, mount: Mount) -> dict[str, str]:
        result = await run_mount(kind, mount, limit_s=20.0)
        return {check.name.removeprefix("chaos_"): check.message for check in result.checks if not check.passed}

    return broken


@pytest.fixture
def too_late() -> Callable[[str, Mount, str], Awaitable[str]]:
    """``await too_late(kind, mount, fault)``: what one fault finds in a module that does not end, in a short time."""

    async def too_late(kind: str, mount: Mount, fault: str) -> str:
        subject = Subject(kind, lambda coordinator: mount(coordinator, {}), limit_s=0.6)
        finding = await next(each for each in faults_of(kind) if each.name == fault).provoke(subject)
        return "" if finding is None else finding.told

    return too_late

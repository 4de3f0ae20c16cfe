"""What the behaviour suites share: how they tell a crash from a refusal, and what mounting promises."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from amplifier_core._error_text import describe_error
from amplifier_core.interfaces import missing_members

CRASHES: tuple[type[Exception], ...] = (AttributeError, TypeError)
"""What code raises that did not look at what it got."""


def require_all_members(kind: str, instance: Any) -> None:
    """Fails unless ``instance`` has everything that a module of its kind offers."""
    missing = missing_members(kind, instance)
    assert not missing, (
        f"mount() put {type(instance).__name__} in place, which is no {kind}: it lacks {', '.join(missing)}. "
        f"Add what is missing, as the {kind} contract lists it."
    )


@contextmanager
def no_crash(call: str, way_out: str, crashes: tuple[type[Exception], ...] = CRASHES) -> Generator[None]:
    """Fails when the block crashes; any other exception is a refusal, which is a module's right."""
    try:
        yield
    except crashes as error:
        pytest.fail(f"{call} crashed with {describe_error(error)}. {way_out}", pytrace=False)
    except Exception:
        return

"""Claude's provider against a real socket that fails in every way."""

from __future__ import annotations

import pytest
from tests.modules.anthropic_world import VENDOR
from tests.modules.provider_faults import FAULTS, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_fault_ends_as_it_should(fault: Fault) -> None:
    """Each fault becomes the error that fits, told once, with what came; what is no fault makes no difference."""
    await fault.check_with(VENDOR)

"""A session set up to be looked at, and taken down again: the plan's guards are on, nothing of it is kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from amplifier.bundles.plan import MountPlan
from amplifier.problems import Problem
from amplifier.runtime.assembly import in_folder


@asynccontextmanager
async def opened(
    plan: MountPlan,
    working_dir: Path,
    *,
    without: Collection[str] = (),
    resolver: Any = None,
    approval: Any = None,
    display: Any = None,
) -> AsyncGenerator[Any]:
    """The kernel's session of ``plan``, initialised, for the time of the block.

    ``without`` names sections that are left out, ``providers``, ``tools`` or ``hooks``: what is not looked at need not
    be there. ``resolver`` finds modules that have a source. Raises ``Problem`` where the session cannot be set up.
    """
    from amplifier_core.session import AmplifierSession

    made = in_folder(plan.plan, None)
    for section in without:
        made[section] = []
    session = AmplifierSession(made, approval_system=approval, display_system=display)
    session.coordinator.register_capability("session.working_dir", str(working_dir))
    if resolver is not None:
        await session.coordinator.mount("module-source-resolver", resolver)
    try:
        try:
            await session.initialize()
        except RuntimeError as error:
            raise Problem(
                f"The session cannot be set up: {error}", "amplifier plan show tells what it is made of."
            ) from error
        yield session
    finally:
        await session.cleanup()

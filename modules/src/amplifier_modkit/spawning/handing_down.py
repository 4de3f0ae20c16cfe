"""What a session hands down to its children beside its plan: capabilities of the application, and those of modules.

A module hands something down by contributing ``{capability name: value}`` to the channel ``session.handed_down``. In
the child the same module finds the value as a capability when it is mounted: that is how a child's copy of a module
knows the parent's, and how both work on one budget, one list, one queue of questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from amplifier_core.coordinator import ModuleCoordinator

HANDED_DOWN = "session.handed_down"
"""The channel."""

_OF_THE_APPLICATION = (
    "session.working_dir",
    "mention_resolver",
    "provider.before_load",
    "provider.load_failure",
    "files.checkpoint",
)


async def hand_down(parent: ModuleCoordinator, child: ModuleCoordinator) -> None:
    """Gives the child, which is not set up yet, what it finds in its parent."""
    for name in _OF_THE_APPLICATION:
        value = parent.get_capability(name)
        if value is not None:
            child.register_capability(name, value)
    for contribution in await parent.collect_contributions(HANDED_DOWN):
        if isinstance(contribution, Mapping):
            for name, value in cast("Mapping[Any, Any]", contribution).items():
                child.register_capability(str(name), value)

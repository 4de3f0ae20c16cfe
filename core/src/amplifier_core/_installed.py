"""What a stretch of mounting put into a coordinator, and how to take exactly that out again.

The one mechanism behind a module that fails half-way, a session that cannot start, and the clean-up at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amplifier_core._channels import Contributor
from amplifier_core._handlers import Registration
from amplifier_core.coordinator import NAMED_POINTS, SINGLE_POINTS, ModuleCoordinator

_ABSENT: Any = object()


@dataclass(slots=True)
class Replaced:
    """One entry of a table that is new or has a new value, and what was there before."""

    table: dict[str, Any]
    key: str
    value: Any
    before: Any

    def put_back(self) -> None:
        """Restores what was there, unless somebody has changed the entry since."""
        if self.table.get(self.key, _ABSENT) is not self.value:
            return
        if self.before is _ABSENT:
            del self.table[self.key]
        else:
            self.table[self.key] = self.before


class Mounted(list[tuple[str, Replaced]]):
    """Modules mounted since a checkpoint: mount point and entry; the key of a single point is the point itself."""

    def at(self, point: str) -> list[Replaced]:
        """What was mounted at one point."""
        return [entry for where, entry in self if where == point]


@dataclass(slots=True)
class Installation:
    """Everything that was added to a coordinator between a checkpoint and now."""

    modules: Mounted
    registrations: list[Registration]
    capabilities: list[Replaced]
    contributors: list[tuple[list[Contributor], Contributor]]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added at all."""
        return not (self.modules or self.registrations or self.capabilities or self.contributors)

    def take_out(self) -> None:
        """Removes all of it and puts back what it replaced; clean-up functions are left to the coordinator."""
        for entry in [*(entry for _, entry in self.modules), *self.capabilities]:
            entry.put_back()
        for registration in self.registrations:
            if registration.is_registered:
                registration()
        for channel, contributor in self.contributors:
            channel[:] = [each for each in channel if each is not contributor]


class Checkpoint:
    """The state of a coordinator at one moment; lives while something is being mounted."""

    __slots__ = ("_capabilities", "_channels", "_coordinator", "_named", "_registrations", "_single", "cleanups")

    def __init__(self, coordinator: ModuleCoordinator) -> None:
        points = coordinator.mount_points
        self._coordinator = coordinator
        self._single = {point: points[point] for point in SINGLE_POINTS}
        self._named = {point: dict(points[point]) for point in NAMED_POINTS}
        self._capabilities = dict(coordinator.capabilities)
        self._channels = {name: len(contributors) for name, contributors in coordinator.channels.items()}
        self.cleanups = coordinator.pending_cleanups
        self._registrations = coordinator.hooks.registered_so_far

    def mounted(self) -> Mounted:
        """The modules that were mounted since."""
        points = self._coordinator.mount_points
        modules = Mounted((entry.key, entry) for entry in _replaced(points, self._single, SINGLE_POINTS))
        for point in NAMED_POINTS:
            if points[point]:
                modules += [(point, entry) for entry in _replaced(points[point], self._named[point])]
        return modules

    def installation(self) -> Installation:
        """What was added since."""
        coordinator = self._coordinator
        return Installation(
            modules=self.mounted(),
            registrations=coordinator.hooks.registered_since(self._registrations),
            capabilities=_replaced(coordinator.capabilities, self._capabilities),
            contributors=[
                (contributors, contributor)
                for name, contributors in coordinator.channels.items()
                for contributor in contributors[self._channels.get(name, 0) :]
            ],
        )

    async def unwind(self) -> None:
        """Undoes everything since: runs the clean-ups registered meanwhile, then takes out what was installed."""
        try:
            await self._coordinator.run_cleanups(keep=self.cleanups)
        finally:
            self.installation().take_out()
            for point, before in self._named.items():
                _put_back_removed(self._coordinator.mount_points[point], before)


def _put_back_removed(table: dict[str, Any], before: dict[str, Any]) -> None:
    complete = {**before, **table}
    if list(complete) != list(table):
        table.clear()
        table.update(complete)


def _replaced(table: dict[str, Any], before: dict[str, Any], keys: Iterable[str] | None = None) -> list[Replaced]:
    return [
        Replaced(table, key, table[key], before.get(key, _ABSENT))
        for key in (table if keys is None else keys)
        if before.get(key, _ABSENT) is not table[key]
    ]

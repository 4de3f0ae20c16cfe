"""What a stretch of mounting put into a coordinator, and taking exactly that out again."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core._installed import Checkpoint
from amplifier_core.coordinator import ModuleCoordinator


async def ignore(event: str, data: dict[str, Any]) -> None:
    """A handler without effect."""


def furnished() -> ModuleCoordinator:
    """A coordinator that somebody else has used before."""
    coordinator = ModuleCoordinator()
    coordinator.mount("context", "old context")
    coordinator.mount("tools", "old bash", name="bash")
    coordinator.mount("tools", "old web", name="web")
    coordinator.register_capability("a", "old a")
    coordinator.register_contributor("events", "old", list)
    coordinator.hooks.register("e", ignore, name="old")
    return coordinator


def contents(coordinator: ModuleCoordinator) -> dict[str, Any]:
    """Everything that mounting can change."""
    points = {key: value for key, value in coordinator.mount_points.items() if key != "hooks"}
    return {
        "points": {key: dict(value) if isinstance(value, dict) else value for key, value in points.items()},
        "capabilities": dict(coordinator.capabilities),
        "channels": {name: [each["name"] for each in who] for name, who in coordinator.channels.items() if who},
        "handlers": {event: names for event, names in coordinator.hooks.list_handlers().items() if names},
    }


def install_everything(coordinator: ModuleCoordinator) -> None:
    """One new thing and one replacement of each kind."""
    coordinator.mount("orchestrator", "loop")
    coordinator.mount("context", "new context")
    coordinator.mount("tools", "new bash", name="bash")
    coordinator.mount("tools", "grep", name="grep")
    coordinator.mount("providers", "local", name="local")
    coordinator.register_capability("a", "new a")
    coordinator.register_capability("b", "b")
    coordinator.register_contributor("events", "new", list)
    coordinator.register_contributor("other", "new", list)
    coordinator.hooks.register("e", ignore, name="new")
    coordinator.hooks.register("f", ignore, name="new")


def test_nothing_added_is_an_empty_installation() -> None:
    """Whatever was there before."""
    installation = Checkpoint(furnished()).installation()
    assert installation.is_empty
    assert installation.modules.at("tools") == []


@pytest.mark.parametrize(
    "add",
    [
        lambda coordinator: coordinator.mount("orchestrator", "loop"),
        lambda coordinator: coordinator.mount("tools", "x", name="x"),
        lambda coordinator: coordinator.hooks.register("e", ignore),
        lambda coordinator: coordinator.register_capability("c", None),
        lambda coordinator: coordinator.register_contributor("c", "n", list),
    ],
    ids=["single point", "named point", "handler", "capability", "contributor"],
)
def test_anything_added_is_no_empty_installation_and_can_be_taken_out(add: Any) -> None:
    """Of every kind."""
    coordinator = furnished()
    before, checkpoint = contents(coordinator), Checkpoint(coordinator)
    add(coordinator)
    installation = checkpoint.installation()
    assert not installation.is_empty
    installation.take_out()
    assert contents(coordinator) == before


def test_an_installation_tells_what_was_mounted_where() -> None:
    """New names and replaced ones; the key of a single point is the point."""
    coordinator = furnished()
    checkpoint = Checkpoint(coordinator)
    install_everything(coordinator)
    installation = checkpoint.installation()
    points = ("orchestrator", "context", "module-source-resolver", "tools", "providers")
    assert {point: [entry.key for entry in installation.modules.at(point)] for point in points} == {
        "orchestrator": ["orchestrator"],
        "context": ["context"],
        "module-source-resolver": [],
        "tools": ["bash", "grep"],
        "providers": ["local"],
    }
    assert [entry.value for entry in installation.modules.at("tools")] == ["new bash", "grep"]


def test_taking_out_restores_everything_that_was_there() -> None:
    """Twice is fine."""
    coordinator = furnished()
    before, checkpoint = contents(coordinator), Checkpoint(coordinator)
    install_everything(coordinator)
    installation = checkpoint.installation()
    installation.take_out()
    installation.take_out()
    assert contents(coordinator) == before


def test_what_somebody_changed_since_is_left_as_it_is() -> None:
    """Taking out does not undo others' work."""
    coordinator = furnished()
    checkpoint = Checkpoint(coordinator)
    install_everything(coordinator)
    installation = checkpoint.installation()
    coordinator.mount("tools", "newer bash", name="bash")
    coordinator.mount("context", "newer context")
    coordinator.unmount("tools", name="grep")
    coordinator.register_contributor("events", "newer", list)
    coordinator.hooks.register("e", ignore, name="newer")
    installation.take_out()
    assert contents(coordinator) == {
        "points": {
            "orchestrator": None,
            "providers": {},
            "tools": {"bash": "newer bash", "web": "old web"},
            "context": "newer context",
            "module-source-resolver": None,
        },
        "capabilities": {"a": "old a"},
        "channels": {"events": ["old", "newer"]},
        "handlers": {"e": ["old", "newer"]},
    }


async def test_unwinding_runs_the_clean_ups_registered_since_and_takes_everything_out() -> None:
    """Last in first out, before the modules go; earlier clean-ups wait on."""
    coordinator, steps = furnished(), list[Any]()
    before = contents(coordinator)
    coordinator.register_cleanup(lambda: steps.append("earlier"))
    checkpoint = Checkpoint(coordinator)
    install_everything(coordinator)
    coordinator.register_cleanup(lambda: steps.append(("one", coordinator.get("orchestrator"))))
    coordinator.register_cleanup(lambda: steps.append("two"))
    await checkpoint.unwind()
    assert steps == ["two", ("one", "loop")]
    assert contents(coordinator) == before
    assert coordinator.pending_cleanups == 1


async def test_unwinding_takes_everything_out_even_if_a_clean_up_is_interrupted() -> None:
    """The interruption comes out afterwards; what the clean-up itself installed goes as well."""
    coordinator = furnished()
    before, checkpoint = contents(coordinator), Checkpoint(coordinator)
    install_everything(coordinator)

    def interrupt() -> None:
        coordinator.mount("tools", "late", name="late")
        raise KeyboardInterrupt

    coordinator.register_cleanup(interrupt)
    unwinding = checkpoint.unwind()
    with pytest.raises(KeyboardInterrupt):
        unwinding.send(None)
    assert contents(coordinator) == before


async def test_unwinding_puts_back_what_was_unmounted_from_named_points_where_it_stood() -> None:
    """Order counts: the first provider is the one that loops use."""
    coordinator = furnished()
    for name in ("one", "two", "three"):
        coordinator.mount("providers", name, name=name)
    before, checkpoint = contents(coordinator), Checkpoint(coordinator)
    coordinator.unmount("providers", name="two")
    coordinator.unmount("tools", name="web")
    coordinator.mount("providers", "new", name="new")
    await checkpoint.unwind()
    assert contents(coordinator) == before
    assert list(coordinator.get("providers")) == ["one", "two", "three"]
    assert list(coordinator.get("tools")) == ["bash", "web"]

"""What the kernel emits is what the event catalogue says."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from amplifier_core.event_payloads import PAYLOADS
from amplifier_core.report import UnknownConfigKey


async def live_an_eventful_life(stage: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of two sessions, parent and child, in which everything happens that the kernel tells about."""

    async def turn(coordinator: Any) -> None:
        await coordinator.request_cancel()
        if coordinator.parent_id:
            raise ValueError("stopped")

    async def ready(coordinator: Any) -> None:
        raise ValueError("not ready")

    def mount(coordinator: Any, config: Any) -> Any:
        def cleanup() -> None:
            raise ValueError("stuck")

        coordinator.report.unknown_keys.append(UnknownConfigKey("tool-x", "colour", "color"))
        coordinator.report.unknown_keys.append(UnknownConfigKey("tool-x", "zzz"))
        coordinator.mount("tools", stage.Hammer())
        return cleanup

    stage.turn = turn
    stage.module("tool-x", mount, ready=ready)
    missing = {"module": "provider-none", "instance_id": "one"}
    plan = stage.plan(
        session={"raw": True, "metadata": {"agent": "x"}},
        providers=["provider-a", missing],
        tools=["tool-x", "tool-none"],
    )
    parent = stage.session(plan)
    child = parent.fork(is_resumed=True)
    seen = stage.watch(parent)
    seen_by_child = stage.watch(child)
    async with parent:
        await parent.execute("hi")
    async with child:
        with pytest.raises(ValueError, match="stopped"):
            await child.execute("hi")
    return seen + seen_by_child


async def test_every_event_of_the_kernel_matches_its_payload_type(stage: Any) -> None:
    """Each payload validates strictly as its ``TypedDict``, and every event of the kernel is among them."""
    seen = await live_an_eventful_life(stage)
    for event, data in seen:
        TypeAdapter(PAYLOADS[event]).validate_python(data, strict=True)
    by_kernel = {event for event, payload in PAYLOADS.items() if "Emitted by the kernel" in str(payload.__doc__)}
    assert {event for event, _ in seen} == by_kernel
    assert len(by_kernel) == 10


async def test_every_event_of_the_kernel_carries_ids_and_time(stage: Any) -> None:
    """Whoever listens knows whose event it is and when it happened."""
    for _, data in await live_an_eventful_life(stage):
        assert isinstance(data["session_id"], str)
        assert "parent_id" in data
        assert data["timestamp"].endswith("+00:00")

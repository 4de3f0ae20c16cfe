"""The call that is being carried out, as a tool finds it."""

from __future__ import annotations

import asyncio

from amplifier_modkit.current_call import carrying_out, current_call_id


async def test_the_call_is_known_within_and_nowhere_else() -> None:
    """Tasks that begin within have it for good; calls inside a call, as those of an agent, have their own."""
    release = asyncio.Event()

    async def later() -> str | None:
        await release.wait()
        return current_call_id()

    assert current_call_id() is None
    with carrying_out("outer"):
        task = asyncio.create_task(later())
        with carrying_out("inner"):
            assert current_call_id() == "inner"
        assert current_call_id() == "outer"
    release.set()
    assert (await task, current_call_id()) == ("outer", None)

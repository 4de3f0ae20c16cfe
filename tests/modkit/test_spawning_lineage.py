"""Where a session stands in its line: depth, limits that only get tighter, and ids that tell."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.testing import SequentialIds
from amplifier_modkit.spawning.lineage import Lineage, is_child_id, sub_session_id


def test_a_session_that_a_person_started_is_at_the_top() -> None:
    """Without a call around it, and with an id of no child, a session has depth 0 and no limit."""
    assert Lineage.of("a-b_c") == Lineage(0, None)
    assert Lineage.of("a-b_c").has_room


def test_inside_a_call_that_starts_sessions_the_depth_is_one_more() -> None:
    """The depth grows with each call inside another, and is as before afterwards."""
    seen: list[Lineage] = []
    with Lineage.of("root").narrowed(3).descended():
        seen.append(Lineage.of("child"))
        with Lineage.of("child").descended():
            seen.append(Lineage.of("grandchild"))
    seen.append(Lineage.of("root"))
    assert seen == [Lineage(1, 3), Lineage(2, 3), Lineage(0, None)]


async def test_tasks_started_inside_the_call_inherit_the_depth_and_others_do_not() -> None:
    """What runs beside the call is not below it."""

    async def lineage() -> Lineage:
        return Lineage.of("x")

    with Lineage(0, 2).descended():
        inside = asyncio.create_task(lineage())
    outside = asyncio.create_task(lineage())
    assert (await inside, await outside) == (Lineage(1, 2), Lineage(0, None))


@pytest.mark.parametrize(
    ("depth", "limits", "has_room"),
    [(0, [1], True), (1, [1], False), (0, [0], False), (1, [5, 2], True), (2, [5, 2], False), (2, [2, 5], False)],
)
def test_a_limit_is_tightened_and_never_loosened(depth: int, limits: list[int], has_room: bool) -> None:
    """Of several limits along a line the smallest holds."""
    lineage = Lineage(depth)
    for limit in limits:
        lineage = lineage.narrowed(limit)
    assert (lineage.max_depth, lineage.has_room) == (min(limits), has_room)


def test_a_childs_id_tells_the_parent_and_the_agent() -> None:
    """It is the parent's id, 16 hexadecimal digits, and the agent's name behind the last underscore."""
    child = sub_session_id("root", "code-reader", SequentialIds())
    assert (child.startswith("root-"), child.rpartition("_")[2]) == (True, "code-reader")
    assert Lineage.of(child).depth == 1
    assert Lineage.of(sub_session_id(child, "x", SequentialIds())).depth == 2


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("foundation:explorer", "foundation-explorer"),
        ("a_b", "a-b"),
        ("../../etc/passwd", "etc-passwd"),
        ("ä", "agent"),
        ("", "agent"),
        ("x" * 100, "x" * 32),
    ],
)
def test_an_agents_name_becomes_part_of_a_file_name(agent: str, told: str) -> None:
    """What no file name should have is replaced, and underscores as well, so that the last part is the agent."""
    assert sub_session_id("root", agent, SequentialIds()).rpartition("_")[2] == told


def test_ids_stay_short_enough_for_a_folder() -> None:
    """However deep a line is, an id of it fits into the 255 bytes of a file name, and the depth is not forgotten."""
    session_id, new_id = "0d7b1c6e-5a3f-4a7e-9f0a-3d2c1b0a9f8e", SequentialIds()
    for depth in range(1, 21):
        parent, session_id = session_id, sub_session_id(session_id, "an-agent-with-a-rather-long-name", new_id)
        assert len(session_id) <= 255
        assert is_child_id(session_id, parent)
        assert Lineage.of(session_id).depth >= min(depth, 3)


@given(st.text(max_size=300), st.text(max_size=60))
def test_an_id_is_recognised_as_that_of_a_child(parent: str, agent: str) -> None:
    """Whatever parent and agent are called; other sessions' ids are not, nor those of grandchildren."""
    child = sub_session_id(parent, agent, SequentialIds())
    assert is_child_id(child, parent)
    assert not is_child_id(sub_session_id(child, agent, SequentialIds()), parent)
    assert not is_child_id(parent, parent)
    assert not is_child_id(child, f"{parent}x")


@pytest.mark.parametrize(
    "stranger", ["", "root", "root-", "root-child", "root-0123456789abcdef", "other-0123456789abcdef_x"]
)
def test_an_id_that_was_made_up_is_not_a_childs(stranger: str) -> None:
    """The id has to have all its parts."""
    assert not is_child_id(stranger, "root")

"""File checkpoints of sessions at work: the real tools, their turns, child agents, steering, and what is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.app.run_world import calls
from tests.app.store_world import StoreWorld

from amplifier.bundles.plan import MountPlan
from amplifier.runtime.checkpointing import CheckpointKeeper
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.store import Checkpoints
from amplifier_core.testing import MockContextManager, TestCoordinator

FILES = [{"module": "tool-filesystem"}]


class World(StoreWorld):
    """A home, and one session in it whose model answers from a script."""

    def __init__(self, root: Path) -> None:
        super().__init__(root.resolve())
        self.work = self.places.working_dir
        self.told: list[str] = []
        self.stored = self.store.create("root")

    def runtime(self, script: list[Any], *, is_kept: bool = True, **sections: Any) -> Runtime:
        """A runtime of the session."""
        plan: dict[str, Any] = {
            "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-persistent"}},
            "providers": [{"module": "provider-mock", "config": {"script": script}}],
            "tools": FILES,
            "hooks": [],
            **sections,
        }
        stored, store = (self.stored, self.store) if is_kept else (None, None)
        setting = Setting(self.work, store, stored, is_resumed=bool(self.stored.messages()), tell=self.told.append)
        return Runtime(MountPlan("test", "test", plan, "", {}, {}, [], frozenset()), setting)

    def write(self, name: str, content: str) -> dict[str, Any]:
        """An answer that writes a file."""
        return calls(("write_file", {"file_path": name, "content": content}))

    def texts(self) -> dict[str, str]:
        """The files that there are."""
        return {each.name: each.read_text() for each in sorted(self.work.iterdir())}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.slow
async def test_every_tool_that_changes_files_has_checkpoints(world: World) -> None:
    """write_file, edit_file and apply_patch, in two runs of the command, each in its turn; all of it comes back."""
    (world.work / "old.txt").write_text("one\ntwo\n")
    (world.work / "gone.txt").write_text("bye\n")
    before = world.texts()
    patch = (
        "*** Begin Patch\n*** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: moved.txt\n"
        "@@\n-TWO\n+three\n*** End Patch"
    )
    first: list[Any] = [
        calls(("read_file", {"file_path": "old.txt"}), ("read_file", {"file_path": "gone.txt"})),
        calls(("edit_file", {"file_path": "old.txt", "old_string": "two", "new_string": "TWO"})),
        "Edited.",
    ]
    async with world.runtime(first) as runtime:
        await runtime.run_turn("Edit.")
    between = world.texts()
    second: list[Any] = [
        world.write("made.txt", "made\n"),
        calls(("read_file", {"file_path": "old.txt"}), ("read_file", {"file_path": "gone.txt"})),
        calls(("apply_patch", {"patch": patch})),
        "Patched.",
    ]
    async with world.runtime(second) as runtime:
        await runtime.run_turn("Patch.")
        checkpoints = runtime.checkpoints
        assert checkpoints is not None
    assert world.texts() == {"made.txt": "made\n", "moved.txt": "one\nthree\n"}
    assert {each.turn for each in checkpoints.last()} == {2}
    checkpoints.carry_out(checkpoints.since(2))
    assert world.texts() == between
    checkpoints.carry_out(checkpoints.since(1))
    assert world.texts() == before
    assert world.told == []


@pytest.mark.slow
async def test_what_child_agents_change_counts_to_the_turn_of_their_parent(world: World) -> None:
    """The session that the user talks with has the checkpoints."""
    model = {"module": "provider-mock", "config": {"script": [world.write("child.txt", "by the child\n"), "Written."]}}
    agents = {"writer": {"description": "Writes.", "instruction": "You write.", "providers": [model]}}
    task = calls(("task", {"agent": "writer", "instruction": "Write."}))
    tools = [*FILES, {"module": "tool-task"}]
    async with world.runtime(["Hello.", task, "It has."], tools=tools, agents=agents) as runtime:
        await runtime.run_turn("Hello?")
        await runtime.run_turn("Have it written.")
    assert world.texts() == {"child.txt": "by the child\n"}
    checkpoints = Checkpoints(world.stored.folder)
    assert {each.turn for each in checkpoints.last()} == {2}
    checkpoints.carry_out(checkpoints.since(2))
    assert world.texts() == {}


async def test_a_session_that_is_not_kept_keeps_no_files(world: World) -> None:
    """The tools work, and nothing is written elsewhere."""
    async with world.runtime([world.write("a.txt", "a\n"), "Done."], is_kept=False) as runtime:
        await runtime.run_turn("Write.")
        assert runtime.checkpoints is None
    assert world.texts() == {"a.txt": "a\n"}


async def test_what_cannot_be_kept_is_told_once_and_does_not_stop_the_work(world: World) -> None:
    """A folder that cannot be written to; going back knows all the same which file was not kept."""
    (world.stored.folder / "checkpoints").write_text("a file in the way")
    (world.work / "b.txt").write_text("before\n")
    read = calls(("read_file", {"file_path": "b.txt"}))
    script: list[Any] = [world.write("a.txt", "a\n"), read, world.write("b.txt", "b\n"), "Done."]
    async with world.runtime(script) as runtime:
        outcome = await runtime.run_turn("Write.")
        assert (outcome.status, outcome.text) == ("success", "Done.")
        assert runtime.checkpoints is not None
        steps = runtime.checkpoints.since(1)
        assert [(each.path.name, each.standing) for each in steps] == [("a.txt", "ready"), ("b.txt", "lost")]
    assert world.texts() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert world.told == [
        "warning: checkpoints cannot be written: File exists; not everything can be undone "
        f"(first for {world.work / 'a.txt'})"
    ]


async def test_what_is_said_during_a_turn_is_a_turn_of_its_own(tmp_path: Path) -> None:
    """As in the conversation, in which one can go back to it."""
    coordinator = TestCoordinator()
    await coordinator.mount("context", MockContextManager())
    session: Any = type("Session", (), {"coordinator": coordinator})()
    checkpoints = Checkpoints(tmp_path / "session")
    keeper = CheckpointKeeper(session, checkpoints, lambda text: None)
    keeper.offer()
    turns: list[int] = []
    for event in ("prompt:submit", "orchestrator:steering_injected"):
        await coordinator.hooks.emit(event, {"prompt": "x"})
        keep = coordinator.get_capability("files.checkpoint")
        await asyncio.to_thread(keep, str(tmp_path / "a.txt"), None, b"a", None)
        turns += [each.turn for each in checkpoints.last()]
    assert turns == [1, 2]

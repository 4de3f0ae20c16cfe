"""tool-todo in whole sessions: the list survives a resume, and sub-sessions may read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.modkit.spawning_world import call, model, plan, said

from amplifier_core import AmplifierSession
from amplifier_core.testing import MockContextManager, TestCoordinator
from amplifier_module_tool_todo import mount, on_session_ready

CREATE = call("todo", action="create", todos=[{"content": "Read", "status": "in_progress"}, {"content": "Write"}])
UPDATE = call("todo", action="update", todos=[{"id": "1", "status": "completed"}])
BOTH_DONE = [("1", "Read", "completed"), ("2", "Write", "pending")]


def state(session: Any) -> list[tuple[str, str, str]]:
    """The list where other modules read it."""
    return [(each["id"], each["content"], each["status"]) for each in session.coordinator.todo_state]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own."""
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def persistent(*script: Any) -> dict[str, Any]:
    """A plan with a journal on the disk."""
    return plan(*script, session={"orchestrator": "loop-basic", "context": "context-persistent"}, tools=["tool-todo"])


async def test_the_list_survives_a_resume_from_the_disk() -> None:
    """A session of the same id has the list before its first turn, and goes on numbering."""
    async with AmplifierSession(persistent(CREATE, UPDATE, "done"), session_id="s-1") as session:
        await session.execute("go")
        assert state(session) == BOTH_DONE
    more = call("todo", action="update", todos=[{"id": "2", "status": "completed"}, {"content": "Ship"}])
    async with AmplifierSession(persistent(more, "done"), session_id="s-1", is_resumed=True) as session:
        assert state(session) == BOTH_DONE
        await session.execute("go on")
        assert state(session) == [*BOTH_DONE[:1], ("2", "Write", "completed"), ("3", "Ship", "pending")]


async def test_the_list_survives_a_resume_by_the_application() -> None:
    """An application fills the context after the start; the list is there when the first turn begins."""
    seen: list[Any] = []
    async with AmplifierSession(plan(CREATE, UPDATE, "done", tools=["tool-todo"])) as session:
        await session.execute("go")
        transcript = await session.coordinator.get("context").get_messages()

    def look(request: Any) -> str:
        seen.append(state(resumed))
        return "done"

    resumed = AmplifierSession(plan(look, look, tools=["tool-todo"]), is_resumed=True)
    async with resumed:
        await resumed.coordinator.get("context").set_messages(transcript)
        assert state(resumed) == []
        await resumed.execute("go on")
        resumed.coordinator.todo_state = []  # pyright: ignore[reportAttributeAccessIssue]
        await resumed.execute("and on")
    assert seen == [BOTH_DONE, []]


async def test_a_conversation_that_cannot_be_read_gives_no_list(caplog: pytest.LogCaptureFixture) -> None:
    """The session starts with an empty list, and a warning."""
    coordinator: Any = TestCoordinator()
    context = MockContextManager()
    context.get_messages.side_effect = OSError("disk")
    await mount(coordinator)
    await on_session_ready(coordinator)
    coordinator.mount("context", context)
    await on_session_ready(coordinator)
    assert coordinator.todo_state == []
    assert caplog.messages == ["The todos cannot be restored, the conversation is not to be had: OSError('disk')"]


async def test_a_tool_in_the_place_of_this_one_is_left_alone() -> None:
    """When another module has replaced it, there is nothing to restore."""
    coordinator = TestCoordinator()
    await on_session_ready(coordinator)
    assert not hasattr(coordinator, "todo_state")


@pytest.mark.parametrize("is_shared", [True, False])
async def test_a_sub_session_has_a_list_of_its_own_and_may_read_its_parents(is_shared: bool) -> None:
    """Reading is an option of the parent; what the sub-session does leaves the parent's list as it is."""
    own = call("todo", action="create", todos=[{"content": "Dig"}])
    agents = {"a": {"providers": model(own, call("todo", action="list"), "{{last_tool_result}}")}}
    tools = ["tool-task", {"module": "tool-todo", "config": {"share_with_sub_sessions": is_shared}}]
    script = (CREATE, UPDATE, call("task", instruction="go", agent="a"), "done")
    async with AmplifierSession(plan(*script, agents=agents, tools=tools)) as session:
        await session.execute("go")
        seen = json.loads(json.loads((await said(session))[-2][1])["response"])
        assert state(session) == BOTH_DONE
    assert [each["content"] for each in seen["todos"]] == ["Dig"]
    shared = seen.get("parent_todos")
    assert ([(each["id"], each["content"], each["status"]) for each in shared] if shared else None) == (
        BOTH_DONE if is_shared else None
    )


async def test_calls_of_one_answer_are_carried_out_one_after_another() -> None:
    """Each builds on the one before, and the last result has the list as it is."""
    calls = [
        {"name": "todo", "arguments": {"action": "create", "todos": [{"content": "a"}, {"content": "b"}]}},
        {"name": "todo", "arguments": {"action": "update", "todos": [{"id": "1", "status": "completed"}]}},
        {"name": "todo", "arguments": {"action": "update", "todos": [{"id": "2", "status": "in_progress"}]}},
    ]
    async with AmplifierSession(plan({"tool_calls": calls}, "done", tools=["tool-todo"])) as session:
        await session.execute("go")
        last = json.loads((await said(session))[-2][1])
        assert last["todos"] == session.coordinator.todo_state  # pyright: ignore[reportAttributeAccessIssue]
        assert state(session) == [("1", "a", "completed"), ("2", "b", "in_progress")]

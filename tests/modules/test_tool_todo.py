"""tool-todo: a list with ids that changes in parts, and refuses what would spoil it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import amplifier_module_tool_todo as module
from amplifier_core.testing import EventRecorder, TestCoordinator
from amplifier_module_tool_todo.board import PARENT_TODOS, latest_todos
from amplifier_module_tool_todo.items import TodoError, counts, created, stored_todos, updated
from amplifier_module_tool_todo.tool import TODO_UPDATED


def todo(todo_id: str, content: str, status: str = "pending") -> dict[str, str]:
    """A todo as it is kept."""
    return {"id": todo_id, "content": content, "activeForm": content, "status": status}


LIST = [todo("1", "Read"), todo("2", "Write", "in_progress"), todo("3", "Test")]


def given_todo(content: Any = "Read", status: Any = "pending", **more: Any) -> dict[str, Any]:
    """A todo as a model gives it."""
    return {"content": content, "activeForm": content, "status": status, **more}


@pytest.mark.parametrize(
    ("given_list", "ids"),
    [
        ([], []),
        ([given_todo("a"), given_todo("b")], ["1", "2"]),
        ([given_todo("a", id="x"), given_todo("b", id=7), given_todo("c")], ["x", "7", "8"]),
    ],
)
def test_todos_of_a_list_have_ids(given_list: Any, ids: list[str]) -> None:
    """Those that come with one keep it; the others are numbered on."""
    assert [each["id"] for each in created(given_list)] == ids


def test_what_a_model_leaves_out_is_filled_in() -> None:
    """A todo is pending unless it says otherwise, and is called the same while at it."""
    assert created([{"content": "Read", "status": None}]) == [todo("1", "Read")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{"id": "2", "status": "completed"}], [LIST[0], todo("2", "Write", "completed"), LIST[2]]),
        ([{"id": 2, "content": "Say"}], [LIST[0], {**LIST[1], "content": "Say"}, LIST[2]]),
        (
            [{"id": "2", "status": "completed"}, {"id": "3", "status": "in_progress"}, {"content": "Ship"}],
            [LIST[0], todo("2", "Write", "completed"), todo("3", "Test", "in_progress"), todo("4", "Ship")],
        ),
        ([{"id": "1"}], LIST),
        ([given_todo("Test"), given_todo("New"), given_todo("Read")], [LIST[2], todo("4", "New"), LIST[0]]),
        ([given_todo("Read"), given_todo("Read")], [LIST[0], todo("4", "Read")]),
    ],
    ids=["status", "content", "several and a new one", "nothing", "the whole list", "the same twice"],
)
def test_a_list_changes_in_parts(changes: Any, expected: Any) -> None:
    """By id the named fields change; without ids it is the whole list anew, and equal todos keep their ids."""
    before = [dict(each) for each in LIST]
    assert updated(LIST, changes) == expected
    assert before == LIST


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ("x", "'todos' must be a list of objects with 'content', 'activeForm' and 'status'."),
        (["x"], "'todos' must be a list of objects with 'content', 'activeForm' and 'status'."),
        ([{"content": "a"}] * 101, "101 todos are too many; 100 at most. Put several into one."),
        ([{"status": "pending"}], "A todo needs 'content': what is to be done. Got: {'status': 'pending', 'id': None}"),
        ([{"content": ["a"]}], "'content' of a todo must be text that is not empty. Got: {'content': ['a']"),
        ([{"content": " "}], "'content' of a todo must be text that is not empty. Got: {'content': ' '"),
        ([{"content": "a" * 1001}], "'content' of a todo has 1,001 characters; 1,000 at most."),
        ([{"content": "a", "status": "done"}], "'status' must be one of pending, in_progress, completed. Got: "),
        ([{"id": "9"}], "There is no todo with id 9. Ids: 1, 2, 3. Leave 'id' out to add a todo."),
        ([{"id": True, "content": "a"}], "'id' of a todo must be a short text. Got: {'id': True"),
        ([{"id": "", "content": "a"}], "'id' of a todo must be a short text. Got: {'id': ''"),
        ([{"id": "x" * 41, "content": "a"}], "'id' of a todo must be a short text. Got: {'id': 'xxx"),
        (
            [{"id": "1", "status": "in_progress"}],
            "Only one todo may be in_progress, these are 2 (1: Read; 2: Write). Complete one, or set it to pending.",
        ),
        ([{"id": "1", "content": "x"}, *[{"content": "a"}] * 99], "The list is too long: 102 todos with "),
        ([{"content": "ä" * 900}] * 40, "The list is too long: 40 todos with "),
    ],
)
def test_a_change_that_would_spoil_the_list_is_refused(changes: Any, told: str) -> None:
    """The message says what to change."""
    with pytest.raises(TodoError) as caught:
        updated(LIST, changes)
    assert str(caught.value)[: len(told)] == told


def test_ids_are_not_given_twice() -> None:
    """A list in which two todos have one id is refused; an unknown id in an empty list is told as such."""
    with pytest.raises(TodoError, match="Each todo needs an id of its own; used more than once: 1."):
        created([given_todo("a", id="1"), given_todo("b", id="1")])
    with pytest.raises(TodoError, match="There is no todo with id 1. Ids: none, the list is empty."):
        updated([], [{"id": "1"}])


TEXTS = st.text(min_size=1, max_size=30).filter(str.strip)
GIVEN = st.lists(
    st.fixed_dictionaries({"content": TEXTS, "status": st.sampled_from(["pending", "completed"])}), max_size=8
)


@given(GIVEN, st.lists(GIVEN, max_size=4))
def test_a_list_survives_being_written_and_read(first: Any, changes: list[Any]) -> None:
    """Whatever was done to a list, what is kept reads back as the same list, and each todo has an id of its own."""
    todos = created(first)
    for change in changes:
        if change:
            todos = updated(todos, change)
    assert stored_todos(todos) == todos
    assert len({each["id"] for each in todos}) == len(todos)
    assert sum(counts(todos).values()) == len(todos)


async def mounted(config: Any = None, coordinator: Any = None) -> tuple[Any, Any]:
    """A coordinator with the tool, and the tool."""
    coordinator = coordinator or TestCoordinator()
    await module.mount(coordinator, config)
    return coordinator, coordinator.get("tools", "todo")


async def test_the_three_actions() -> None:
    """Create and update answer with the whole list and its counts; what others read is the attribute."""
    coordinator, tool = await mounted()
    heard = EventRecorder()
    coordinator.hooks.register(TODO_UPDATED, heard)
    assert coordinator.todo_state == []
    made = await tool.execute({"action": "create", "todos": [given_todo("Read", "in_progress"), given_todo("Write")]})
    after = [todo("1", "Read", "in_progress"), todo("2", "Write")]
    facts = {"count": 2, "pending": 1, "in_progress": 1, "completed": 0, "todos": after}
    assert (made.success, made.output) == (True, {"status": "created", **facts})
    assert coordinator.todo_state == after
    changed = await tool.execute({"action": "update", "todos": [{"id": "1", "status": "completed"}]})
    after = [todo("1", "Read", "completed"), todo("2", "Write")]
    facts = {"count": 2, "pending": 1, "in_progress": 0, "completed": 1, "todos": after}
    assert changed.output == {"status": "updated", **facts}
    assert (await tool.execute({"action": "list"})).output == {"status": "listed", **facts}
    told = [{key: data[key] for key in ("action", *facts)} for _, data in heard.events]
    assert [each["action"] for each in told] == ["create", "update"]
    assert told[1] == {"action": "update", **facts}
    assert await coordinator.collect_contributions("observability.events") == [[TODO_UPDATED]]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ({}, "'action' must be one of create, update, list, got None. Nothing was changed."),
        ({"action": "delete"}, "'action' must be one of create, update, list, got 'delete'. Nothing was changed."),
        ({"action": "create"}, "'todos' is missing: give the whole list, which may be empty. Nothing was changed."),
        (
            {"action": "update"},
            "An update needs 'todos' with the changes; to empty the list, create an empty one. Nothing was changed.",
        ),
        (
            {"action": "update", "todos": []},
            "An update needs 'todos' with the changes; to empty the list, create an empty one. Nothing was changed.",
        ),
        (
            {"action": "create", "todos": [given_todo("a", "in_progress")] * 2},
            "Only one todo may be in_progress, these are 2 (1: a; 2: a). Complete one, or set it to pending. "
            "Nothing was changed.",
        ),
    ],
)
async def test_a_call_that_fails_changes_nothing_and_says_so(call: dict[str, Any], told: str) -> None:
    """The failure has output and error, and the list is as it was."""
    coordinator, tool = await mounted()
    await tool.execute({"action": "create", "todos": [given_todo("Read")]})
    heard = EventRecorder()
    coordinator.hooks.register(TODO_UPDATED, heard)
    result = await tool.execute(call)
    assert (result.success, result.output, result.error) == (False, told, {"message": told, "type": "invalid_input"})
    assert (coordinator.todo_state, heard.events) == ([todo("1", "Read")], [])


async def test_nobody_changes_the_list_by_what_he_was_shown() -> None:
    """Results, events and the shared list are copies."""
    coordinator, tool = await mounted()

    async def spoil(event: str, data: dict[str, Any]) -> None:
        data["todos"][0]["content"] = "spoilt"

    coordinator.hooks.register(TODO_UPDATED, spoil)
    result = await tool.execute({"action": "create", "todos": [given_todo("Read")]})
    tool.board.snapshot()[0]["content"] = "spoilt"
    assert result.output["todos"] == [todo("1", "Read")]
    result.output["todos"].clear()
    assert coordinator.todo_state == [todo("1", "Read")]


async def test_a_list_that_somebody_else_put_there_counts() -> None:
    """Other modules write the attribute, without ids; what is no list of todos counts as none."""
    coordinator = TestCoordinator()
    coordinator.todo_state = [given_todo("Read"), given_todo("Write")]  # pyright: ignore[reportAttributeAccessIssue]
    _, tool = await mounted(coordinator=coordinator)
    result = await tool.execute({"action": "update", "todos": [{"id": "2", "status": "completed"}]})
    assert [each["status"] for each in result.output["todos"]] == ["pending", "completed"]
    coordinator.todo_state = [3]  # pyright: ignore[reportAttributeAccessIssue]
    assert (await tool.execute({"action": "list"})).output["todos"] == []


async def test_a_sub_session_reads_the_list_of_its_parent() -> None:
    """Where the parent shares it; the sub-session's own list is another."""
    coordinator, tool = await mounted()
    coordinator.register_capability(PARENT_TODOS, lambda: [given_todo("Read", id="4")])
    assert (await tool.execute({"action": "list"})).output["parent_todos"] == [todo("4", "Read")]
    coordinator.register_capability(PARENT_TODOS, "nonsense")
    assert "parent_todos" not in (await tool.execute({"action": "list"})).output


def result_message(call_id: str, content: Any, role: str = "tool") -> dict[str, Any]:
    """The result of a call."""
    return {"role": role, "tool_call_id": call_id, "content": content}


def call_message(call_id: str, name: str = "todo") -> dict[str, Any]:
    """A call."""
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "name": name, "arguments": {}}]}


ONE = '{"status": "created", "todos": [{"content": "one"}]}'


@pytest.mark.parametrize(
    ("messages", "content"),
    [
        ([], None),
        ([call_message("1"), result_message("1", ONE)], "one"),
        ([call_message("1"), result_message("1", [{"type": "text", "text": ONE}])], "one"),
        ([call_message("1"), result_message("1", ONE), call_message("2"), result_message("2", "Error: no")], "one"),
        ([call_message("1"), result_message("1", ONE), call_message("2"), result_message("2", "[1]")], "one"),
        ([call_message("1"), result_message("1", ONE), call_message("2"), result_message("2", '{"todos": 3}')], "one"),
        ([call_message("1"), result_message("1", ONE), call_message("2"), result_message("2", "[" * 9999)], "one"),
        ([call_message("1", "bash"), result_message("1", ONE)], None),
        ([result_message("1", ONE)], None),
        ([call_message("1"), result_message("1", ONE, "user")], None),
        (["odd", call_message("1"), result_message("1", ONE.replace("one", "two"))], "two"),
    ],
)
def test_the_latest_list_is_found_in_a_conversation(messages: list[Any], content: str | None) -> None:
    """Only results of the tool's own calls count, and of these the latest that has a list."""
    found = latest_todos(messages)
    assert (found[0]["content"] if found else None) == content

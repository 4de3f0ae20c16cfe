"""The parts of tool-task: what a call may say, what a child reads of the conversation, what the model is told."""

from __future__ import annotations

from typing import Any

import pytest

import amplifier_module_tool_task as module
from amplifier_core import AmplifierSession, HookResult, ToolSpec
from amplifier_core.testing import RecordingApproval, TestCoordinator
from amplifier_modkit.turns.schemas import Schema
from amplifier_module_tool_task.config import TaskConfig
from amplifier_module_tool_task.errors import RefusedError
from amplifier_module_tool_task.excerpts import with_conversation
from amplifier_module_tool_task.outcomes import Outcome, read_answer
from amplifier_module_tool_task.requests import INPUT_SCHEMA, TaskRequest
from amplifier_module_tool_task.telling import TASK_AGENT_SPAWNED, TaskTeller, event_names

TASK = {"instruction": "look", "agent": "a"}


@pytest.mark.parametrize(
    ("given", "request_of"),
    [
        ({"instruction": " look ", "agent": " a "}, TaskRequest("look", "a")),
        ({"instruction": "look", "session_id": "s"}, TaskRequest("look", None, "s")),
        ({**TASK, "session_id": None, "inherit_context": None}, TaskRequest("look", "a")),
        ({**TASK, "inherit_context": "all"}, TaskRequest("look", "a", scope="all")),
        (
            {**TASK, "inherit_context": "recent", "inherit_context_turns": 2},
            TaskRequest("look", "a", None, "recent", 2),
        ),
        ({**TASK, "context_depth": "recent", "context_turns": 1}, TaskRequest("look", "a", None, "recent", 1)),
        (
            {**TASK, "provider_preferences": [{"provider": "p", "model": "m-*"}]},
            TaskRequest("look", "a", preferences=[{"provider": "p", "model": "m-*"}]),
        ),
    ],
)
def test_a_call_is_read(given: dict[str, Any], request_of: TaskRequest) -> None:
    """Texts without white space around them, defaults for the rest, and the words of the older tool as well."""
    assert TaskRequest.read(given) == request_of
    assert Schema(INPUT_SCHEMA).complaint({key: value for key, value in given.items() if value is not None}) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "'instruction' is missing: say what the agent shall do and report."),
        ({"instruction": "  "}, "'instruction' is missing: say what the agent shall do and report."),
        ({"instruction": 7}, "'instruction' must be text, got int."),
        ({"instruction": "x" * 400_001}, "'instruction' has 400,001 characters, 400,000 at most; put the material"),
        ({**TASK, "agent": ["a"]}, "'agent' must be text, got list."),
        ({**TASK, "session_id": {}}, "'session_id' must be text, got dict."),
        ({**TASK, "inherit_context": "some"}, "'inherit_context' must be one of none, recent, all, got 'some'."),
        ({**TASK, "inherit_context": []}, "'inherit_context' must be one of none, recent, all, got []."),
        ({**TASK, "inherit_context_turns": 0}, "'inherit_context_turns' must be a whole number from 1 on, got 0."),
        (
            {**TASK, "inherit_context_turns": True},
            "'inherit_context_turns' must be a whole number from 1 on, got True.",
        ),
        ({**TASK, "inherit_context_turns": "5"}, "'inherit_context_turns' must be a whole number from 1 on, got '5'."),
        ({**TASK, "provider_preferences": "p"}, "'provider_preferences' must be a list of objects with 'provider'"),
        ({**TASK, "provider_preferences": [{}]}, "'provider_preferences' must be a list of objects with 'provider'"),
        (
            {**TASK, "provider_preferences": [{"provider": "p"}] * 11},
            "11 provider preferences are too many; 10 at most.",
        ),
        ({**TASK, "provider_preferences": ["p"]}, "'provider_preferences' must be a list of objects with 'provider'"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_told(given: dict[str, Any], told: str) -> None:
    """The message says what to change."""
    with pytest.raises(RefusedError) as caught:
        TaskRequest.read(given)
    assert (str(caught.value)[: len(told)], caught.value.kind) == (told, "invalid_input")


def user(text: str, **more: Any) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text, **more}


CONVERSATION = [
    {"role": "system", "content": "secret rules"},
    user("first"),
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hidden"},
            {"type": "text", "text": "I look."},
            {"type": "tool_call", "id": "1", "name": "look", "input": {}},
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "a tool result"},
    user("<system-reminder>", metadata={"source": "hook"}),
    {"role": "assistant", "content": "Seen."},
    user("second", metadata={"timestamp": "now"}),
    {"role": "assistant", "content": None},
]


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (None, "User: first\n\nAssistant: I look.\n\nAssistant: Seen.\n\nUser: second"),
        (1, "User: second"),
        (2, "User: first\n\nAssistant: I look.\n\nAssistant: Seen.\n\nUser: second"),
        (9, "User: first\n\nAssistant: I look.\n\nAssistant: Seen.\n\nUser: second"),
    ],
)
def test_a_child_reads_what_was_said(turns: int | None, said: str) -> None:
    """User and assistant alone, without tools, thoughts, rules and what machines put in; as many turns as wanted."""
    assert with_conversation("Count.", CONVERSATION, turns) == (
        f"The conversation that your task comes from, for information:\n\n{said}\n\n---\n\nYour task:\n\nCount."
    )


def test_without_a_conversation_the_instruction_is_all() -> None:
    """Nothing was said, so nothing is quoted."""
    assert with_conversation("Count.", [], None) == "Count."
    assert with_conversation("Count.", CONVERSATION[:1], None) == "Count."


def test_a_long_conversation_is_clipped() -> None:
    """Each message to 2000 characters, the whole to its latest part."""
    told = with_conversation("Count.", [user(f"{number} {'x' * 5000}") for number in range(100)], None)
    assert "User: 99 xxx" in told
    assert "User: 0 xxx" not in told
    assert "characters left out" in told
    assert len(told) < 61_000


def test_the_result_has_the_same_fields_however_a_task_ends() -> None:
    """A failure says besides what went wrong; a long answer is clipped."""
    done = Outcome("success", "red", session_id="s-2", turn_count=2, metadata={"cost_usd": "1"}).to_result("a", "s-1")
    assert (done.success, done.error) == (True, None)
    assert done.output == {
        "agent": "a",
        "session_id": "s-2",
        "status": "success",
        "response": "red",
        "turn_count": 2,
        "metadata": {"cost_usd": "1"},
    }
    late = Outcome("timeout", "re", "too late").to_result("a", "s-1")
    assert (late.success, late.error) == (False, {"message": "too late", "type": "timeout"})
    assert late.output == {"agent": "a", "session_id": "s-1", "status": "timeout", "response": "re"}
    assert Outcome("odd").to_result("a", "s").error == {"message": "Agent 'a' ended early (odd)", "type": "odd"}
    long = Outcome("success", "x" * 200_000).to_result("a", "s").output
    assert isinstance(long, dict)
    assert len(long["response"]) == 100_000


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"output": "x", "session_id": "s"}, ("success", "x", "s")),
        ({"output": 7, "session_id": None, "metadata": [], "turn_count": "1"}, ("success", "7", None)),
        ({"output": "x", "status": "completed"}, ("success", "x", None)),
        ({"output": "x", "status": "cancelled"}, ("cancelled", "x", None)),
        (None, ("failed", "", None)),
        ({"answer": 1}, ("failed", "", None)),
    ],
)
def test_an_applications_answer_is_read(answer: Any, outcome: Any) -> None:
    """Two fields are enough; what is no answer is a failure."""
    found = read_answer("a", answer)
    assert (found.status, found.response, found.session_id) == outcome


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            {"output": "", "status": "cancelled"},
            "Agent 'a' was stopped before it had finished; 'response' is what it had",
        ),
        ({"output": "", "status": "incomplete", "reason": "empty"}, "Agent 'a' ended early (incomplete: empty); "),
        ({"output": "", "status": "incomplete"}, "Agent 'a' ended early (incomplete); 'response' is what it has."),
        (3, "The session of agent 'a' gave no answer: expected a dict with 'output', got 3"),
    ],
)
def test_what_went_wrong_is_told_in_words(answer: Any, message: str) -> None:
    """The message names the agent and the reason."""
    assert (read_answer("a", answer).message or "")[: len(message)] == message


async def test_a_hook_can_refuse_a_task() -> None:
    """By a deny, or by a question that is denied; what it would put into the conversation is left out."""

    async def verdict(answer: HookResult, reply: str = "Deny") -> str:
        coordinator = TestCoordinator()
        coordinator.approval_system = RecordingApproval(reply)
        coordinator.hooks.register(TASK_AGENT_SPAWNED, lambda event, data: answer)
        try:
            await TaskTeller(coordinator, "task", "a", "s").begin(is_resumed=False)
        except RefusedError as refusal:
            return str(refusal)
        return "begun"

    assert await verdict(HookResult(action="deny", reason="not now")) == "Denied: not now"
    assert await verdict(HookResult(action="deny")) == "Denied: a hook refused without giving a reason"
    question = HookResult(action="ask_user", approval_prompt="Really?", context_injection="x")
    assert await verdict(question) == "Denied: User denied: Really?"
    assert await verdict(question, "Allow") == "begun"
    assert await verdict(HookResult(action="inject_context", context_injection="x")) == "begun"


@pytest.mark.parametrize("contexts", [None, {}, "x", {"other": 1}])
async def test_without_a_loop_that_tells_it_the_call_has_no_id(contexts: Any) -> None:
    """A tool may be executed by anybody."""
    coordinator = TestCoordinator()
    vars(coordinator)["_tool_dispatch_contexts"] = contexts
    seen: list[Any] = []
    coordinator.hooks.register(TASK_AGENT_SPAWNED, lambda event, data: seen.append(data["tool_call_id"]))
    await TaskTeller(coordinator, "task", "a", "s").begin(is_resumed=False)
    assert seen == [None]


def test_the_config_has_the_documented_keys() -> None:
    """Defaults of the existing keys, and limits that are limits."""
    assert TaskConfig.read({"unknown": 1}).model_dump() == {
        "tool_names": ("task",),
        "exclude_tools": (),
        "inherit_tools": None,
        "exclude_hooks": (),
        "inherit_hooks": None,
        "max_recursion_depth": 1,
        "timeout": 1800.0,
        "max_iterations": 200,
        "max_concurrent": 5,
    }
    config = TaskConfig.read({"inherit_tools": [], "exclude_tools": ["x"], "inherit_hooks": ["y"]})
    assert config.inheritance("tools") == {"inherit_tools": [], "exclude_tools": ["x"]}
    assert config.inheritance("hooks") == {"inherit_hooks": ["y"]}
    assert TaskConfig().inheritance("tools") == {}


@pytest.mark.parametrize(
    "wrong",
    [{"tool_names": []}, {"tool_names": ["spawn"]}, {"timeout": 0}, {"max_concurrent": 0}, {"max_iterations": -1}],
)
async def test_a_wrong_value_keeps_the_module_from_mounting(wrong: dict[str, Any]) -> None:
    """The report of the session says so."""
    plan = {"session": {"orchestrator": "loop-basic", "context": "context-simple"}}
    plan["tools"] = [{"module": "tool-task", "config": wrong}]  # pyright: ignore[reportArgumentType]
    async with AmplifierSession(plan) as session:
        assert [problem.module_id for problem in session.report.failed] == ["tool-task"]


async def test_the_tool_is_offered_under_the_names_of_the_config() -> None:
    """With the agents in its description at each request, in the order of the plan, and with events for each name."""
    agents: dict[str, Any] = {
        "reader": {"description": "Reads\n  files."},
        "quiet": {},
        "long": {"description": "y" * 3000},
    }
    coordinator = TestCoordinator(config={"agents": agents})
    await module.mount(coordinator, {"tool_names": ["task", "delegate"]})
    tools = coordinator.get_mounted("tools")
    assert list(tools) == ["task", "delegate"]
    lines = tools["delegate"].description.splitlines()
    assert lines[2:5] == ["Agents:", "- reader: Reads files.", "- quiet: (no description)"]
    assert len(lines[5]) < 1_200
    assert lines[6].startswith("- self: This very agent once more")
    agents["late"] = {"description": "Comes later."}
    assert "- late: Comes later." in tools["task"].description
    spec = ToolSpec.from_tool(tools["task"])
    assert (spec.name, spec.parameters["required"]) == ("task", ["instruction"])
    announced = await coordinator.collect_contributions("observability.events")
    assert announced == [event_names(["task", "delegate"])]
    assert announced[0][::3] == ["task:agent_spawned", "delegate:agent_spawned"]

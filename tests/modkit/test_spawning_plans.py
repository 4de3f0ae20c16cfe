"""The plan of a child: the agent's overlay, filters, limits and choices on top of the parent's plan."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core import AmplifierSession
from amplifier_modkit.spawning.errors import SpawnError
from amplifier_modkit.spawning.module_lists import Inheritance
from amplifier_modkit.spawning.plans import Wishes, child_plan, loop_config, tightest
from amplifier_modkit.spawning.preferences import Choice

PLAN: dict[str, Any] = {
    "session": {
        "orchestrator": {"module": "loop-a", "source": "here", "config": {"max_iterations": 50, "model": "big"}},
        "context": "context-a",
        "metadata": {"project": "p"},
    },
    "providers": ["provider-a", {"module": "provider-b", "config": {"priority": 3}}],
    "tools": ["tool-x", "tool-y"],
    "hooks": ["hooks-x", "hooks-y"],
    "agents": {"one": {}, "two": {}},
}


def merged(agent: dict[str, Any], wishes: Wishes | None = None, plan: dict[str, Any] = PLAN) -> dict[str, Any]:
    """The plan of a child, as the kernel makes it."""
    child = child_plan(plan, "one", agent, wishes or Wishes(), {})
    return AmplifierSession(plan).fork(child.overlay).config


def loop_of(agent: dict[str, Any], wishes: Wishes | None = None, plan: dict[str, Any] = PLAN) -> Any:
    """The orchestrator of a child."""
    return merged(agent, wishes, plan)["session"]["orchestrator"]


def test_an_agent_that_says_nothing_is_the_parent_again() -> None:
    """The plan is the parent's, with entries as dicts."""
    assert merged({}) == {
        **PLAN,
        "providers": [{"module": "provider-a"}, PLAN["providers"][1]],
        "tools": [{"module": "tool-x"}, {"module": "tool-y"}],
        "hooks": [{"module": "hooks-x"}, {"module": "hooks-y"}],
    }


def test_an_agents_sections_are_merged_into_the_parents() -> None:
    """Modules by id, the session key by key; its other keys are not part of a plan."""
    agent = {
        "description": "d",
        "instruction": "You do one thing.",
        "session": {"context": "context-b", "metadata": {"m": 1}},
        "providers": [{"module": "provider-a", "config": {"k": 1}}],
        "tools": ["tool-z", {"module": "tool-x", "config": {"k": 2}}],
        "hooks": ["hooks-z"],
        "agents": ["two"],
    }
    wishes = Wishes(metadata={"agent": "one"})
    child = child_plan(PLAN, "one", agent, wishes, {})
    assert (child.agent, child.system_prompt, child.own_tools) == ("one", "You do one thing.", {"tool-x", "tool-z"})
    plan = merged(agent, wishes)
    assert plan["session"]["context"] == "context-b"
    assert plan["session"]["metadata"] == {"project": "p", "m": 1, "agent": "one"}
    assert plan["providers"][0] == {"module": "provider-a", "config": {"k": 1}}
    assert plan["tools"] == [{"module": "tool-x", "config": {"k": 2}}, {"module": "tool-y"}, {"module": "tool-z"}]
    assert [hook["module"] for hook in plan["hooks"]] == ["hooks-x", "hooks-y", "hooks-z"]
    assert plan["agents"] == {"one": None, "two": {}, "self": None}
    assert "description" not in plan


def test_what_is_inherited_does_not_concern_the_agents_own_modules() -> None:
    """Filters are about the parent's modules; a module stays for the sake of one of its tools."""
    wishes = Wishes(
        tools=Inheritance(inherited=("y_tool",), excluded=("tool-x",)), hooks=Inheritance(excluded=("hooks-*",))
    )
    agent = {"tools": ["tool-x"], "hooks": ["hooks-z"]}
    child = child_plan(PLAN, "one", agent, wishes, {"tool-y": ("y_tool", "y_more")})
    assert child.overlay["tools"] == [{"module": "tool-y"}, {"module": "tool-x"}]
    assert child.overlay["hooks"] == [{"module": "hooks-z"}]
    kept = [("tool-y", "y_tool"), ("tool-y", "y_more"), ("tool-x", "any"), ("", "y_tool"), ("", "other")]
    assert [child.admits_tool(*each) for each in kept] == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("agent", "wished", "limit"),
    [
        ({}, {}, 50),
        ({}, {"max_iterations": 10}, 10),
        ({"max_iterations": 7}, {"max_iterations": 10}, 7),
        ({"max_iterations": 70}, {"max_iterations": 10}, 10),
        ({"session": {"orchestrator": {"config": {"max_iterations": -1}}}}, {"max_iterations": 10}, 10),
        ({"session": {"orchestrator": {"config": {"max_iterations": 3}}}}, {"max_iterations": 10}, 3),
        ({"max_iterations": 4}, {}, 4),
    ],
)
def test_a_limit_of_model_calls_is_never_loosened(agent: Any, wished: Any, limit: int) -> None:
    """Of all that is said about it the smallest counts; -1 is no limit."""
    assert loop_of(agent, Wishes(loop=wished))["config"]["max_iterations"] == limit


def test_the_tightest_limit_is_the_smallest_that_is_one() -> None:
    """Nothing, and nothing sensible, is no limit."""
    assert [tightest(each) for each in ([], [None, -1, "x"], [5, -1, 3], [0, 2])] == [None, None, 3, 0]


def test_the_loop_is_the_parents_unless_the_agent_names_one() -> None:
    """Its source goes with it, and the config of both counts, the agent's first, then what the caller wants."""
    assert loop_of({}, Wishes(loop={"timeout": 9})) == {
        "module": "loop-a",
        "source": "here",
        "config": {"max_iterations": 50, "model": "big", "timeout": 9},
    }
    agent = {"session": {"orchestrator": {"module": "loop-b", "source": "there", "config": {"timeout": 1}}}}
    assert loop_of(agent, Wishes(loop={"timeout": 9})) == {
        "module": "loop-b",
        "source": "there",
        "config": {"max_iterations": 50, "model": "big", "timeout": 1},
    }


def test_both_ways_to_write_a_loop_are_read() -> None:
    """A bare id has its config at the top of the plan, and its source beside it."""
    plan = {
        "session": {"orchestrator": "loop-a", "orchestrator_source": "here", "context": "c"},
        "orchestrator": {"config": {"max_iterations": 5}},
    }
    assert loop_config(plan) == {"max_iterations": 5}
    assert loop_of({}, plan=plan) == {"module": "loop-a", "source": "here", "config": {"max_iterations": 5}}
    agent = {"session": {"orchestrator": "loop-b"}, "orchestrator": {"config": {"max_iterations": 2}}}
    assert loop_of(agent, plan=plan) == {"module": "loop-b", "config": {"max_iterations": 2}}


def test_the_shape_of_the_parents_answers_is_not_inherited() -> None:
    """A schema for what the parent says to its user is none for what a child reports; the agent may have its own."""
    schema = {"type": "object"}
    session = {"orchestrator": {"module": "l", "config": {"output_schema": schema, "model": "m"}}, "context": "c"}
    assert loop_config({"session": session}) == {"model": "m"}
    assert loop_of({}, plan={"session": session})["config"]["output_schema"] is None
    agent = {"session": {"orchestrator": {"config": {"output_schema": schema}}}}
    assert loop_of(agent, plan={"session": session})["config"]["output_schema"] == schema


def test_a_chosen_provider_is_asked_first_whatever_the_loop_would_do() -> None:
    """It is in front, the default of the loop, and a model that the loop names gives way to the chosen one."""
    plan = merged({}, Wishes(choice=Choice(1, "b", "b-2")))
    assert plan["providers"] == [
        {"module": "provider-b", "config": {"priority": 0, "default_model": "b-2"}},
        {"module": "provider-a"},
    ]
    assert plan["session"]["orchestrator"]["config"] == {"max_iterations": 50, "default_provider": "b", "model": "b-2"}
    bare: dict[str, Any] = {"session": {"orchestrator": "l", "context": "c"}, "providers": ["provider-a"]}
    assert loop_of({}, Wishes(choice=Choice(0, "a", None)), bare)["config"] == {"default_provider": "a"}


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ({"session": "loop"}, "'session' of agent 'one' must be a dict, got str"),
        ({"session": {"metadata": []}}, "'metadata' of agent 'one' must be a dict, got list"),
        ({"orchestrator": 1}, "'orchestrator' of agent 'one' must be a dict, got int"),
        ({"session": {"orchestrator": {"config": 1}}}, "'config' of agent 'one' must be a dict, got int"),
        ({"tools": "all"}, "'tools' of agent 'one' must be a list of module ids and dicts with 'module'"),
    ],
)
def test_an_agent_of_the_wrong_shape_is_told(agent: Any, told: str) -> None:
    """The error names agent and key."""
    with pytest.raises(SpawnError) as caught:
        child_plan(PLAN, "one", agent, Wishes(), {})
    assert str(caught.value) == told

"""Agents in a plan: who there is, what each says of itself, and whom it may call."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_modkit.spawning.agents import (
    agents_in,
    callable_agents,
    description_of,
    require_agent,
    system_prompt_of,
)
from amplifier_modkit.spawning.errors import SpawnError


@pytest.mark.parametrize(
    ("configs", "names"),
    [
        (None, ["self"]),
        ({}, ["self"]),
        ("all", ["self"]),
        ({"b": {}, "a": {}}, ["b", "a", "self"]),
        ({"self": {"tools": []}, "a": {}}, ["self", "a"]),
        ({"self": None, "a": {}, "b": None, "include": ["x"], 3: {}}, ["a"]),
    ],
)
def test_agents_are_the_dicts_of_the_plan_and_self(configs: Any, names: list[str]) -> None:
    """They come in the order of the plan; what is no dict is no agent, which takes even ``self`` away."""
    assert list(agents_in(configs)) == names


def test_an_agent_that_is_not_there_is_told_with_those_that_are() -> None:
    """The error is written for a model that mistook a name."""
    assert require_agent("a", {"a": {"x": 1}}) == {"x": 1}
    with pytest.raises(SpawnError) as caught:
        require_agent("c", {"a": {}, "b": {}})
    assert str(caught.value) == "There is no agent 'c'. Agents: a, b, self."
    with pytest.raises(SpawnError) as caught:
        require_agent("self", {"self": None})
    assert str(caught.value) == "There is no agent 'self'. Agents: none."


@pytest.mark.parametrize(
    ("agent", "description"),
    [
        ({"description": "reads"}, "reads"),
        ({"meta": {"name": "x", "description": "writes"}}, "writes"),
        ({"description": 3, "meta": []}, ""),
    ],
)
def test_a_description_is_found_where_authors_put_it(agent: dict[str, Any], description: str) -> None:
    """At the top or under ``meta``; without one there is an empty text."""
    assert description_of(agent) == description


@pytest.mark.parametrize(
    ("agent", "prompt"),
    [
        ({"instruction": "one"}, "one"),
        ({"system_prompt": "two"}, "two"),
        ({"system": "three"}, "three"),
        ({"system": {"instruction": "four"}}, "four"),
        ({"instruction": "", "system": {}}, None),
        ({}, None),
    ],
)
def test_a_system_prompt_is_found_where_authors_put_it(agent: dict[str, Any], prompt: str | None) -> None:
    """Any of four places; an empty one is none."""
    assert system_prompt_of(agent) == prompt


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        (None, ["a", "b", "self"]),
        ("all", ["a", "b", "self"]),
        ("none", []),
        (["a"], ["a"]),
        (["self", "z"], ["self"]),
        ({"b": None, "c": {}}, ["a", "c", "self"]),
    ],
)
def test_an_agent_may_call_whom_its_config_names(allowed: Any, left: list[str]) -> None:
    """What is not allowed is taken out of the child's plan; a dict changes agents for the child alone."""
    configs = {"a": {}, "b": {}}
    assert list(agents_in({**configs, **callable_agents({"agents": allowed}, configs)})) == left


def test_a_wrong_value_is_told() -> None:
    """It is not taken for a permission."""
    with pytest.raises(SpawnError) as caught:
        callable_agents({"agents": True}, {})
    assert str(caught.value) == "'agents' of an agent must be 'all', 'none', a list of names or a dict, got True"

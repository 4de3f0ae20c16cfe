"""Lists of modules: merged by id, and filtered by what a child inherits."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_modkit.spawning.errors import SpawnError
from amplifier_modkit.spawning.module_lists import Inheritance, entries_in, merge_modules, short_name


def test_entries_are_dicts_in_the_end() -> None:
    """A bare id is an entry without config; a section that is missing or ``None`` is empty."""
    assert entries_in({"tools": ["a", {"module": "b"}]}, "tools", "x") == [{"module": "a"}, {"module": "b"}]
    assert entries_in({}, "tools", "x") == entries_in({"tools": None}, "tools", "x") == []


@pytest.mark.parametrize("wrong", ["tool-x", {"module": "x"}, [3], [None]])
def test_a_section_of_another_shape_is_told(wrong: Any) -> None:
    """The error names section and owner."""
    with pytest.raises(SpawnError) as caught:
        entries_in({"tools": wrong}, "tools", "agent 'a'")
    assert str(caught.value) == "'tools' of agent 'a' must be a list of module ids and dicts with 'module'"


def test_modules_of_both_lists_have_both_configs() -> None:
    """Configs are merged dict by dict, the overlay wins, new modules come last, and nothing given is changed."""
    base = [{"module": "a", "source": "s", "config": {"x": {"p": 1, "q": 2}, "l": [1], "n": 1}}, {"module": "b"}]
    overlay = [{"module": "c"}, {"module": "a", "config": {"x": {"q": 3}, "l": [2], "n": {"z": 1}}}]
    merged = merge_modules(base, overlay)
    assert merged == [
        {"module": "a", "source": "s", "config": {"x": {"p": 1, "q": 3}, "l": [2], "n": {"z": 1}}},
        {"module": "b"},
        {"module": "c"},
    ]
    assert base[0]["config"] == {"x": {"p": 1, "q": 2}, "l": [1], "n": 1}


def test_instances_of_one_module_are_told_apart() -> None:
    """By their instance id, or an id of the application's."""
    base = [{"module": "p", "instance_id": "one"}, {"module": "p", "id": "two"}]
    overlay = [{"module": "p", "instance_id": "one", "config": {"k": 1}}, {"module": "p"}]
    assert merge_modules(base, overlay) == [
        {"module": "p", "instance_id": "one", "config": {"k": 1}},
        {"module": "p", "id": "two"},
        {"module": "p"},
    ]


@pytest.mark.parametrize(
    ("module_id", "name"), [("tool-bash", "bash"), ("hooks-log", "log"), ("provider-x", "x"), ("other", "other")]
)
def test_a_module_has_a_short_name(module_id: str, name: str) -> None:
    """The id without the word for its kind."""
    assert short_name(module_id) == name


MODULES = {"tool-bash": ["bash"], "tool-files": ["read", "write"], "tool-task": ["task"]}


@pytest.mark.parametrize(
    ("given", "tools"),
    [
        (None, ["bash", "read", "write", "task"]),
        ({}, ["bash", "read", "write", "task"]),
        ({"exclude_tools": ["tool-task"]}, ["bash", "read", "write"]),
        ({"exclude_tools": ["task", "write"]}, ["bash", "read"]),
        ({"exclude_tools": ["tool-*"]}, []),
        ({"inherit_tools": []}, []),
        ({"inherit_tools": ["tool-files"]}, ["read", "write"]),
        ({"inherit_tools": ["read", "bash"]}, ["bash", "read"]),
        ({"inherit_tools": ["*"], "exclude_tools": ["bash"]}, ["read", "write", "task"]),
        ({"inherit_tools": ["read"], "exclude_tools": ["tool-files"]}, []),
    ],
)
def test_a_child_has_the_tools_that_it_inherits(given: Any, tools: list[str]) -> None:
    """By module or by tool, with patterns; what is excluded stays out even if it is listed."""
    inheritance = Inheritance.read("tools", given)
    mounted = {module: names for module, names in MODULES.items() if inheritance.admits_module(module, names)}
    left = [name for module, names in mounted.items() for name in names if inheritance.admits_tool(module, name)]
    assert left == tools


def test_hooks_are_filtered_by_their_module() -> None:
    """The same two keys with the word of the section."""
    inheritance = Inheritance.read("hooks", {"inherit_hooks": ["logging", "hooks-cost"], "exclude_tools": ["logging"]})
    assert [each for each in ("hooks-logging", "hooks-cost", "hooks-x") if inheritance.admits_module(each)] == [
        "hooks-logging",
        "hooks-cost",
    ]

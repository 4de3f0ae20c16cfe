"""How scopes meet, and how variables come into settings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.settings.expansion import Expansion, looks_secret, masked
from amplifier.settings.merging import merge


def test_mappings_merge_and_the_higher_value_wins() -> None:
    """Key by key, however deep; neither side is changed."""
    lower: dict[str, Any] = {"model": "a", "env": {"X": "1", "Y": {"deep": 1}}}
    upper: dict[str, Any] = {"env": {"Y": {"deeper": 2}, "Z": "3"}, "provider": "p"}
    assert merge(lower, upper) == {
        "model": "a",
        "env": {"X": "1", "Y": {"deep": 1, "deeper": 2}, "Z": "3"},
        "provider": "p",
    }
    assert (lower["env"]["Y"], upper["env"]["Y"]) == ({"deep": 1}, {"deeper": 2})


def test_lists_of_rules_are_joined() -> None:
    """A rule of any scope counts; the same rule is there once."""
    merged = merge({"permissions": {"deny": ["a", "b"]}}, {"permissions": {"deny": ["b", "c"]}})
    assert merged == {"permissions": {"deny": ["a", "b", "c"]}}


def test_lists_of_modules_are_joined_by_id() -> None:
    """Entries of the same id, else of the same module, merge; lists inside them are replaced."""
    lower = [
        {"module": "provider-a", "config": {"x": 1, "list": [1]}},
        {"id": "mine", "module": "provider-b"},
        {"config": {}},
    ]
    upper = [
        {"module": "provider-a", "config": {"y": 2, "list": [2]}},
        {"instance_id": "other", "module": "provider-b"},
        {"id": "mine", "config": {"z": 3}},
        {"config": {}},
    ]
    assert merge({"config": {"providers": lower}}, {"config": {"providers": upper}}) == {
        "config": {
            "providers": [
                {"module": "provider-a", "config": {"x": 1, "y": 2, "list": [2]}},
                {"id": "mine", "module": "provider-b", "config": {"z": 3}},
                {"config": {}},
                {"instance_id": "other", "module": "provider-b"},
                {"config": {}},
            ]
        }
    }


@pytest.mark.parametrize(
    ("lower", "upper", "merged"),
    [
        ({"env": {"A": [1, 2]}}, {"env": {"A": [3]}}, {"env": {"A": [3]}}),
        ({"model": "a"}, {"model": None}, {"model": None}),
        ({"session": {"persist": True}}, {"session": None}, {"session": None}),
        ({"session": None}, {"session": {"persist": True}}, {"session": {"persist": True}}),
        ({"env": {"A": [1]}}, {"env": {"A": "x"}}, {"env": {"A": "x"}}),
    ],
)
def test_anything_else_is_replaced(lower: dict[str, Any], upper: dict[str, Any], merged: dict[str, Any]) -> None:
    """Other lists too; ``null`` takes a value away."""
    assert merge(lower, upper) == merged


leaves = st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=3)
branches = st.dictionaries(st.sampled_from("ABC"), leaves, max_size=3)
trees = st.builds(lambda one, two: {**one, **two}, leaves, branches)


@given(trees, trees, trees)
def test_the_order_of_merging_does_not_matter(one: Any, two: Any, three: Any) -> None:
    """Three scopes that agree on what is a mapping give the same from either side; an empty one adds nothing."""
    assert merge(merge(one, two), three) == merge(one, merge(two, three))
    assert merge(one, {}) == merge({}, one) == merge(one, one) == one


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${NAME}", "me"),
        ("a-${NAME}-${NAME}", "a-me-me"),
        ("${NONE:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY}", ""),
        ("${NONE:-}", ""),
        ("x${NONE}y", "xy"),
        ("${NONE}", None),
        ("$${NAME}", "${NAME}"),
        ("$${", "${"),
        ("$NAME ${1} ${} ${NA ME}", "$NAME ${1} ${} ${NA ME}"),
        ("${NONE:-a:-b}", "a:-b"),
        ("plain", "plain"),
    ],
)
def test_references_become_values(text: str, value: str | None) -> None:
    """With an alternative for variables that are not set or empty; ``$${`` keeps one as it is."""
    assert Expansion({"NAME": "me", "EMPTY": ""}).expand({"model": text}) == {"model": value}


def test_missing_variables_are_kept_with_their_setting() -> None:
    """They are told as warnings."""
    expansion = Expansion({})
    assert expansion.expand({"env": {"A": ["${X} ${Y}", 3]}}) == {"env": {"A": [" ", 3]}}
    assert expansion.missing == {("env", "A", "0"): ["X", "Y"]}


def test_a_variable_becomes_what_the_setting_wants() -> None:
    """Numbers and truth are read as YAML reads them; texts stay texts."""
    settings = {
        "limits": {"max_turns": "${N}", "timeout": "${N}"},
        "session": {"persist": "${B:-false}"},
        "model": "${N}",
    }
    assert Expansion({"N": "5"}).expand(settings) == {
        "limits": {"max_turns": 5, "timeout": 5},
        "session": {"persist": False},
        "model": "5",
    }


def test_commands_of_hooks_are_left_to_the_shell() -> None:
    """``${…}`` in them means a variable of the shell."""
    assert Expansion({"X": "1"}).expand({"hooks": {"a": "${X}"}}) == {"hooks": {"a": "${X}"}}


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("api_key", True),
        ("apiKey", True),
        ("OPENAI_API_KEY", True),
        ("token", True),
        ("GITHUB_TOKEN", True),
        ("password", True),
        ("Authorization", True),
        ("key", True),
        ("monkey", False),
        ("model", False),
        ("keyboard", False),
        ("token_file", False),
    ],
)
def test_names_of_secrets_are_known(name: str, is_secret: bool) -> None:
    """In the spellings of settings, variables and headers."""
    assert looks_secret(name) is is_secret


def test_secrets_are_masked_wherever_they_stand() -> None:
    """Under a name of a secret, and inside any text; anything else stays."""
    expansion = Expansion({"MY_TOKEN": "s3cret", "MINE": "hidden", "PLAIN": "seen"}, {"MINE"})
    value = expansion.expand(
        {"env": {"A": "x ${MY_TOKEN} y", "B": ["${MINE}", "${PLAIN}"], "api_key": "direct", "N": 1}}
    )
    assert expansion.secrets == {"s3cret", "hidden"}
    assert masked(value, expansion.secrets, "*") == {"env": {"A": "x * y", "B": ["*", "seen"], "api_key": "*", "N": 1}}


def test_an_empty_secret_hides_nothing() -> None:
    """And a longer secret is hidden before a shorter one that is a part of it."""
    assert masked(["abc", {"api_key": ""}], {"", "abc", "ab"}, "*") == ["*", {"api_key": ""}]

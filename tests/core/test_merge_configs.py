"""Laws of merging two plans: the one way in which a child's plan is made of its parent's."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.session import AmplifierSession

merge = AmplifierSession({"session": {"orchestrator": "o", "context": "c"}}, loader=object())._merge_configs

KEYS = st.sampled_from("abcd")
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
PLANS = st.recursive(
    st.dictionaries(KEYS, LEAVES, max_size=3), lambda inner: st.dictionaries(KEYS, LEAVES | inner, max_size=3)
)
# Trees whose shape is fixed by the path alone: a key is either always a branch or always a leaf.
TREES = st.recursive(
    st.dictionaries(st.sampled_from("xyz"), st.integers(), max_size=3),
    lambda inner: st.builds(
        lambda leaves, branches: {**leaves, **branches},
        st.dictionaries(st.sampled_from("xyz"), st.integers(), max_size=2),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    ),
)


@given(PLANS)
def test_an_empty_plan_changes_nothing(plan: dict[str, Any]) -> None:
    """The empty dict is the identity on either side."""
    assert merge(plan, {}) == merge({}, plan) == plan


@given(PLANS)
def test_a_plan_merged_with_itself_is_itself(plan: dict[str, Any]) -> None:
    """Saying something twice adds nothing."""
    assert merge(plan, plan) == plan


@given(PLANS, PLANS)
def test_the_overlay_wins(base: dict[str, Any], overlay: dict[str, Any]) -> None:
    """Everything the overlay says holds; what it leaves open is the base's."""
    merged = merge(base, overlay)
    assert set(merged) == set(base) | set(overlay)
    for key, value in overlay.items():
        both_dicts = isinstance(value, dict) and isinstance(base.get(key), dict)
        assert merged[key] == (merge(base[key], value) if both_dicts else value)
    assert all(merged[key] == base[key] for key in base.keys() - overlay.keys())


@given(PLANS, PLANS)
def test_merging_leaves_both_plans_as_they_were(base: dict[str, Any], overlay: dict[str, Any]) -> None:
    """The result is a new dict at every level where the two meet."""
    before = deepcopy((base, overlay))
    merged = merge(base, overlay)
    assert (base, overlay) == before
    assert merged is not base
    assert merged is not overlay


@given(TREES, TREES, TREES)
def test_overlays_may_be_merged_first(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    """On trees of dicts merging is associative, so a chain of overlays has one meaning."""
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


def test_lists_are_replaced_as_a_whole() -> None:
    """The modules of a child are those it lists, not those of both."""
    assert merge({"tools": ["a", "b"]}, {"tools": ["c"]}) == {"tools": ["c"]}


def test_values_that_are_not_merged_keep_their_identity() -> None:
    """Objects inside a plan are passed on, never copied."""
    mine, yours = object(), object()
    merged = merge({"a": {"x": mine, "y": mine}}, {"a": {"y": yours}})
    assert merged["a"]["x"] is mine
    assert merged["a"]["y"] is yours

"""The laws of merging bundles: later wins, nothing is lost, order of grouping does not matter."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.bundles.bundle import Bundle
from amplifier.bundles.compose import compose
from amplifier.bundles.merge import (
    deep_merge,
    entry_key,
    join_lists,
    merge_entry,
    merge_modules,
    merge_session,
    short_name,
)
from amplifier.problems import BundleProblem
from amplifier.settings.origins import Origin

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
# A key holds the same kind of value everywhere; only then is the way of grouping promised not to matter.
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "a": SCALARS,
        "b": SCALARS,
        "list": st.lists(st.integers(0, 3) | st.booleans(), unique_by=repr),
        "deep": st.fixed_dictionaries({}, optional={"x": SCALARS, "list": st.lists(st.text(max_size=2), unique=True)}),
    },
)
ENTRIES = st.fixed_dictionaries(
    {"module": st.sampled_from(["tool-a", "tool-b", "tool-c"])},
    optional={"id": st.sampled_from(["one", "two"]), "config": CONFIGS, "source": st.text(max_size=3)},
)
# The id of an entry belongs to one module, as it does in bundles that people write.
LISTS = st.lists(ENTRIES, unique_by=entry_key, max_size=4).map(
    lambda entries: [
        {**entry, "id": f"{entry['id']}-of-{entry['module']}"} if "id" in entry else entry for entry in entries
    ]
)
SESSIONS = st.fixed_dictionaries(
    {},
    optional={
        "orchestrator": st.fixed_dictionaries(
            {"module": st.sampled_from(["loop-a", "loop-b"])}, optional={"config": CONFIGS}
        ),
        "raw": st.booleans(),
    },
)


@pytest.mark.slow
@given(CONFIGS, CONFIGS, CONFIGS)
def test_grouping_does_not_matter_for_mappings(a: Any, b: Any, c: Any) -> None:
    """Merging mappings is associative, and empty ones change nothing."""
    assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))
    assert deep_merge({}, a) == a == deep_merge(a, {})


@pytest.mark.slow
@given(CONFIGS, CONFIGS)
def test_merging_twice_is_merging_once(a: Any, b: Any) -> None:
    """What is merged in already changes nothing more, and what was given stays as it was."""
    before = deepcopy((a, b))
    once = deep_merge(a, b)
    assert deep_merge(once, b) == once
    assert (a, b) == before


@pytest.mark.slow
@given(LISTS, LISTS, LISTS)
def test_grouping_does_not_matter_for_modules(a: Any, b: Any, c: Any) -> None:
    """Merging lists of modules is associative and does the same once as twice."""
    assert merge_modules(merge_modules(a, b), c) == merge_modules(a, merge_modules(b, c))
    once = merge_modules(a, b)
    assert merge_modules(once, b) == once
    assert merge_modules(a, []) == a == merge_modules([], a)


@pytest.mark.slow
@given(LISTS, LISTS)
def test_no_module_is_lost_and_none_is_there_twice(a: Any, b: Any) -> None:
    """Every module of either list is in the result, in the order in which they first appear."""
    keys = [entry_key(entry) for entry in merge_modules(a, b)]
    assert keys == list(dict.fromkeys(entry_key(entry) for entry in (*a, *b)))


@pytest.mark.slow
@given(SESSIONS, SESSIONS, SESSIONS)
def test_grouping_does_not_matter_for_sessions(a: Any, b: Any, c: Any) -> None:
    """Merging sessions is associative."""
    assert merge_session(merge_session(a, b), c) == merge_session(a, merge_session(b, c))


@pytest.mark.slow
@given(st.lists(LISTS, min_size=1, max_size=4))
def test_composing_is_merging_from_left_to_right(lists: Any) -> None:
    """However many bundles there are, each is merged onto all those before it."""
    bundles = [
        Bundle(f"b{n}", Path(f"b{n}.md"), Path(), tools=tools, parts=(f"b{n}",)) for n, tools in enumerate(lists)
    ]
    composed = compose(bundles)
    assert composed == compose([compose(bundles[:1]), *bundles[1:]])
    assert (composed.name, len(composed.parts)) == (f"b{len(lists) - 1}", len(lists))


def test_the_later_one_wins_key_by_key() -> None:
    """Mappings merge, lists are joined without duplicates, everything else is replaced."""
    below = {"a": 1, "deep": {"x": 1, "list": [1, True, {"k": 1}]}, "kind": {"x": 1}}
    above = {"a": None, "deep": {"y": 2, "list": [True, 2, {"k": 1}]}, "kind": [1]}
    assert deep_merge(below, above) == {
        "a": None,
        "deep": {"x": 1, "y": 2, "list": [1, True, {"k": 1}, 2]},
        "kind": [1],
    }
    assert deep_merge(below, above, joins_lists=False)["deep"]["list"] == [True, 2, {"k": 1}]
    assert join_lists([1, 1], [True, 1]) == [1, True]


def test_an_entry_for_another_module_does_not_keep_the_source() -> None:
    """The source of one module is none for another; config is merged all the same."""
    below = {"module": "loop-a", "source": "git+a", "config": {"x": 1}}
    assert merge_entry(below, {"module": "loop-b", "config": {"y": 2}}) == {
        "module": "loop-b",
        "config": {"x": 1, "y": 2},
    }
    assert merge_entry(below, {"config": {"y": 2}})["source"] == "git+a"
    assert merge_session({"orchestrator": below}, {"orchestrator": {"module": "loop-b"}, "raw": True}) == {
        "orchestrator": {"module": "loop-b", "config": {"x": 1}},
        "raw": True,
    }


def test_entries_are_known_by_id_or_module() -> None:
    """An id that is the module's own short name is no other entry."""
    entries = [
        {"module": "provider-openai"},
        {"module": "provider-openai", "id": "openai"},
        {"module": "provider-openai", "instance_id": "second"},
        {"module": "provider-openai", "id": "third"},
        {},
    ]
    assert [entry_key(entry) for entry in entries] == ["provider-openai", "provider-openai", "second", "third", ""]
    assert [short_name(each) for each in ("tool-bash", "hooks-a-b", "loop-basic")] == ["bash", "a-b", "loop-basic"]


def test_the_first_to_list_a_module_is_its_origin() -> None:
    """Later bundles are the origin of what they say about it, not of its being there."""
    first, second = Origin("bundle a"), Origin("bundle b")
    below = Bundle("a", Path("a.md"), Path(), origins={("tools", "t"): first, ("session", "raw"): first})
    above = Bundle("b", Path("b.md"), Path(), origins={("tools", "t"): second, ("session", "raw"): second})
    assert compose([below, above]).origins == {("tools", "t"): first, ("session", "raw"): second}


def test_nothing_cannot_be_composed() -> None:
    """Composing no bundle at all is a problem that says how to name one."""
    with pytest.raises(BundleProblem, match="There is no bundle to compose.") as caught:
        compose([])
    assert "bundle list" in caught.value.hint

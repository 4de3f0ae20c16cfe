"""Reading a mount plan: every shape that is right, and an error that names the place for every shape that is wrong."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_core._plan import (
    SECTIONS,
    ModuleSpec,
    PlanTypeError,
    listed_specs,
    require_distinct_instances,
    require_sound_plan,
    required_spec,
    session_settings,
    unnamed_entries,
)

SOUND: dict[str, Any] = {"session": {"orchestrator": "loop-a", "context": "context-a"}}

WRONG_DICTS: list[Any] = ["text", b"bytes", 1, 1.5, True, ["list"], ("tuple",), {"set"}, object()]
WRONG_LISTS: list[Any] = ["text", b"bytes", 1, 1.5, True, {"key": 1}, ("tuple",), {"set"}, object()]
WRONG_IDS: list[Any] = [1, 1.5, True, ["list"], {"key": 1}, b"bytes", object()]


def test_a_plan_with_orchestrator_and_context_is_sound() -> None:
    """Nothing else is needed: it is taken as it is, and loses nothing."""
    plan = dict(SOUND)
    require_sound_plan(plan)
    assert plan == SOUND


@pytest.mark.parametrize("plan", [None, *WRONG_DICTS])
def test_a_plan_that_is_no_dict_is_refused(plan: Any) -> None:
    """The error is a ``TypeError`` and a ``ValueError`` at once, and tells what came."""
    with pytest.raises(PlanTypeError) as caught:
        require_sound_plan(plan)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)
    told = f"Configuration is required: a session needs a mount plan (a dict), got {type(plan).__name__}"
    assert str(caught.value) == told


def test_an_empty_plan_is_refused() -> None:
    """The message is the one callers look for."""
    with pytest.raises(ValueError, match=r"^Configuration is required: the mount plan is empty$"):
        require_sound_plan({})


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
@pytest.mark.parametrize("value", ["absent", None, "", {}, [], 0, False])
def test_a_plan_without_a_required_module_is_refused(kind: str, value: Any) -> None:
    """Absent, null and empty are all the same."""
    session = {**SOUND["session"], kind: value}
    if value == "absent":
        del session[kind]
    with pytest.raises(ValueError, match=f"^Configuration must specify session.{kind}, for example '"):
        require_sound_plan({"session": session})


@pytest.mark.parametrize("session", [None, {}])
def test_a_plan_with_an_empty_session_section_lacks_the_orchestrator(session: Any) -> None:
    """The first thing missing is named."""
    with pytest.raises(ValueError, match=r"must specify session\.orchestrator"):
        require_sound_plan({"session": session, "tools": []})


@pytest.mark.parametrize("session", WRONG_DICTS)
def test_a_session_section_of_the_wrong_type_is_named(session: Any) -> None:
    """``session`` must be a dict."""
    told = f"'session' in the mount plan must be a dict, got {type(session).__name__}"
    with pytest.raises(PlanTypeError) as caught:
        require_sound_plan({"session": session})
    assert str(caught.value) == told


def test_session_settings_are_the_session_section() -> None:
    """They are the very object, or an empty dict when there is none."""
    assert session_settings(SOUND) is SOUND["session"]
    assert session_settings({}) == {}


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
def test_a_required_module_as_a_text_takes_its_config_from_the_top_level(kind: str) -> None:
    """An id stands with ``<kind>_source`` beside it and ``<kind>.config`` at the top level."""
    plan = {"session": {kind: "some-id", f"{kind}_source": "git+x"}, kind: {"config": {"a": 1}}}
    assert required_spec(plan, kind) == ModuleSpec(kind, "some-id", "git+x", {"a": 1}, entry="some-id")


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
@pytest.mark.parametrize("top", [{}, {"config": None}, None])
def test_a_required_module_as_a_text_needs_no_config(kind: str, top: Any) -> None:
    """Without a top-level section the config is empty."""
    assert required_spec({"session": {kind: "some-id"}, kind: top}, kind).config == {}


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
def test_a_required_module_as_a_dict_holds_everything(kind: str) -> None:
    """The top-level section and ``<kind>_source`` do not count then."""
    entry = {"module": "some-id", "source": {"git": "x"}, "config": {"a": 1}}
    plan = {"session": {kind: entry, f"{kind}_source": "other"}, kind: {"config": {"b": 2}}}
    assert required_spec(plan, kind) == ModuleSpec(kind, "some-id", {"git": "x"}, {"a": 1}, entry=entry)


@pytest.mark.parametrize(("kind", "default"), [("orchestrator", "loop-basic"), ("context", "context-simple")])
def test_a_required_module_has_a_default_id(kind: str, default: str) -> None:
    """It is used where a plan did not pass the check of a session, and for a dict without ``module``."""
    assert required_spec({}, kind) == ModuleSpec(kind, default, None, {}, entry=default)
    assert required_spec({"session": {kind: {"config": {"a": 1}}}}, kind).module_id == default


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
@pytest.mark.parametrize(
    ("place", "wrong_values"),
    [
        ("session.{kind}", [value for value in WRONG_DICTS if not isinstance(value, str)]),
        ("session.{kind}.config", WRONG_DICTS),
        ("{kind}", WRONG_DICTS),
        ("{kind}.config", WRONG_DICTS),
    ],
)
def test_a_wrong_type_around_a_required_module_is_named(kind: str, place: str, wrong_values: list[Any]) -> None:
    """The path to the wrong value and its type are in the message."""
    path = place.format(kind=kind)
    for value in wrong_values:
        plans: dict[str, dict[str, Any]] = {
            f"session.{kind}": {"session": {kind: value}},
            f"session.{kind}.config": {"session": {kind: {"module": "m", "config": value}}},
            kind: {"session": {kind: "m"}, kind: value},
            f"{kind}.config": {"session": {kind: "m"}, kind: {"config": value}},
        }
        with pytest.raises(PlanTypeError) as caught:
            required_spec(plans[path], kind)
        assert str(caught.value) == f"'{path}' in the mount plan must be a dict, got {type(value).__name__}"


@pytest.mark.parametrize("kind", ["orchestrator", "context"])
@pytest.mark.parametrize("value", [None, "", *WRONG_IDS])
def test_a_wrong_id_of_a_required_module_is_named(kind: str, value: Any) -> None:
    """The path and the value are in the message."""
    with pytest.raises(PlanTypeError) as caught:
        required_spec({"session": {kind: {"module": value}}}, kind)
    told = f"'session.{kind}.module' in the mount plan must be a module id (a non-empty text), got {value!r}"
    assert str(caught.value) == told


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
def test_listed_modules_come_in_order_as_text_or_dict(kind: str, section: str) -> None:
    """Both forms mix; what is not given is empty."""
    full = {"module": "b", "source": "git+b", "config": {"x": 1}, "instance_id": "b-2"}
    plan = {section: ["a", full, {"module": "c", "config": None}]}
    assert listed_specs(plan, kind) == [
        ModuleSpec(kind, "a", None, {}, None, "a"),
        ModuleSpec(kind, "b", "git+b", {"x": 1}, "b-2", full),
        ModuleSpec(kind, "c", None, {}, None, {"module": "c", "config": None}),
    ]


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
@pytest.mark.parametrize("plan", [{}, {"{section}": None}, {"{section}": []}])
def test_a_section_may_be_empty(kind: str, section: str, plan: dict[str, Any]) -> None:
    """Absent, null and an empty list are all the same."""
    plan = {key.format(section=section): value for key, value in plan.items()}
    assert listed_specs(plan, kind) == unnamed_entries(plan, kind) == []


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
def test_entries_that_name_no_module_are_told_and_left_out(kind: str, section: str) -> None:
    """They are listed by place, the others are read."""
    plan = {section: ["", "a", {}, {"config": {}}, {"module": ""}, {"module": None}, "b"]}
    assert [spec.module_id for spec in listed_specs(plan, kind)] == ["a", "b"]
    assert unnamed_entries(plan, kind) == [f"{section}[{index}]" for index in (0, 2, 3, 4, 5)]


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
@pytest.mark.parametrize("value", WRONG_LISTS)
def test_a_section_of_the_wrong_type_is_named(kind: str, section: str, value: Any) -> None:
    """A section must be a list."""
    told = f"'{section}' in the mount plan must be a list of modules, got {type(value).__name__}"
    for read in (listed_specs, unnamed_entries):
        with pytest.raises(PlanTypeError) as caught:
            read({section: value}, kind)
        assert str(caught.value) == told


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
@pytest.mark.parametrize("value", [None, *(value for value in WRONG_DICTS if not isinstance(value, str))])
def test_an_entry_of_the_wrong_type_is_named(kind: str, section: str, value: Any) -> None:
    """An entry must be a text or a dict; the message counts from zero."""
    with pytest.raises(PlanTypeError) as caught:
        listed_specs({section: ["a", value]}, kind)
    assert str(caught.value) == f"'{section}[1]' in the mount plan must be a dict, got {type(value).__name__}"


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
@pytest.mark.parametrize("value", WRONG_IDS)
def test_a_wrong_id_of_an_entry_is_named(kind: str, section: str, value: Any) -> None:
    """The path and the value are in the message."""
    with pytest.raises(PlanTypeError) as caught:
        listed_specs({section: [{"module": value}]}, kind)
    told = f"'{section}[0].module' in the mount plan must be a module id (a non-empty text), got {value!r}"
    assert str(caught.value) == told


@pytest.mark.parametrize(("kind", "section"), SECTIONS.items())
@pytest.mark.parametrize("value", WRONG_DICTS)
def test_a_config_of_the_wrong_type_is_named(kind: str, section: str, value: Any) -> None:
    """A config must be a dict."""
    with pytest.raises(PlanTypeError) as caught:
        listed_specs({section: [{"module": "a", "config": value}]}, kind)
    assert str(caught.value) == f"'{section}[0].config' in the mount plan must be a dict, got {type(value).__name__}"


@pytest.mark.parametrize("value", ["", *WRONG_IDS])
def test_a_wrong_instance_id_is_named(value: Any) -> None:
    """The path and the value are in the message."""
    with pytest.raises(PlanTypeError) as caught:
        listed_specs({"providers": [{"module": "a", "instance_id": value}]}, "provider")
    assert str(caught.value) == f"providers[0].instance_id must be a non-empty text, got {value!r}"


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    """A message stays readable whatever stands in the plan."""
    with pytest.raises(PlanTypeError) as caught:
        listed_specs({"tools": [{"module": ["x" * 10_000]}]}, "tool")
    assert len(str(caught.value)) < 200


def test_instances_of_one_provider_module_must_be_told_apart() -> None:
    """One entry may go without an ``instance_id``, a second one is refused with the module's id."""
    named = {"module": "provider-x", "instance_id": "two"}
    require_distinct_instances(listed_specs({"providers": ["provider-x", named, "provider-y"]}, "provider"))
    twice = listed_specs({"providers": ["provider-x", named, {"module": "provider-x"}]}, "provider")
    with pytest.raises(ValueError, match="Provider module 'provider-x' is listed 2 times without an instance_id"):
        require_distinct_instances(twice)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.lists(
    JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(("module", "source", "config", "instance_id"), JSON)),
    max_size=3,
)
SESSION = st.fixed_dictionaries({}, optional={"orchestrator": JSON, "context": JSON, "raw": JSON, "metadata": JSON})
PLANS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "session": SESSION | JSON,
        "orchestrator": JSON,
        "context": JSON,
        **dict.fromkeys(SECTIONS.values(), ENTRIES | JSON),
    },
)


def read_whole(plan: Any) -> list[ModuleSpec]:
    """Every module of ``plan``, read as a session does."""
    require_sound_plan(plan)
    listed = {kind: listed_specs(plan, kind) for kind in SECTIONS}
    require_distinct_instances(listed["provider"])
    return [*(required_spec(plan, kind) for kind in ("orchestrator", "context")), *chain(*listed.values())]


@given(PLANS)
@example({"session": {"orchestrator": {"module": None}, "context": "c"}})
def test_any_json_is_read_or_refused(plan: Any) -> None:
    """Whatever a plan holds, reading it succeeds or ends in a ``ValueError``: nothing else comes out."""
    try:
        specs = read_whole(plan)
    except ValueError:
        return
    assert all(spec.module_id and isinstance(spec.config, dict) for spec in specs)

"""Validation of mount plans."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.validation import MountPlanValidationResult, MountPlanValidator, ValidationCheck

_SOUND: dict[str, Any] = {"session": {"orchestrator": "loop-basic", "context": "context-simple"}}
SECTIONS = ("providers", "tools", "hooks")
NOT_A_DICT: list[Any] = [None, 3, 1.5, True, "text", b"bytes", [], ["x"], (), set(), object()]


def plan(**changes: Any) -> dict[str, Any]:
    """A sound plan with some sections replaced."""
    return {"session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}}, **changes}


def errors_of(mount_plan: Any) -> dict[str, str]:
    """Failed error checks of a plan: name and message."""
    return {check.name: check.message for check in MountPlanValidator().validate(mount_plan).errors}


def checks_of(mount_plan: Any) -> list[tuple[str, bool, str]]:
    """Every check of a plan without its message."""
    return [(check.name, check.passed, check.severity) for check in MountPlanValidator().validate(mount_plan).checks]


def test_a_sound_plan_passes_with_these_checks() -> None:
    """Checks come in reading order: session, providers, tools, hooks."""
    full = plan(
        hooks=[],
        tools=[{"module": "tool-a", "source": "git+https://host/a", "config": {"x": 1}}, "tool-b"],
        providers=[{"module": "provider-a", "config": None, "source": None}],
        agents="whatever",
    )
    assert checks_of(full) == [
        ("root_type", True, "info"),
        ("session_present", True, "info"),
        ("session_type", True, "info"),
        ("session_orchestrator_present", True, "info"),
        ("session.orchestrator_type", True, "info"),
        ("session.orchestrator_module_valid", True, "info"),
        ("session_context_present", True, "info"),
        ("session.context_type", True, "info"),
        ("session.context_module_valid", True, "info"),
        ("providers_type", True, "info"),
        ("providers[0]_type", True, "info"),
        ("providers[0]_module_valid", True, "info"),
        ("tools_type", True, "info"),
        ("tools[0]_type", True, "info"),
        ("tools[0]_module_valid", True, "info"),
        ("tools[1]_module_valid", True, "info"),
        ("hooks_type", True, "info"),
        ("hooks_empty", True, "info"),
    ]


def test_the_published_field_sets() -> None:
    """Tools that build plans read them from the class."""
    assert {"session"} == MountPlanValidator.REQUIRED_SECTIONS
    assert {"providers", "tools", "hooks", "agents"} == MountPlanValidator.OPTIONAL_SECTIONS
    assert {"orchestrator", "context"} == MountPlanValidator.REQUIRED_SESSION_FIELDS
    assert {"module"} == MountPlanValidator.REQUIRED_MODULE_SPEC_FIELDS


def test_ids_may_be_plain_text_as_in_a_session() -> None:
    """What a session takes passes: bare ids, and the config of the two required modules at the top level."""
    short = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "orchestrator": {"config": {"x": 1}},
        "context": None,
        "tools": ["tool-a"],
        "providers": None,
    }
    result = MountPlanValidator().validate(short)
    assert (result.errors, result.warnings) == ([], [])


@pytest.mark.parametrize("root", NOT_A_DICT)
def test_the_root_must_be_a_dict(root: Any) -> None:
    """Nothing else is looked at then."""
    assert checks_of(root) == [("root_type", False, "error")]
    assert errors_of(root) == {"root_type": f"Mount plan must be a dict, got {type(root).__name__}"}


def test_a_plan_needs_a_session() -> None:
    """The other sections are checked all the same."""
    assert errors_of({"tools": 3}) == {
        "session_present": "Mount plan missing required 'session' section",
        "tools_type": "'tools' section must be a list, got int",
    }


@pytest.mark.parametrize("session", NOT_A_DICT)
def test_the_session_must_be_a_dict(session: Any) -> None:
    """Whatever stands there, the plan is refused with its type."""
    assert errors_of({"session": session}) == {
        "session_type": f"Session section must be a dict, got {type(session).__name__}"
    }


@pytest.mark.parametrize("session", [{}, {"orchestrator": None, "context": None}])
def test_a_session_needs_orchestrator_and_context(session: dict[str, Any]) -> None:
    """Absent and empty are the same."""
    assert errors_of({"session": session}) == {
        "session_orchestrator_present": "Session section missing required 'orchestrator' field",
        "session_context_present": "Session section missing required 'context' field",
    }


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("value", [3, 1.5, True, "text", b"bytes", {}, {"module": "x"}, (), set(), object()])
def test_a_section_must_be_a_list(section: str, value: Any) -> None:
    """An empty section (``None``, as YAML gives it) is an empty list."""
    assert errors_of(plan(**{section: value})) == {
        f"{section}_type": f"'{section}' section must be a list, got {type(value).__name__}"
    }
    assert (f"{section}_empty", True, "info") in checks_of(plan(**{section: None}))


@pytest.mark.parametrize("value", [3, 1.5, True, b"bytes", [], ["x"], (), set(), object()])
def test_a_spec_must_be_a_dict_or_an_id(value: Any) -> None:
    """In every place where a module is named."""
    wrong = {"session": {"orchestrator": value, "context": value}, **{name: ["fine", value] for name in SECTIONS}}
    places = ["session.orchestrator", "session.context", "providers[1]", "tools[1]", "hooks[1]"]
    assert errors_of(wrong) == {
        f"{place}_type": f"Module spec at {place} must be a dict, got {type(value).__name__}" for place in places
    }


def test_an_entry_of_a_list_cannot_be_nothing() -> None:
    """``None`` in a list is a spec of the wrong type."""
    assert errors_of(plan(tools=[None])) == {"tools[0]_type": "Module spec at tools[0] must be a dict, got NoneType"}


@pytest.mark.parametrize("value", [None, 3, 1.5, True, b"bytes", [], {}, object()])
def test_a_module_id_must_be_text(value: Any) -> None:
    """In every place where a module is named."""
    spec = {"module": value}
    wrong = {"session": {"orchestrator": spec, "context": spec}, **{name: [spec] for name in SECTIONS}}
    places = ["session.orchestrator", "session.context", "providers[0]", "tools[0]", "hooks[0]"]
    assert errors_of(wrong) == {
        f"{place}_module_type": f"'module' at {place} must be a str, got {type(value).__name__}" for place in places
    }


@pytest.mark.parametrize("value", ["", "  "])
def test_a_module_id_must_not_be_empty(value: str) -> None:
    """Neither as a bare id nor in a dict."""
    wrong = {"session": {"orchestrator": value, "context": {"module": value}}, "tools": [value, {"module": value}]}
    assert errors_of(wrong) == {
        f"{place}_module_empty": f"'module' at {place} must not be empty; expected a module id"
        for place in ("session.orchestrator", "session.context", "tools[0]", "tools[1]")
    }


@pytest.mark.parametrize(
    ("field", "expected", "value"),
    [("config", "dict", value) for value in (3, True, "text", [], object())]
    + [("source", "str", value) for value in (3, True, {"git": "x"}, [], object())],
)
def test_config_must_be_a_dict_and_source_text(field: str, expected: str, value: Any) -> None:
    """In every place where a module is named."""
    spec = {"module": "x", field: value}
    wrong = {"session": {"orchestrator": spec, "context": spec}, **{name: [spec] for name in SECTIONS}}
    places = ["session.orchestrator", "session.context", "providers[0]", "tools[0]", "hooks[0]"]
    assert errors_of(wrong) == {
        f"{place}_{field}_type": f"'{field}' at {place} must be a {expected}, got {type(value).__name__}"
        for place in places
    }


@pytest.mark.parametrize("value", [3, True, "text", [], object()])
def test_the_config_of_a_bare_id_is_checked_too(value: Any) -> None:
    """It stands at the top level, in a section of its own."""
    session = {"orchestrator": "loop-basic", "context": "context-simple"}
    kind = type(value).__name__
    assert errors_of({"session": session, "orchestrator": value, "context": {"config": value}}) == {
        "orchestrator_type": f"'orchestrator' section must be a dict, got {kind}",
        "context_config_type": f"'config' at context must be a dict, got {kind}",
    }


def test_a_spec_without_module_shows_itself_without_its_secrets() -> None:
    """The message has the spec and what was expected; keys and credentials in it are blanked out."""
    spec = {"modul": "tool-x", "config": {"api_key": "sk-1"}, "source": "https://u:pw@host/x", "more": "y" * 500}
    message = errors_of(plan(tools=[spec]))["tools[0]_module_required"]
    assert message.startswith("Module spec at tools[0] missing required 'module' field: {'modul': 'tool-x', ")
    assert message.endswith("…. Expected: {'module': '<module id>', 'source': '<where from>' (optional), "
                            "'config': {…} (optional)}")  # fmt: skip
    assert "sk-1" not in message
    assert "pw@" not in message
    assert "{}. Expected:" in errors_of(plan(tools=[{}]))["tools[0]_module_required"]


def test_unknown_sections_are_a_warning() -> None:
    """Sorted, whatever their type; nobody reads a top-level config of a module that is named by a dict."""
    result = MountPlanValidator().validate({**plan(zeta=1, alpha=2, orchestrator={"config": {}}), 3: 4})
    assert result.passed
    assert [(check.name, check.message) for check in result.warnings] == [
        ("unknown_sections", "Unknown sections will be ignored: [3, 'alpha', 'orchestrator', 'zeta']")
    ]


def test_errors_are_formatted_for_people() -> None:
    """Numbered, with the name of the check and a total."""
    assert MountPlanValidator().validate(plan()).format_errors() == "No errors"
    assert MountPlanValidator().validate({"tools": 3}).format_errors() == (
        "Mount Plan Validation Failed:\n"
        "  1. [session_present] Mount plan missing required 'session' section\n"
        "  2. [tools_type] 'tools' section must be a list, got int\n"
        "Total: 2 error(s)"
    )


def test_a_result_counts_like_any_other() -> None:
    """Passed, errors, warnings and summary are those of every validation result."""
    result = MountPlanValidationResult()
    result.add(ValidationCheck("a", True, "", "info"))
    result.add(ValidationCheck("b", False, "", "error"))
    assert (result.passed, result.summary()) == (False, "FAILED: 1/2 checks passed (1 errors, 0 warnings)")


def test_a_validator_can_be_extended() -> None:
    """Required and optional names are read from the class, so a subclass may add its own; unknown ones sort last."""

    class Strict(MountPlanValidator):
        REQUIRED_SECTIONS = frozenset({"session", "zoo"})
        OPTIONAL_SECTIONS = frozenset({"tools", "animals"})
        REQUIRED_MODULE_SPEC_FIELDS = frozenset({"module", "version"})

    result = Strict().validate(plan(animals=[], tools=[{"module": "x"}]))
    failed = [check.name for check in result.errors]
    assert failed == [
        "zoo_present",
        "session.orchestrator_version_required",
        "session.context_version_required",
        "tools[0]_version_required",
    ]
    assert [check.name for check in result.checks][-1] == "animals_empty"


@pytest.mark.slow
def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    """Two processes give the same list of checks for one plan."""
    code = (
        "from amplifier_core.validation import MountPlanValidator as V;"
        "print([c.name for c in V().validate({'hooks': 1, 'tools': 2, 'providers': 3, 'x': 4, 'session': {}}).checks])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
specs = st.fixed_dictionaries({}, optional={"module": json_like, "config": json_like, "source": json_like}) | json_like
plans = st.fixed_dictionaries(
    {},
    optional={
        "session": st.fixed_dictionaries({}, optional={"orchestrator": specs, "context": specs}) | json_like,
        "orchestrator": json_like,
        "providers": st.lists(specs, max_size=3) | json_like,
        "tools": st.lists(specs, max_size=3) | json_like,
        "hooks": json_like,
        "agents": json_like,
    },
)


@pytest.mark.slow
@given(plans | json_like)
def test_no_plan_makes_the_validator_raise(mount_plan: Any) -> None:
    """Whatever is given, the answer is a result whose verdict agrees with its errors."""
    result = MountPlanValidator().validate(mount_plan)
    assert result.passed == (result.format_errors() == "No errors")
    assert result.checks == MountPlanValidator().validate(mount_plan).checks


@pytest.mark.parametrize("instance_id", ["", 5, ["a"], {}])
def test_an_instance_id_that_sessions_refuse_is_an_error(instance_id: object) -> None:
    """It must be a text with something in it."""
    plan = {**_SOUND, "providers": [{"module": "provider-a", "instance_id": instance_id}]}
    result = MountPlanValidator().validate(plan)
    assert [check.name for check in result.errors] == ["providers[0]_instance_id_type"]


def test_two_entries_of_a_provider_need_names_to_tell_them_apart() -> None:
    """One entry may go without an instance_id, a second of the same module may not."""
    named = {"module": "provider-a", "instance_id": "b"}
    validate = MountPlanValidator().validate
    assert validate({**_SOUND, "providers": ["provider-a", named]}).passed
    result = validate({**_SOUND, "providers": ["provider-a", named, {"module": "provider-a"}]})
    assert [(check.name, check.message) for check in result.errors] == [
        ("providers_instances", "Provider module 'provider-a' is listed several times; all but one need an instance_id")
    ]

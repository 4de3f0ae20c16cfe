"""The declaration of settings: a JSON Schema, its defaults, and what is said about values that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from amplifier.settings.checking import Complaint, complaints
from amplifier.settings.layers import VARIABLES
from amplifier.settings.schema import defaults, schema, schema_at


def test_the_schema_is_one() -> None:
    """Validators of JSON Schema take it, and the defaults fit it."""
    validator = jsonschema_rs.validator_for(schema())
    assert (validator.is_valid(defaults()), validator.is_valid({"nope": 1})) == (True, False)


def test_every_setting_says_what_it_is_for() -> None:
    """Editors show the sentence."""

    def silent(declared: dict[str, Any], path: str) -> list[str]:
        inner = declared.get("properties", {})
        mine = [] if declared.get("description", "").endswith(".") else [path]
        return mine + [each for name, it in inner.items() for each in silent(it, f"{path}.{name}")]

    assert silent(schema(), "") == []


def test_the_caller_may_change_the_schema() -> None:
    """It is a copy."""
    schema()["properties"].clear()
    assert "model" in schema()["properties"]


def test_defaults_are_those_of_the_schema() -> None:
    """Nothing else has a value where nobody says anything."""
    assert defaults() == {
        "bundle": {"active": "default"},
        "permissions": {"mode": "default"},
        "session": {"retention_days": 30, "persist": True},
        "output": {"format": "text", "color": "auto"},
        "chat": {"keys": "emacs", "plain": False},
        "keys": {"store": "file"},
    }


@pytest.mark.parametrize(
    ("key", "declared"),
    [
        (("session", "persist"), {"type": "boolean", "description": "Whether sessions are stored.", "default": True}),
        (("session", "nope"), None),
        (("nope",), None),
        (("env", "ANY", "thing"), {}),
        (("model", "inside"), None),
        (("config", "providers", "0"), None),
    ],
)
def test_what_is_declared_for_a_key_is_found(key: tuple[str, ...], declared: dict[str, Any] | None) -> None:
    """Nothing may stand where nothing is declared; anything may stand in open mappings."""
    assert schema_at(key) == declared


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"model": 5}, "'model' must be a text, not 5"),
        ({"session": []}, "'session' must be a mapping, not []"),
        ({"session": {"persist": "yes"}}, "'session.persist' must be true or false, not 'yes'"),
        ({"session": {"retention_days": 1.5}}, "'session.retention_days' must be a whole number, not 1.5"),
        ({"session": {"retention_days": True}}, "'session.retention_days' must be a whole number, not True"),
        ({"session": {"retention_days": -1}}, "'session.retention_days' must be at least 0, not -1"),
        ({"limits": {"timeout": True}}, "'limits.timeout' must be a number, not True"),
        ({"limits": {"timeout": "soon"}}, "'limits.timeout' must be a number, not 'soon'"),
        ({"permissions": {"allow": "Read"}}, "'permissions.allow' must be a list, not 'Read'"),
        ({"permissions": {"allow": ["Read", 3]}}, "'permissions.allow.1' must be a text, not 3"),
        ({"config": {"providers": [{"module": 1}]}}, "'config.providers.0.module' must be a text, not 1"),
        ({"model": ["x" * 100]}, f"'model' must be a text, not ['{'x' * 57}…"),
        (
            {"permissions": {"mode": "acceptEdits"}},
            "'permissions.mode' must be one of default, plan, accept-edits, dont-ask, bypass, not 'acceptEdits'",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(value: dict[str, Any], message: str) -> None:
    """The complaint names the key, what was expected, and what is there."""
    found = list(complaints(value))
    assert [(each.message, each.is_unknown) for each in found] == [(message, False)]


def test_an_unknown_key_is_told_with_the_nearest() -> None:
    """Or with all that there are, when none is near."""
    found = list(complaints({"modle": "x", "session": {"persits": True, "elephant": 1}, "env": {"ANY": 1}}))
    assert found == [
        Complaint(("modle",), "there is no setting 'modle'; did you mean 'model'?", True),
        Complaint(
            ("session", "persits"), "there is no setting 'session.persits'; did you mean 'session.persist'?", True
        ),
        Complaint(
            ("session", "elephant"), "there is no setting 'session.elephant'; known are persist, retention_days", True
        ),
    ]


def test_null_fits_everywhere() -> None:
    """It takes a value of a lower scope away."""
    settings = {"model": None, "session": None, "limits": {"timeout": None}, "permissions": {"allow": [None]}}
    assert list(complaints(settings)) == []


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"model": "x", "limits": {"timeout": 1, "max_budget_usd": 0.5, "max_turns": 3}},
        {"config": {"providers": [{"module": "provider-x", "config": {"a": [1]}}], "notifications": {"a": 1}}},
        {"permissions": {"mode": "plan", "allow": ["Read"]}, "hooks": {"tool:pre": [{"command": "x"}]}},
        {"modul": 1},
        {"limits": {"max_turns": 0}},
        {"output": {"color": "blue"}},
    ],
)
def test_our_check_agrees_with_json_schema(value: dict[str, Any]) -> None:
    """What editors check with the published schema is what the command checks."""
    assert jsonschema_rs.validator_for(schema()).is_valid(value) == (list(complaints(value)) == [])


def test_the_guide_names_every_setting_and_every_variable() -> None:
    """A page that leaves one out is not the page of all settings."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "settings.md").read_text(encoding="utf-8")
    inside = {
        f"{name}.{inner}": f".{inner}"
        for name, declared in schema()["properties"].items()
        for inner in declared.get("properties", {})
    }
    missing = [name for name in (*schema()["properties"], *VARIABLES) if f"`{name}" not in page]
    assert missing + [key for key, end in inside.items() if f"`{key}`" not in page and f"`{end}`" not in page] == []

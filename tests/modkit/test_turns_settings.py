"""The settings of a loop, for all turns and for one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from amplifier_modkit.turns.settings import LoopSettings


def test_the_defaults_are_those_of_a_plan_that_says_nothing() -> None:
    """Every key has one."""
    assert LoopSettings().model_dump() == {
        "max_iterations": -1,
        "default_provider": None,
        "provider_fallback": False,
        "model": None,
        "extended_thinking": False,
        "reasoning_effort": None,
        "temperature": None,
        "max_output_tokens": None,
        "timeout": None,
        "tool_timeout": None,
        "max_parallel_tools": 8,
        "validate_arguments": True,
        "max_retries": 2,
        "min_retry_delay": 1.0,
        "max_retry_delay": 60.0,
        "repeat_reminder_after": 3,
        "repeat_stop_after": 8,
        "output_schema": None,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_iterations": -2},
        {"max_iterations": "many"},
        {"max_parallel_tools": -1},
        {"max_output_tokens": 0},
        {"timeout": 0},
        {"tool_timeout": -1},
        {"max_retries": -1},
        {"min_retry_delay": -0.1},
        {"max_retry_delay": -1},
        {"repeat_reminder_after": -1},
        {"repeat_stop_after": -1},
        {"output_schema": "object"},
        {"unheard_of": 1},
    ],
)
def test_values_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    """In a plan they are an error when the module mounts."""
    with pytest.raises(ValidationError):
        LoopSettings.model_validate(wrong)


def test_without_options_a_turn_has_the_settings_of_the_plan() -> None:
    """Options that are ``None`` count as not given."""
    settings = LoopSettings(max_iterations=5)
    assert settings.for_turn({}) is settings
    assert settings.for_turn({"model": None, "timeout": None}) is settings


def test_options_go_before_the_plan_for_one_turn() -> None:
    """What is not given stays as the plan has it, and the plan stays as it is."""
    settings = LoopSettings(max_iterations=5, model="big")
    assert settings.for_turn({"max_iterations": 2, "temperature": 0.5}) == LoopSettings(
        max_iterations=2, model="big", temperature=0.5
    )
    assert settings.max_iterations == 5


def test_an_option_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """A slip of the pen is found at once."""
    with pytest.raises(TypeError) as refused:
        LoopSettings().for_turn({"temprature": 1})
    assert str(refused.value) == (
        "An option of execute() is not right: temprature: Extra inputs are not permitted. Options are: "
        "default_provider, extended_thinking, max_iterations, max_output_tokens, max_parallel_tools, max_retries, "
        "max_retry_delay, min_retry_delay, model, output_schema, provider, provider_fallback, reasoning_effort, "
        "repeat_reminder_after, repeat_stop_after, temperature, timeout, tool_timeout, validate_arguments"
    )


def test_an_option_of_the_wrong_type_is_refused_by_its_name() -> None:
    """The value itself, which may be long or secret, is not repeated."""
    with pytest.raises(TypeError) as refused:
        LoopSettings().for_turn({"timeout": "a while"})
    assert str(refused.value).startswith("An option of execute() is not right: timeout: Input should be a valid number")
    assert "a while" not in str(refused.value)


def test_options_of_a_subclass_are_known_to_it() -> None:
    """A loop with settings of its own takes them as options as well, and gives back its own kind."""

    class Special(LoopSettings):
        flavour: str = "plain"

    settings = Special().for_turn({"flavour": "spicy", "model": "m"})
    assert (type(settings), settings.flavour, settings.model) == (Special, "spicy", "m")


def test_a_model_class_stands_for_its_schema() -> None:
    """Whoever has a pydantic model need not write the schema."""

    class Point(BaseModel):
        x: int

    assert LoopSettings.model_validate({"output_schema": Point}).output_schema == Point.model_json_schema()
    assert LoopSettings().for_turn({"output_schema": Point}).output_schema == Point.model_json_schema()

"""A module's config against its declaration."""

from __future__ import annotations

import traceback
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    field_validator,
    model_validator,
)

from amplifier_core._module_config import check_config
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.report import UnknownConfigKey

SECRET = "sk-very-secret"


def unknown(declared: Any, config: dict[Any, Any]) -> list[tuple[str, str | None]]:
    """Unknown keys, each with the nearest known one."""
    return [(found.key, found.nearest) for found in check_config("tool-x", declared, config)]


def refusal(declared: Any, config: dict[str, Any]) -> str:
    """The text of the refusal of a config; the secret appears nowhere, not even in the traceback."""
    with pytest.raises(ModuleLoadError) as caught:
        check_config("tool-x", declared, config)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_without_a_declaration_nothing_is_unknown() -> None:
    """Old modules declare nothing."""
    assert check_config("tool-x", None, {"anything": 1}) == []


@pytest.mark.parametrize("kind", [set, frozenset, list, tuple])
def test_keys_may_be_declared_as_any_collection(kind: Any) -> None:
    """Keys that are not in the collection are told with module, key and the nearest known key."""
    found = check_config("tool-x", kind(["max_size", "timeout"]), {"max_sise": 1, "timeout": 2, "zzz": 3})
    assert found == [UnknownConfigKey("tool-x", "max_sise", "max_size"), UnknownConfigKey("tool-x", "zzz", None)]


def test_an_empty_declaration_knows_no_key() -> None:
    """A module may say that it reads nothing."""
    assert unknown(set(), {"a": 1}) == [("a", None)]
    assert unknown(set(), {}) == []


@pytest.mark.slow
@given(
    st.sets(st.text(max_size=8)),
    st.dictionaries(st.text(max_size=8), st.integers()),
)
def test_unknown_keys_are_exactly_those_not_declared(declared: set[str], config: dict[str, int]) -> None:
    """Law: config minus declaration, in the order of the config; a suggestion is always a declared key."""
    found = check_config("tool-x", declared, config)
    assert [entry.key for entry in found] == [key for key in config if key not in declared]
    assert all(entry.nearest in {None, *declared} for entry in found)


def test_odd_keys_are_told_as_text() -> None:
    """Keys need not be strings, nor short: neither breaks the check."""
    assert unknown({"a"}, {1: 1, None: 2}) == [("1", None), ("None", None)]
    assert unknown({"a" * 200}, {"a" * 199: 1}) == [("a" * 199, None)]


@pytest.mark.parametrize("declared", [3, "max_size", {"a": 1}, object(), int, UnknownConfigKey("a", "b"), lambda: None])
def test_a_declaration_of_another_type_is_an_error(declared: Any) -> None:
    """The module's author learns what may stand there."""
    with pytest.raises(ModuleLoadError) as caught:
        check_config("tool-x", declared, {})
    assert str(caught.value) == (
        f"Module 'tool-x' declares __amplifier_config__ as a {type(declared).__name__}; "
        "expected a pydantic model class, or a set, list or tuple of key names"
    )
    assert caught.value.reason_code == "invalid_module_metadata"


def test_a_declaration_with_keys_that_are_no_text_is_an_error() -> None:
    """Names of keys are texts."""
    assert "as a list with entries that are not text; expected" in refusal(["a", 3], {})


def test_a_model_declares_its_fields() -> None:
    """Unknown keys are found although pydantic would ignore them; valid values pass."""

    class Config(BaseModel):
        api_key: str
        max_tokens: int = 10

    assert unknown(Config, {"api_key": "x", "max_token": 3}) == [("max_token", "max_tokens")]
    assert unknown(Config, {"api_key": "x", "max_tokens": 3}) == []


def test_aliases_are_known_keys() -> None:
    """Every name under which the model reads a field counts; a field name that it does not read does not."""

    class Config(BaseModel):
        plain: int = 0
        by_alias: int = Field(0, alias="byAlias")
        by_path: int = Field(0, validation_alias=AliasPath("outer", "inner"))
        by_choice: int = Field(0, validation_alias=AliasChoices("one", AliasPath("two", 0)))
        written: int = Field(0, serialization_alias="onlyWritten")

    given = dict.fromkeys(("plain", "byAlias", "outer", "one", "two", "written"), 1)
    assert unknown(Config, given) == []
    assert unknown(Config, {"by_alias": 1, "onlyWritten": 1}) == [("by_alias", "byAlias"), ("onlyWritten", "written")]


def test_a_model_may_read_fields_by_name_beside_the_alias() -> None:
    """``populate_by_name`` makes both names known."""

    class Config(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        by_alias: int = Field(0, alias="byAlias")

    assert unknown(Config, {"by_alias": 1, "byAlias": 2}) == []


def test_models_that_take_any_key_have_no_unknown_keys() -> None:
    """``extra="allow"`` and root models say so themselves."""

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = 0

    assert unknown(Open, {"b": 1}) == []
    assert unknown(RootModel[dict[str, int]], {"b": 1}) == []


def test_forbidden_keys_are_told_and_not_fatal() -> None:
    """A model that forbids extra keys is treated like one that ignores them, inside nested models as well."""

    class Inner(BaseModel):
        model_config = ConfigDict(extra="forbid")
        x: int = 0

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")
        size: int = 0
        inner: Inner = Inner()
        many: list[Inner] = []

    assert unknown(Config, {"sise": 1, "inner": {"y": 1}, "many": [{}, {"z": 1}]}) == [
        ("sise", "size"),
        ("inner.y", None),
        ("many.1.z", None),
    ]


def test_forbidden_keys_do_not_hide_an_invalid_value() -> None:
    """What the model's own validators say about the rest is still heard."""

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")
        low: int = 0
        high: int = 1

        @model_validator(mode="after")
        def _ordered(self) -> Config:
            if self.low > self.high:
                raise ValueError("low must not be above high")
            return self

    assert "as a whole: Value error, low must not be above high (given: dict)" in refusal(Config, {"low": 2, "x": 1})
    assert "key 'low': Input should be a valid integer" in refusal(Config, {"low": SECRET, "x": 1})


def test_a_validator_that_renames_old_keys_still_works() -> None:
    """Keys that only a validator before the model reads reach it; they are told as unknown, no more."""

    class Config(BaseModel):
        new: int

        @model_validator(mode="before")
        @classmethod
        def _rename(cls, data: dict[str, Any]) -> dict[str, Any]:
            return {"new": data["old"]} if "old" in data else data

    assert unknown(Config, {"old": 1}) == [("old", None)]


def test_an_invalid_value_is_refused_with_key_expectation_and_type() -> None:
    """Every fault is named at once; the value is not: it may be a secret."""

    class Inner(BaseModel):
        level: Literal["low", "high"]

    class Config(BaseModel):
        port: int
        inner: list[Inner]
        needed: str

    text = refusal(Config, {"port": SECRET, "inner": [{"level": SECRET}]})
    assert text == (
        "Module 'tool-x' was given an invalid config: "
        "key 'port': Input should be a valid integer, unable to parse string as an integer (given: str); "
        "key 'inner.0.level': Input should be 'low' or 'high' (given: str); "
        "key 'needed': Field required. "
        "Correct it in the 'config' of 'tool-x' in the mount plan."
    )


def test_a_validator_that_quotes_the_value_does_not_leak_it() -> None:
    """Texts of the module's own validators are shown without what they were given, nested values included."""

    def refuse(value: Any) -> Any:
        raise ValueError(f"{value} is no good, is it?")

    class Config(BaseModel):
        key: Annotated[str, AfterValidator(refuse)] = ""
        keys: Annotated[dict[str, Any], AfterValidator(refuse)] = {}

    assert "key 'key': Value error, <hidden> is no good, is it? (given: str)" in refusal(Config, {"key": SECRET})
    assert "key 'key': Value error, is is no good, is it? (given: str)" in refusal(Config, {"key": "is"})
    circle: dict[str, Any] = {"a": [SECRET, (SECRET + "-longer", 3)]}
    circle["self"] = circle
    text = refusal(Config, {"keys": circle})
    assert "'a': ['<hidden>', ('<hidden>', 3)]" in text


def test_a_validator_that_fails_otherwise_is_an_error_without_its_text() -> None:
    """An exception that is no verdict names the model and the type of the exception only."""

    class Config(BaseModel):
        key: str

        @field_validator("key")
        @classmethod
        def _look_up(cls, value: str) -> str:
            raise LookupError(value)

    assert refusal(Config, {"key": SECRET}) == (
        "Module 'tool-x': a validator of its __amplifier_config__ (Config) raised LookupError"
    )


def test_the_config_itself_is_not_changed() -> None:
    """Validation neither converts nor drops anything in the caller's dict."""

    class Config(BaseModel):
        port: int = 0

    config = {"port": "80", "other": 1}
    check_config("tool-x", Config, config)
    assert config == {"port": "80", "other": 1}

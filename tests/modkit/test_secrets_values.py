"""Redacting data: every shape, names that promise secrets, and objects that come back as they were."""

from __future__ import annotations

import uuid
from collections import OrderedDict, UserDict, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretStr

from amplifier_core.utils.jsonable import CYCLE, MAX_DEPTH, TOO_DEEP
from amplifier_modkit.secrets import redact_value

TOKEN = "ghp_" + "a1" * 18
MASK = "[REDACTED:github-token]"
Point = namedtuple("Point", "x y")


class Model(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    text: str = ""
    password: str = ""
    hidden: SecretStr = SecretStr("x")


@dataclass(frozen=True, slots=True)
class Frozen:
    token: str
    count: int = 0


@dataclass
class Stubborn:
    token: str
    others: list[str] = field(default_factory=list[str])

    def __copy__(self) -> Stubborn:
        raise TypeError("there is only one")


class Spoken:
    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Colour(Enum):
    RED = TOKEN


class Kind(StrEnum):
    PLAIN = "plain"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"use {TOKEN}", f"use {MASK}"),
        ({"a": [TOKEN, (TOKEN, 1)]}, {"a": [MASK, (MASK, 1)]}),
        ({TOKEN: 1, "x": 2}, {MASK: 1, "x": 2}),
        ({"ghp_" + "b2" * 18: 1, TOKEN: 2, "ghp_" + "c3" * 18: 3}, {MASK: 1, f"{MASK}#2": 2, f"{MASK}#3": 3}),
        ({TOKEN}, {MASK}),
        (frozenset({TOKEN}), frozenset({MASK})),
        (Point(TOKEN, 2), Point(MASK, 2)),
        (OrderedDict(a=TOKEN), {"a": MASK}),
        (UserDict(a=TOKEN), {"a": MASK}),
        (MappingProxyType({"a": TOKEN}), {"a": MASK}),
        (b"x " + TOKEN.encode() + b"\xff", b"x " + MASK.encode() + b"\xff"),
        (bytearray(TOKEN.encode()), MASK.encode()),
        (memoryview(TOKEN.encode()), MASK.encode()),
        (Frozen("abc", 3), Frozen("[REDACTED:token]", 3)),
        (Stubborn("abc", [TOKEN]), {"token": "[REDACTED:token]", "others": [MASK]}),
        (ValueError(f"bad {TOKEN}"), f"ValueError: bad {MASK}"),
        (Spoken(f"I am {TOKEN}"), f"I am {MASK}"),
        (Path("/tmp") / TOKEN, f"/tmp/{MASK}"),
        ({"password": "hunter2"}, {"password": "[REDACTED:password]"}),
        ({"password": 12345678, "pwd": 3}, {"password": "[REDACTED:password]", "pwd": 3}),
        ({"password": b"hunter2"}, {"password": b"[REDACTED:password]"}),
        ({"api_key": TOKEN}, {"api_key": MASK}),
        ({"api_key": f"x{TOKEN}"}, {"api_key": "[REDACTED:api-key]"}),
        ({"tokens": 3, "access_tokens": ["a", "b"]}, {"tokens": 3, "access_tokens": ["[REDACTED:token]"] * 2}),
        ({"secret": {"value": "hunter2"}}, {"secret": {"value": "[REDACTED:secret]"}}),
        (
            {"credentials": {"username": "bob", "id": 7, "value": "abc123xyz", "since": "2024-01-02"}},
            {"credentials": {"username": "bob", "id": 7, "value": "[REDACTED:credential]", "since": "2024-01-02"}},
        ),
        ({"name": "DB_PASSWORD", "value": "x1"}, {"name": "DB_PASSWORD", "value": "[REDACTED:password]"}),
        ({"key": "colour", "value": "red"}, {"key": "colour", "value": "red"}),
        (["run", "--password", "hunter2", "--x"], ["run", "--password", "[REDACTED:password]", "--x"]),
        ([("authorization", "Bearer abc123def456")], [("authorization", "[REDACTED:authorization]")]),
        ((b"cookie", b"sid=abc123def456"), (b"cookie", b"[REDACTED:cookie]")),
        (
            {"password": {"type": "string", "description": "The one", "default": "hunter2", "enum": ["a1", 1]}},
            {
                "password": {
                    "type": "string",
                    "description": "The one",
                    "default": "[REDACTED:password]",
                    "enum": ["[REDACTED:password]", 1],
                }
            },
        ),
        (
            {"password": {"anyOf": [{"type": "string"}]}, "x": TOKEN},
            {"password": {"anyOf": [{"type": "string"}]}, "x": MASK},
        ),
        ({"token": "Hello", "logprob": -0.5, "x": TOKEN}, {"token": "Hello", "logprob": -0.5, "x": MASK}),
    ],
)
def test_secrets_are_masked_in_every_shape(value: Any, expected: Any) -> None:
    """The copy is of the same kind where there is one, and a second pass leaves it as it is."""
    before = repr(value)
    result, hits = redact_value(value)
    assert (result, type(result)) == (expected, type(expected))
    assert bool(hits) == (expected != value)
    assert repr(value) == before
    assert redact_value(result) == (result, {})


def test_models_are_copied_with_all_they_have() -> None:
    """Declared and further fields are masked, the kind and the rest stay."""
    model = Model(text=f"a {TOKEN}", password="hunter2", more=[TOKEN])  # pyright: ignore[reportCallIssue]
    result, hits = redact_value(model)
    assert isinstance(result, Model)
    assert result.model_dump() == {
        "text": f"a {MASK}",
        "password": "[REDACTED:password]",
        "hidden": SecretStr("x"),
        "more": [MASK],
    }
    assert hits == {"github-token": 2, "password": 1}
    renamed, _ = redact_value(Model.model_validate({TOKEN: 1}))
    assert renamed == {"text": "", "password": "", "hidden": SecretStr("x"), MASK: 1}


UNTOUCHED: list[Any] = [
    None,
    True,
    17,
    3.5,
    Decimal("1.5"),
    datetime(2024, 1, 2, tzinfo=UTC),
    uuid.UUID(int=7),
    Colour.RED,
    Kind.PLAIN,
    Mute(),
    object(),
    print,
    redact_value,
    "".join,
    pytest,
    int,
    Spoken("nothing"),
    ValueError("nothing"),
    b"plain",
    [1, ("a", {"b": {"c"}})],
    {"session_id": "0123456789abcdef", "tool_call_id": "call_0123456789abcdef0123", "max_tokens": 5},
    {"token": 17, "auth": True, "password": None, "secret": "", "api_key": "${KEY}", "pass": "yes"},
    {"pwd": "/home/bob/x", "next_token": "abc123def456", "eos_token": "</s>"},
    {"required": ["password", "token"], "names": ["api_key", "secret"]},
    ["--password", "--token"],
    ["--token=", "x1234567"],
    {1: 2, None: 3},
    Model(text="plain"),
    Frozen("", 3),
]


@pytest.mark.parametrize("value", UNTOUCHED, ids=lambda value: type(value).__name__)
def test_what_has_no_secrets_comes_back_as_the_very_object(value: Any) -> None:
    """Ids, dates, numbers, switches, references and unknown objects are the same objects as before."""
    result, hits = redact_value(value)
    assert result is value
    assert hits == {}


def test_places_can_be_left_alone() -> None:
    """A path names one place exactly; what stands elsewhere is masked all the same."""
    value = {"a": {"b": [TOKEN, TOKEN]}, "c": TOKEN}
    result, hits = redact_value(value, allow=["a.b[0]", "c"])
    assert result == {"a": {"b": [TOKEN, MASK]}, "c": TOKEN}
    assert hits == {"github-token": 1}


def test_references_to_what_encloses_are_cut() -> None:
    """A cycle becomes a marker where there is something to mask, and else stays what it was."""
    cyclic: list[Any] = [TOKEN]
    cyclic.append(cyclic)
    assert redact_value(cyclic)[0] == [MASK, CYCLE]
    harmless: list[Any] = ["x"]
    harmless.append(harmless)
    assert redact_value(harmless)[0] is harmless


def test_what_is_nested_too_deeply_is_not_shown() -> None:
    """Nobody has looked down there, so it is left out, secrets or not."""
    deep: Any = TOKEN
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    result, hits = redact_value(deep)
    text = str(result)
    assert (TOKEN in text, TOO_DEEP in text, hits) == (False, True, {})


def test_shared_parts_are_looked_at_once() -> None:
    """A structure that doubles at every level takes no longer than it is tall."""
    shared: Any = [TOKEN]
    for _ in range(60):
        shared = [shared, shared]
    result, hits = redact_value(shared)
    assert hits == {"github-token": 1}
    for _ in range(60):
        result = result[0]
    assert result == [MASK]


KEYS = ["a", "password", "token", "secret", "auth", "name", "value", TOKEN]
TREES = st.recursive(
    st.sampled_from([TOKEN, "x", 1, None, "password=hunter2", b"x", "Bearer abc123def456", "[REDACTED:x]"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(
            st.sampled_from(["a", "password", "token", "secret", "auth", "name", "value", TOKEN]), inner, max_size=4
        ),
    ),
    max_leaves=12,
)


@given(TREES)
def test_redacting_data_twice_is_redacting_once(tree: Any) -> None:
    """A second pass finds nothing, and the copy shows no secret that the first had found."""
    once, _ = redact_value(tree)
    assert redact_value(once) == (once, {})
    assert TOKEN not in str(once)

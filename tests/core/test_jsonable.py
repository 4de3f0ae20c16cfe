"""The conversion of anything to JSON data."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SecretStr

from amplifier_core.models import ToolResult
from amplifier_core.utils.jsonable import CYCLE, MAX_DEPTH, TOO_DEEP, to_jsonable

json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(IntEnum):
    HIGH = 3


class Name(StrEnum):
    BOB = "bob"


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()


class Big(int):
    pass


Point = namedtuple("Point", ["x", "y"])


@dataclass
class Box:
    width: Decimal
    tags: set[str] = field(default_factory=set)


class Person(BaseModel):
    name: str
    born: date | None = None
    secret: SecretStr = SecretStr("pw")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (1.5, 1.5),
        ("é", "é"),
        (Loud("abc"), "ABC"),
        (Big(7), 7),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("1.10"), "1.10"),
        (Decimal("NaN"), "NaN"),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05+00:00"),
        (date(2024, 1, 2), "2024-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(seconds=90), "0:01:30"),
        (b"abc\xff", "abc\ufffd"),
        (bytearray(b"abc"), "abc"),
        (memoryview(b"abc"), "abc"),
        ("a\ud800b", "a\\ud800b"),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, 2]),
        (Level.HIGH, 3),
        (Name.BOB, "bob"),
        ((1, (2,)), [1, [2]]),
        (Point(1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (UserDict({"a": 1}), {"a": 1}),
        (
            {1: "a", None: "b", (1, 2): "c", Name.BOB: "d", Colour.RED: "e", False: "f"},
            {"1": "a", "None": "b", "(1, 2)": "c", "bob": "d", "red": "e", "False": "f"},
        ),
        (Box(Decimal("2.0"), {"b", "a"}), {"width": "2.0", "tags": ["a", "b"]}),
        (Person(name="Ada"), {"name": "Ada", "born": None, "secret": "**********"}),
        (Person(name="Ada", born=date(1815, 12, 10)), {"name": "Ada", "born": "1815-12-10", "secret": "**********"}),
        (ToolResult(output={1}), {"success": True, "output": [1], "error": None}),
        (PurePosixPath("/a"), "/a"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ValueError("boom"), "boom"),
        (Person, str(Person)),
        (Box, str(Box)),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    """Each kind of value has its JSON form."""
    found = to_jsonable(value)
    assert found == expected
    assert type(found) is type(expected)


def test_mixed_sets_keep_all_members() -> None:
    """A set whose members cannot be sorted becomes a list in some order."""
    assert sorted(to_jsonable({1, "a", None}), key=str) == [1, None, "a"]


def test_input_is_not_changed() -> None:
    """Containers are new; the input stays as it is."""
    value = {"a": [1, (2, 3)], 4: {"b"}}
    found = to_jsonable(value)
    assert value == {"a": [1, (2, 3)], 4: {"b"}}
    assert found == {"a": [1, [2, 3]], "4": ["b"]}
    assert found["a"] is not value["a"]


def test_huge_integers() -> None:
    """An integer with more digits than the interpreter prints becomes hexadecimal text; others stay numbers."""
    printable, huge = 10**1000, 1 << 20_000
    assert to_jsonable(printable) == printable
    assert to_jsonable(-huge) == hex(-huge)
    assert json.loads(json.dumps(to_jsonable([huge]))) == [hex(huge)]
    assert sys.get_int_max_str_digits() == 4300


def test_cycles_are_marked() -> None:
    """A reference to an enclosing object becomes a marker; a mere second reference does not."""
    shared = [1]
    loop: dict[str, Any] = {"twice": [shared, shared]}
    loop["self"] = loop
    loop["deep"] = [{"up": loop}]
    assert to_jsonable(loop) == {"twice": [[1], [1]], "self": CYCLE, "deep": [{"up": CYCLE}]}


def test_cycles_through_objects_are_marked() -> None:
    """Dataclasses and models that contain themselves end as well."""

    @dataclass
    class Node:
        next: Any = None

    class Model(BaseModel):
        next: Any = None

    node = Node()
    node.next = [node]
    assert to_jsonable(node) == {"next": [CYCLE]}
    model = Model()
    model.next = model
    assert CYCLE in json.dumps(to_jsonable([model, node]))


def test_deep_structures_are_cut() -> None:
    """What is nested deeper than the limit becomes a marker; up to the limit everything is kept."""
    deep: Any = "end"
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert to_jsonable(deep) == deep
    found = to_jsonable({"a": deep})
    for _ in range(MAX_DEPTH - 1):
        found = found["a"] if isinstance(found, dict) else found[0]
    assert found == [TOO_DEEP]


def test_very_deep_structures_do_not_exhaust_the_stack() -> None:
    """A structure deeper than the interpreter's stack is converted and can be written."""
    deep: Any = None
    for _ in range(100_000):
        deep = {"a": deep}
    assert TOO_DEEP in json.dumps(to_jsonable(deep))
    while deep:
        deep = deep["a"]


def test_near_the_end_of_the_stack_it_still_answers() -> None:
    """Called with hardly any stack left, the conversion answers instead of raising."""

    def dive(depth: int) -> Any:
        try:
            return dive(depth + 1)
        except RecursionError:
            return to_jsonable([[[[[1]]]]])

    assert json.loads(json.dumps(dive(0)))


def test_unprintable_objects_are_named() -> None:
    """An object whose text cannot be had is named by its type."""

    class Shy:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert to_jsonable([Shy()]) == ["<unprintable Shy>"]
    assert to_jsonable({Shy(): 1}) == {"<unprintable Shy>": 1}


def test_broken_containers_become_text() -> None:
    """Mappings, lists, models and dataclasses that fail when read become their text."""

    class BadDict(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no")

        def __repr__(self) -> str:
            return "bad dict"

    class BadList(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            raise RuntimeError("no")

        def __str__(self) -> str:
            return "bad list"

    class BadModel:
        def model_dump(self, **options: Any) -> Any:
            raise RuntimeError("no")

        def __str__(self) -> str:
            return "bad model"

    @dataclass
    class BadBox:
        width: int

        def __str__(self) -> str:
            return "bad box"

    box = BadBox(1)
    del box.width
    assert to_jsonable([BadDict(), BadList(), BadModel(), box]) == ["bad dict", "bad list", "bad model", "bad box"]


def test_broken_scalars_become_text() -> None:
    """A date or number that fails when converted becomes its text."""

    class BadDate(date):
        def isoformat(self) -> str:
            raise RuntimeError("no")

        def __str__(self) -> str:
            return "bad date"

    released = memoryview(b"x")
    released.release()
    assert to_jsonable(BadDate(2024, 1, 1)) == "bad date"
    assert to_jsonable(released).startswith("<released memory")


def test_models_with_what_json_mode_refuses() -> None:
    """A model that holds an arbitrary object is dumped all the same."""

    class Holder(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        thing: Any

    class Opaque:
        def __str__(self) -> str:
            return "opaque"

    assert to_jsonable(Holder(thing={"a": Opaque()})) == {"thing": {"a": "opaque"}}


def test_look_alikes_of_models() -> None:
    """Any class with a ``model_dump`` counts as a model; an instance attribute of that name does not."""

    class Alike:
        def model_dump(self) -> dict[str, Any]:
            return {"a": (1,)}

    class Dynamic:
        def __getattr__(self, name: str) -> Any:
            return lambda **options: Dynamic()

        def __str__(self) -> str:
            return "dynamic"

    assert to_jsonable(Alike()) == {"a": [1]}
    assert to_jsonable(Dynamic()) == "dynamic"


def test_what_is_no_ordinary_error_travels_on() -> None:
    """An interrupt during the conversion is not swallowed."""

    class Interrupting:
        def __str__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_jsonable(Interrupting())


@pytest.mark.slow
@given(json_data)
def test_json_data_stays_as_it_is(data: Any) -> None:
    """JSON data is converted to itself."""
    assert to_jsonable(data) == data


wild = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 20_000), 1 << 20_000)
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from([Colour.RED, Colour.PAIR, Level.HIGH, Name.BOB, Person, object()]),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters()) | st.integers() | st.binary() | st.floats(), inner)
        | st.sets(st.integers() | st.text() | st.binary())
        | st.builds(Box, width=st.decimals(), tags=st.sets(st.text(st.characters())))
        | st.builds(ToolResult, output=inner)
    ),
    max_leaves=15,
)


@pytest.mark.slow
@given(wild)
def test_anything_can_be_written(data: Any) -> None:
    """Whatever goes in, strict JSON in UTF-8 comes out, and converting again changes nothing."""
    found = to_jsonable(data)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    assert json.loads(text) == found
    assert to_jsonable(found) == found

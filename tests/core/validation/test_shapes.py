"""Functions and classes, told from their syntax."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

from amplifier_core.validation._shapes import Members, members_of, stand_in
from amplifier_core.validation._source import Definition, FunctionNode, Source
from amplifier_core.validation.base import is_async_callable


def function(text: str) -> FunctionNode:
    """The function that ``text`` defines."""
    node = ast.parse(text).body[0]
    assert isinstance(node, FunctionNode)
    return node


@pytest.mark.parametrize(
    ("text", "signature", "as_method"),
    [
        ("def f(): ...", "()", "()"),
        ("def f(self, x): ...", "(self, x)", "(x)"),
        (
            "def f(a, b=1, /, c=2, *d, e, f=3, **g): ...",
            "(a, b=…, /, c=…, *d, e, f=…, **g)",
            "(b=…, /, c=…, *d, e, f=…, **g)",
        ),
        ("def f(*args): ...", "(*args)", "(*args)"),
        ("def f(*, key): ...", "(*, key)", "(*, key)"),
    ],
)
def test_a_stand_in_has_the_same_parameters(text: str, signature: str, as_method: str) -> None:
    """As a method it has no ``self``."""
    assert str(inspect.signature(stand_in(function(text)))) == signature
    assert str(inspect.signature(stand_in(function(text), is_method=True))) == as_method


def test_a_stand_in_is_async_or_not() -> None:
    """As the original."""
    assert is_async_callable(stand_in(function("async def f(): ...")))
    assert not is_async_callable(stand_in(function("def f(): ...")))
    assert not is_async_callable(stand_in(ast.parse("lambda x: x", mode="eval").body))  # type: ignore[arg-type]


def members(author: Any, text: str, **files: str) -> Members:
    """The members of the class ``A`` in a package of ``text``."""
    package = author.package(text, **files)
    source = Source(package.name, package)
    found = source.lookup(package.name, "A")
    assert isinstance(found, Definition)
    return members_of(source, found)


def test_every_way_to_have_a_member_is_seen(author: Any) -> None:
    """Methods, properties, attributes of the class and of ``self``, fields."""
    found = members(
        author,
        """
        class A:
            one = two = 1
            three: int
            if True:
                four = 4
            def method(self):
                self.five = self.six = 1
                self.seven: int = 1
                other.eight = 1
                (self.nine, _) = 1, 2
            @property
            def ten(me):
                me.eleven = 1
            def twelve(): ...
        """,
    )
    expected = {"one", "two", "three", "four", "method", "five", "six", "seven", "nine", "ten", "eleven", "twelve"}
    assert (found.names, set(found.functions), found.is_open) == (expected, {"method", "twelve"}, False)


def test_bases_in_the_package_count(author: Any) -> None:
    """The nearest definition of a method counts; a decorated one hides it, too."""
    found = members(
        author,
        "from .base import B\nclass A(B):\n    def one(self): ...\n    @wrap\n    def two(self): ...",
        base="from abc import ABC\nfrom typing import Generic\n"
        "class C: x = 1\n"
        "class B(C, ABC, Generic[T], object):\n    async def one(self): ...\n    async def two(self): ...\n"
        "    async def three(self): ...",
    )
    assert (found.names, found.is_open) == ({"one", "two", "three", "x"}, False)
    assert {name: type(node).__name__ for name, node in found.functions.items()} == {
        "one": "FunctionDef",
        "three": "AsyncFunctionDef",
    }


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import B\nclass A(B): ...",
        "import elsewhere\nclass A(elsewhere.B): ...",
        "class A(make()): ...",
        "class A(metaclass=M): ...",
        "@magic\nclass A: ...",
        "@magic.dataclass_like()\nclass A: ...",
        "@[magic][0]\nclass A: ...",
        "class A:\n    def __getattr__(self, name): ...",
        "class A:\n    def f(self): setattr(self, 'x', 1)",
        "class A:\n    def f(self): self.__dict__.update(x=1)",
        "class A(A): ...",
        "def B(): ...\nclass A(B): ...",
    ],
)
def test_a_class_that_may_have_more_is_open(author: Any, text: str) -> None:
    """What comes from outside, or is made at run time, cannot be seen."""
    assert members(author, text).is_open


@pytest.mark.parametrize("decorator", ["dataclass", "dataclasses.dataclass", "dataclass(frozen=True)"])
def test_a_dataclass_is_not_open(author: Any, decorator: str) -> None:
    """Its fields are its members."""
    found = members(author, f"@{decorator}\nclass A:\n    x: int")
    assert (found.names, found.is_open) == ({"x"}, False)

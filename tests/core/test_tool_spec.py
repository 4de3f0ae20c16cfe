"""The one way from a tool to its spec."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.message_models import ToolSpec

ANY_OBJECT = {"type": "object", "properties": {}}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Plain:
    name = "plain"
    description = "does it"

    async def execute(self, input: dict[str, Any]) -> None: ...


def test_spec_of_a_tool_without_schema_takes_any_object() -> None:
    """A tool that describes no input gets the schema of any object, each time a new one."""
    spec = ToolSpec.from_tool(Plain())
    assert spec == ToolSpec(name="plain", parameters=ANY_OBJECT, description="does it")
    spec.parameters["properties"]["x"] = {}
    assert ToolSpec.from_tool(Plain()).parameters == ANY_OBJECT


@pytest.mark.parametrize("empty", [None, {}])
def test_spec_of_an_empty_schema_takes_any_object(empty: Any) -> None:
    """An empty schema counts as none, from either source."""

    class ByAttribute(Plain):
        input_schema = empty

    class ByMethod(Plain):
        def get_schema(self) -> Any:
            return empty

    assert ToolSpec.from_tool(ByAttribute()).parameters == ANY_OBJECT
    assert ToolSpec.from_tool(ByMethod()).parameters == ANY_OBJECT


def test_spec_reads_either_schema() -> None:
    """The schema comes from an attribute, a property or a method."""

    class ByAttribute(Plain):
        input_schema = SCHEMA

    class ByProperty(Plain):
        @property
        def input_schema(self) -> dict[str, Any]:
            return SCHEMA

    class ByMethod(Plain):
        def get_schema(self) -> dict[str, Any]:
            return SCHEMA

    for tool in (ByAttribute(), ByProperty(), ByMethod()):
        assert ToolSpec.from_tool(tool).parameters == SCHEMA


def test_spec_prefers_the_attribute_that_says_something() -> None:
    """With both, ``input_schema`` wins unless it is empty."""

    class Both(Plain):
        def __init__(self, schema: dict[str, Any]) -> None:
            self.input_schema = schema

        def get_schema(self) -> dict[str, Any]:
            return SCHEMA

    assert ToolSpec.from_tool(Both({"type": "object"})).parameters == {"type": "object"}
    assert ToolSpec.from_tool(Both({})).parameters == SCHEMA


def test_spec_ignores_a_get_schema_that_is_no_method() -> None:
    """An attribute of that name which cannot be called is no schema."""

    class Odd(Plain):
        get_schema = 7

    assert ToolSpec.from_tool(Odd()).parameters == ANY_OBJECT


def test_spec_without_description() -> None:
    """A tool without description has none in its spec."""

    class Silent:
        name = "silent"

    assert ToolSpec.from_tool(Silent()) == ToolSpec(name="silent", parameters=ANY_OBJECT, description=None)


def test_spec_refuses_wrong_types_by_name() -> None:
    """A wrong type is a TypeError that names the tool and what was expected."""

    class Nameless:
        name = None

    class Talks(Plain):
        description = 3

    class Listed(Plain):
        input_schema = ("path",)

    class Texts(Plain):
        def get_schema(self) -> str:
            return "path"

    class Zero(Plain):
        input_schema = 0

    cases: list[tuple[object, str]] = [
        (object(), "Tool object must have a 'name' of type str, got NoneType"),
        (Nameless(), "Tool Nameless must have a 'name' of type str, got NoneType"),
        (Talks(), "Tool 'plain' must have a 'description' of type str, got int"),
        (Listed(), "Tool 'plain' must give its JSON Schema in input_schema as a dict, got tuple"),
        (Texts(), "Tool 'plain' must give its JSON Schema in get_schema() as a dict, got str"),
        (Zero(), "Tool 'plain' must give its JSON Schema in input_schema as a dict, got int"),
    ]
    for tool, message in cases:
        with pytest.raises(TypeError) as caught:
            ToolSpec.from_tool(tool)
        assert str(caught.value) == message


def test_spec_lets_the_tools_own_error_out() -> None:
    """What a tool raises while it describes itself is not hidden."""

    class Broken(Plain):
        def get_schema(self) -> dict[str, Any]:
            raise OSError("schema file is gone")

    with pytest.raises(OSError, match="schema file is gone"):
        ToolSpec.from_tool(Broken())

"""The checks of each kind, passing and failing."""

from __future__ import annotations

from typing import Any

import pytest

EXPECTED = {
    "provider": [
        ("protocol_compliance", "Provider 'model' implements Provider interface"),
        ("provider_name", "Provider 'model': name is 'model'"),
        ("provider_get_info", "Provider 'model': get_info() returns ProviderInfo"),
        ("provider_list_models", "Provider 'model': list_models() is async"),
        ("provider_complete", "Provider 'model': complete(request) is async"),
        ("provider_parse_tool_calls", "Provider 'model': parse_tool_calls() is callable"),
    ],
    "tool": [
        ("protocol_compliance", "Tool 'hammer' implements Tool interface"),
        ("tool_name", "Tool 'hammer': name is 'hammer'"),
        ("tool_description", "Tool 'hammer': description is 'Drives nails.'"),
        ("tool_input_schema", "Tool 'hammer': has no input schema, which is optional"),
        ("tool_execute", "Tool 'hammer': execute(input) is async"),
    ],
    "hook": [
        ("protocol_compliance", "Hooks registered via coordinator.hooks.register()"),
        ("hook_call", "Handler handler for 'tool:pre': (event, data) is async"),
    ],
    "orchestrator": [
        ("protocol_compliance", "Orchestrator implements Orchestrator interface"),
        (
            "orchestrator_execute",
            "Orchestrator: execute(prompt, context, providers, tools, hooks) is async",
        ),
    ],
    "context": [
        ("protocol_compliance", "Context implements ContextManager interface"),
        ("context_add_message", "Context: add_message(message) is async"),
        ("context_get_messages_for_request", "Context: get_messages_for_request() is async"),
        ("context_get_messages", "Context: get_messages() is async"),
        ("context_set_messages", "Context: set_messages(messages) is async"),
        ("context_clear", "Context: clear() is async"),
    ],
}
KINDS = list(EXPECTED)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_checked_of_a_kind(author: Any, kind: str) -> None:
    """The checks beyond the common ones, in order."""
    result = await author.try_out(kind, author.source(kind))
    assert [(check.name, check.message) for check in result.checks[3:]] == EXPECTED[kind]


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        (
            "provider",
            "async def complete(self, request, **kwargs) => complete = None\n    async def answer(self)",
            "Provider 'model' does not implement Provider interface (missing complete)",
        ),
        (
            "tool",
            'description = "Drives nails." => pass',
            "Tool 'hammer' does not implement Tool interface (missing description)",
        ),
        (
            "orchestrator",
            "def execute => def run",
            "Orchestrator does not implement Orchestrator interface (missing execute)",
        ),
        (
            "context",
            "def clear => def forget",
            "Context does not implement ContextManager interface (missing clear)",
        ),
    ],
)
async def test_an_instance_that_lacks_a_member_fails(author: Any, kind: str, change: str, expected: str) -> None:
    """It is told what is missing, and its methods are not looked at."""
    assert await author.complaints(kind, author.source(kind, a=change)) == [("protocol_compliance", "error", expected)]


@pytest.mark.parametrize(
    ("kind", "change", "name", "severity", "message"),
    [
        ("provider", 'name = "model" => name = ""', "provider_name", "error", "name should not be empty"),
        (
            "provider",
            'name = "model" => name = 3',
            "provider_name",
            "error",
            "name should be a non-empty string, got int",
        ),
        (
            "provider",
            'return ProviderInfo(id="model", display_name="Model") => return {}',
            "provider_get_info",
            "error",
            "get_info() should return ProviderInfo, returned dict",
        ),
        (
            "provider",
            "def get_info => async def get_info",
            "provider_get_info",
            "error",
            "get_info() should return ProviderInfo, returned a coroutine; write it without async",
        ),
        (
            "provider",
            'return ProviderInfo(id="model", display_name="Model") => raise OSError("no key")',
            "provider_get_info",
            "warning",
            "get_info() raised OSError: no key",
        ),
        (
            "provider",
            "async def list_models => def list_models",
            "provider_list_models",
            "error",
            "list_models() should be async (async def list_models())",
        ),
        (
            "provider",
            "async def complete => def complete",
            "provider_complete",
            "error",
            "complete() should be async (async def complete(request))",
        ),
        (
            "provider",
            "complete(self, request, **kwargs) => complete(self)",
            "provider_complete",
            "error",
            "complete() should have at least 1 parameter (request), found 0",
        ),
        (
            "tool",
            'name = "hammer" => name = 3',
            "tool_name",
            "error",
            "name should be a non-empty string, got int",
        ),
        ("tool", '"Drives nails." => " "', "tool_description", "warning", "description should not be empty"),
        (
            "tool",
            '"Drives nails." => None',
            "tool_description",
            "error",
            "description should be a non-empty string, got NoneType",
        ),
        (
            "tool",
            'name = "hammer" => name = "hammer"; input_schema = "{}"',
            "tool_input_schema",
            "warning",
            "input_schema should be a dict, got str",
        ),
        (
            "tool",
            'name = "hammer" => name = "hammer"; get_schema = lambda self: 3',
            "tool_input_schema",
            "warning",
            "get_schema() should be a dict, got int",
        ),
        (
            "tool",
            'name = "hammer" => name = "hammer"; get_schema = lambda self: 1 / 0',
            "tool_input_schema",
            "warning",
            "reading its schema raised ZeroDivisionError: division by zero",
        ),
        (
            "tool",
            "async def execute(self, input) => def execute(self, input)",
            "tool_execute",
            "error",
            "execute() should be async (async def execute(input))",
        ),
        (
            "tool",
            "execute(self, input) => execute(self)",
            "tool_execute",
            "error",
            "execute() should have at least 1 parameter (input), found 0",
        ),
        (
            "tool",
            "execute(self, input) => execute(self, input, more)",
            "tool_execute",
            "warning",
            "calling execute(input) fails, since its signature is (input, more)",
        ),
        (
            "orchestrator",
            "async def execute => def execute",
            "orchestrator_execute",
            "error",
            "execute() should be async (async def execute(prompt, context, providers, tools, hooks))",
        ),
        (
            "orchestrator",
            "(self, prompt, context, providers, tools, hooks, **kwargs) => (self, prompt, context, tools)",
            "orchestrator_execute",
            "error",
            "execute() should have at least 5 parameters (prompt, context, providers, tools, hooks), found 3",
        ),
        (
            "orchestrator",
            "(self, prompt, => (self, prompt_text,",
            "orchestrator_execute",
            "warning",
            "calling execute(prompt, context, providers, tools, hooks) fails, since its signature is "
            "(prompt_text, context, providers, tools, hooks, **kwargs)",
        ),
        *(
            (
                "context",
                f"async def {method}(self{rest} => def {method}(self{rest}",
                f"context_{method}",
                "error",
                f"{method}() should be async (async def {method}({shown}))",
            )
            for method, rest, shown in [
                ("add_message", ", message", "message"),
                ("get_messages_for_request", "", ""),
                ("get_messages", ")", ""),
                ("set_messages", ", messages", "messages"),
                ("clear", ")", ""),
            ]
        ),
        *(
            (
                "context",
                f"{method}(self, {argument}) => {method}(self)",
                f"context_{method}",
                "error",
                f"{method}() should have at least 1 parameter ({argument}), found 0",
            )
            for method, argument in [("add_message", "message"), ("set_messages", "messages")]
        ),
    ],
)
async def test_a_member_that_is_wrong_fails_its_own_check(
    author: Any, kind: str, change: str, name: str, severity: str, message: str
) -> None:
    """Every check of every kind can fail, alone, with a message that says what is expected."""
    complaints = await author.complaints(kind, author.source(kind, a=change))
    assert [(found, level) for found, level, _ in complaints] == [(name, severity)]
    assert complaints[0][2].partition(": ")[2] == message


@pytest.mark.parametrize(
    "schema", ['input_schema = {"type": "object"}', 'get_schema = lambda self: {"type": "object"}']
)
async def test_a_schema_may_be_given_in_two_ways(author: Any, schema: str) -> None:
    """As an attribute or by a method."""
    result = await author.try_out("tool", author.source("tool", a=f'name = "hammer" => name = "hammer"; {schema}'))
    source = schema.partition(" = ")[0].replace("get_schema", "get_schema()")
    assert f"Tool 'hammer': {source} is a dict" in [check.message for check in result.checks]
    assert result.passed


async def test_parse_tool_calls_may_disappear_once_it_is_mounted(author: Any) -> None:
    """A member that is there at one look and gone at the next is no method."""
    source = author.source(
        "provider",
        a="def parse_tool_calls(self, response): => @property\n    def parse_tool_calls(self):",
        b="return []\n\nasync def mount => self.looks = getattr(self, 'looks', 0) + 1\n        "
        "return list if self.looks == 1 else None\n\nasync def mount",
    )
    assert await author.complaints("provider", source) == [
        ("provider_parse_tool_calls", "error", "Provider 'model': parse_tool_calls should be a method")
    ]


async def test_methods_from_elsewhere_are_trusted_where_they_tell_no_signature(author: Any) -> None:
    """Recordings of test kits count as async."""
    source = """
        from unittest.mock import AsyncMock

        class Hammer:
            name = description = "x"
            execute = AsyncMock()

        class Opaque:
            __signature__ = "none"
            async def __call__(self, *args): ...

        class Saw(Hammer):
            name = "saw"
            execute = Opaque()

        async def mount(coordinator, config):
            coordinator.mount("tools", Hammer())
            coordinator.mount("tools", Saw())
        """
    assert await author.complaints("tool", source) == []

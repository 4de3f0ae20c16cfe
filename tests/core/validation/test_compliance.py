"""What a module mounts, registers or returns: found wherever it is, and judged by its kind."""

from __future__ import annotations

from typing import Any

import pytest

COMPLIANCE = "protocol_compliance"
MOUNTS_NOTHING = {
    "provider": "No provider was mounted and mount() did not return a Provider instance",
    "tool": "No tool was mounted and mount() did not return a Tool instance",
    "orchestrator": "No orchestrator was mounted and mount() did not return a Orchestrator instance",
    "context": "No context was mounted and mount() did not return a ContextManager instance",
}
KINDS = list(MOUNTS_NOTHING)
NO_HOOKS = (
    "mount() registered no hooks; call coordinator.hooks.register(event, handler) there, unless the config or "
    "on_session_ready decides on it"
)


def hooks(body: str, top: str = "") -> str:
    """A hook module with ``body`` in its ``mount``."""
    return f"{top}\nasync def mount(coordinator, config):\n    {body}\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("returned", ["None", "{}", "'text'"])
async def test_a_module_that_mounts_nothing_fails(author: Any, kind: str, returned: str) -> None:
    """It mounted nothing and returned nothing that fits."""
    source = f"async def mount(coordinator, config): return {returned}"
    assert await author.complaints(kind, source) == [(COMPLIANCE, "error", MOUNTS_NOTHING[kind])]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_module_that_only_returns_a_clean_up_passes_with_a_warning(author: Any, kind: str) -> None:
    """It may mount something under another config; the clean-up is called."""
    source = "calls = []\nasync def mount(coordinator, config): return lambda: calls.append(1)"
    result = await author.try_out(kind, source)
    last = result.checks[-1]
    text = f"mount() returned a cleanup callable (no {kind} mounted yet - may be conditional)"
    assert (last.name, last.passed, last.severity, last.message) == (COMPLIANCE, True, "warning", text)
    assert (result.passed, result.warnings) == (True, [])


@pytest.mark.parametrize("kind", KINDS)
async def test_an_instance_may_be_returned_instead_of_mounted(author: Any, kind: str) -> None:
    """It gets the same checks, and is never called."""
    source = author.source(kind)
    mounted = await author.try_out(kind, source)
    line = source[source.index("await coordinator.mount") :].strip()
    instance = line.partition(", ")[2].removesuffix(")").partition(", name=")[0]
    returned = await author.try_out(kind, source.replace(line, f"return {instance}"))
    assert [check.message for check in returned.checks[1:]] == [check.message for check in mounted.checks[1:]]


async def test_an_instance_that_is_callable_is_no_clean_up(author: Any) -> None:
    """Returning what was mounted does not call it."""
    source = author.source(
        "tool",
        a='name = "hammer" => name = "hammer"\n    def __call__(self): raise OSError("called")\n',
        b='await coordinator.mount("tools", Hammer()) => hammer = Hammer()\n    '
        'coordinator.mount("tools", hammer)\n    return hammer',
    )
    assert await author.complaints("tool", source) == []


async def test_every_instance_is_checked(author: Any) -> None:
    """A module may mount several."""
    source = author.source(
        "tool",
        a='await coordinator.mount("tools", Hammer()) => '
        'await coordinator.mount("tools", Hammer())\n    await coordinator.mount("tools", object(), name="x")',
    )
    result = await author.try_out("tool", source)
    assert [check.message for check in result.checks if check.name == COMPLIANCE] == [
        "Tool 'hammer' implements Tool interface",
        "Tool 'x' does not implement Tool interface (missing name, description, execute)",
    ]


async def test_an_instance_at_a_wrong_point_fails_with_the_right_one(author: Any) -> None:
    """The message says where it is, where it belongs, and that it does not fit where it is."""
    source = author.source("tool", a='"tools" => "providers"')
    assert await author.complaints("tool", source) == [
        (
            COMPLIANCE,
            "error",
            f"{MOUNTS_NOTHING['tool']}; it mounted Hammer at 'providers', and a tool belongs at 'tools'",
        ),
        (
            COMPLIANCE,
            "error",
            "mount() put Hammer at 'providers' as 'hammer', which is no provider "
            "(missing get_info, list_models, complete, parse_tool_calls)",
        ),
    ]


async def test_an_instance_of_another_kind_in_its_place_is_fine(author: Any) -> None:
    """A tool module may bring a context along, or take one away."""
    context = author.source("context").partition("async def mount")[0]
    source = context + author.source(
        "tool",
        a='await coordinator.mount("tools", Hammer()) => await coordinator.mount("tools", Hammer())\n    '
        'await coordinator.mount("context", Memory())\n    '
        'await coordinator.mount("session", None, name="orchestrator")',
    )
    assert await author.complaints("tool", source) == []


async def test_the_seeds_name_of_a_point_is_understood(author: Any) -> None:
    """``mount("session", …, name="orchestrator")`` goes to the orchestrator's place."""
    source = author.source("orchestrator", a='"orchestrator", Loop() => "session", Loop(), name="orchestrator"')
    assert await author.complaints("orchestrator", source) == []


async def test_a_point_that_is_left_empty_holds_nothing(author: Any) -> None:
    """Mounting nothing is mounting nothing."""
    source = author.source("orchestrator", a="Loop()) => Loop())\n    coordinator.unmount('orchestrator')")
    assert [name for name, _, _ in await author.complaints("orchestrator", source)] == [COMPLIANCE]


@pytest.mark.parametrize("returned", ["None", "lambda: None", "functools.partial(print, end='')"])
async def test_a_hook_module_that_registers_nothing_gets_a_warning(author: Any, returned: str) -> None:
    """It is valid, and probably not what its author wants; what it returns is a clean-up."""
    result = await author.try_out("hook", hooks(f"return {returned}", "import functools"))
    assert [(check.name, check.severity, check.message) for check in result.checks if not check.passed] == [
        (COMPLIANCE, "warning", NO_HOOKS)
    ]
    assert result.passed


@pytest.mark.parametrize(
    ("top", "handler", "shown", "message"),
    [
        ("def sync(event, data): ...", "sync", "sync", "it should be async (async def handler(event, data))"),
        (
            "",
            "lambda event, data: None",
            "mount.<locals>.<lambda>",
            "it should be async (async def handler(event, data))",
        ),
        (
            "async def short(event): ...",
            "short",
            "short",
            "it should have at least 2 parameters (event, data), found 1",
        ),
        (
            "class Obj:\n    async def on(self): ...",
            "Obj().on",
            "Obj.on",
            "it should have at least 2 parameters (event, data), found 0",
        ),
        (
            "class Obj:\n    def __call__(self, event, data): ...",
            "Obj()",
            "Obj",
            "it should be async (async def handler(event, data))",
        ),
    ],
)
async def test_a_handler_that_is_sync_or_lacks_a_parameter_fails(
    author: Any, top: str, handler: str, shown: str, message: str
) -> None:
    """It is found through the registry, and named with its event."""
    source = hooks(f"coordinator.hooks.register('tool:pre', {handler})", top)
    assert await author.complaints("hook", source) == [
        ("hook_call", "error", f"Handler {shown} for 'tool:pre': {message}")
    ]


async def test_a_handler_that_wants_more_than_it_gets_is_a_warning(author: Any) -> None:
    """The registry calls it with two arguments."""
    source = hooks("coordinator.hooks.register('e', greedy)", "async def greedy(event, data, more): ...")
    assert await author.complaints("hook", source) == [
        (
            "hook_call",
            "warning",
            "Handler greedy for 'e': calling it as handler(event, data) fails, since its signature is "
            "(event, data, more)",
        )
    ]


async def test_each_handler_is_checked_once(author: Any) -> None:
    """However many events it is registered for, as a function, a method or an object with an equality of its own."""
    top = (
        "class Obj:\n"
        "    __hash__ = None\n"
        "    def __eq__(self, other): raise OSError('not comparable')\n"
        "    async def __call__(self, event, data): ...\n"
        "    async def method(self, event, data): ...\n"
        "async def plain(event, data): ...\n"
    )
    body = (
        "one, two = Obj(), Obj()\n"
        "    for event in ('a', 'b', 'c'):\n"
        "        for handler in (plain, one, two, plain):\n"
        "            coordinator.hooks.register(event, handler)"
    )
    result = await author.try_out("hook", hooks(body, top))
    assert [check.message for check in result.checks if check.name == "hook_call"] == [
        "Handler plain for 'a': (event, data) is async",
        "Handler Obj for 'a': (event, data) is async",
        "Handler Obj for 'a': (event, data) is async",
    ]
    methods = "class Obj:\n    async def method(self, event, data): ...\n"
    register = "obj = Obj()\n    [coordinator.hooks.register(e, obj.method) for e in 'abc']"
    assert len((await author.try_out("hook", hooks(register, methods))).checks) == 5


async def test_a_handler_that_is_returned_instead_of_registered_is_told(author: Any) -> None:
    """It is looked at all the same, and not called as a clean-up."""
    top = "class Watch:\n    def __call__(self, event, data): ..."
    assert await author.complaints("hook", hooks("return Watch()", top)) == [
        (
            COMPLIANCE,
            "warning",
            "mount() registered no hooks; it returned a handler, which nobody will call. "
            "Pass it to coordinator.hooks.register(event, handler)",
        ),
        ("hook_call", "error", "Handler Watch: it should be async (async def handler(event, data))"),
    ]


async def test_a_returned_object_that_tells_no_signature_is_a_clean_up(author: Any) -> None:
    """It is called, like every clean-up."""
    top = "calls = []\nclass Opaque:\n    __signature__ = 'none'\n    def __call__(self): calls.append(1)"
    assert [name for name, _, _ in await author.complaints("hook", hooks("return Opaque()", top))] == [COMPLIANCE]

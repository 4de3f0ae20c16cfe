"""What ``mount()`` visibly installs is judged from the source; the rest is told to be open."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_core.validation import validate_static

OPEN = "; only mounting it could tell"


def told(author: Any, source: str, kind: str | None = None, **files: str) -> list[tuple[str, bool, str]]:
    """Name, outcome and message of the checks of what is installed."""
    result = validate_static(author.package(source, **files), kind)
    common = {"package_found", "source_parses", "mount_exists", "mount_signature", "module_type"}
    return [(check.name, check.passed, check.message) for check in result.checks if check.name not in common]


def mounting(body: str, top: str = "") -> str:
    """A module with ``body`` in its ``mount``."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{top}\nasync def mount(coordinator, config):\n{lines}"


TOOL = "class Hammer:\n    name = description = 'x'\n    async def execute(self, input): ...\n"
FINE = [
    ("protocol_compliance", True, "Tool class Hammer implements Tool interface"),
    ("tool_execute", True, "Tool class Hammer: execute(input) is async"),
]


@pytest.mark.parametrize(
    "body",
    [
        "await coordinator.mount('tools', Hammer())",
        "coordinator.mount('tools', Hammer(config), name='hammer')",
        "hammer = Hammer()\nawait coordinator.mount('tools', hammer, hammer.name)",
        "hammer: Hammer = Hammer()\nawait coordinator.mount('tools', hammer)",
        "if config:\n    hammer = Hammer()\n    await coordinator.mount('tools', hammer)",
    ],
)
def test_the_class_of_what_is_mounted_is_found(author: Any, body: str) -> None:
    """Made on the spot, or kept in a variable."""
    assert told(author, mounting(body, TOOL), "tool") == FINE


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("await coordinator.mount('tools', make())", "make()"),
        ("await coordinator.mount('tools', Elsewhere())", "Elsewhere()"),
        ("await coordinator.mount('tools', lib.Hammer())", "lib.Hammer()"),
        ("await coordinator.mount('tools', hammer)", "hammer"),
        ("for hammer in [Hammer()]:\n    await coordinator.mount('tools', hammer)", "hammer"),
        ("hammer = Hammer()\nhammer = wrap(hammer)\ncoordinator.mount('tools', hammer)", "hammer"),
        ("coordinator.mount('tools', [x for x in y])", "[x for x in y]"),
    ],
)
def test_what_cannot_be_told_is_open(author: Any, body: str, shown: str) -> None:
    """It is not held against the module."""
    top = f"{TOOL}from elsewhere import Elsewhere\nimport lib\ndef make(): return Hammer()\n"
    assert told(author, mounting(body, top), "tool") == [
        ("protocol_compliance", True, f"What is mounted at 'tools' ({shown}) cannot be told{OPEN}")
    ]


@pytest.mark.parametrize(
    "body", ["pass", "await coordinator.mount(point, Hammer())", "coordinator.mount('elsewhere', 1)"]
)
def test_a_kind_that_is_not_seen_is_open(author: Any, body: str) -> None:
    """Something else may mount it."""
    assert told(author, mounting(body, TOOL), "tool") == [
        ("protocol_compliance", True, f"It cannot be seen in mount() that it installs a tool{OPEN}")
    ]


def test_missing_members_are_told_if_the_class_is_closed(author: Any) -> None:
    """Methods that are there are checked nevertheless."""
    top = "class Hammer:\n    def execute(self): ...\n"
    assert told(author, mounting("coordinator.mount('tools', Hammer())", top), "tool") == [
        (
            "protocol_compliance",
            False,
            "Tool class Hammer does not implement Tool interface (missing name, description)",
        ),
        ("tool_execute", False, "Tool class Hammer: execute() should be async (async def execute(input))"),
    ]


def test_missing_members_of_an_open_class_are_left_open(author: Any) -> None:
    """It may inherit them."""
    top = "from elsewhere import Base\nclass Hammer(Base):\n    name = 'x'\n"
    assert told(author, mounting("coordinator.mount('tools', Hammer())", top), "tool") == [
        (
            "protocol_compliance",
            True,
            f"Tool class Hammer may inherit or make at run time what cannot be seen: description, execute{OPEN}",
        )
    ]


def test_decorated_methods_are_there_and_not_looked_at(author: Any) -> None:
    """Whatever the decorator makes of them."""
    top = "class Hammer:\n    name = description = 'x'\n    @wrapped\n    def execute(self): ...\n"
    assert told(author, mounting("coordinator.mount('tools', Hammer())", top), "tool") == FINE[:1]


@pytest.mark.parametrize(
    "call",
    [
        "coordinator.mount('orchestrator', Loop())",
        "coordinator.mount('session', Loop(), name='orchestrator')",
        "coordinator.mount('session', Loop(), 'orchestrator')",
    ],
)
def test_every_name_of_a_point_is_understood(author: Any, call: str) -> None:
    """As the coordinator understands it."""
    top = "class Loop:\n    async def execute(self, prompt, context, providers, tools): ...\n"
    assert told(author, mounting(call, top), "orchestrator") == [
        ("protocol_compliance", True, "Orchestrator class Loop implements Orchestrator interface"),
        (
            "orchestrator_execute",
            False,
            "Orchestrator class Loop: execute() should have at least 5 parameters "
            "(prompt, context, providers, tools, hooks), found 4",
        ),
    ]


@pytest.mark.parametrize(
    ("top", "body", "shown", "problem"),
    [
        ("async def watch(event, data): ...", "coordinator.hooks.register('e', watch)", "watch", None),
        ("async def watch(event, data): ...", "hooks = coordinator.hooks\nhooks.on('e', handler=watch)", "watch", None),
        ("", "async def watch(event, data): ...\ncoordinator.hooks.register('e', watch)", "watch", None),
        ("def watch(event, data): ...", "coordinator.hooks.register('e', watch)", "watch", "async"),
        ("async def watch(event): ...", "coordinator.hooks.register('e', watch)", "watch", "2 parameters"),
        ("", "coordinator.hooks.register('e', lambda event, data: 1)", "lambda event, data: 1", "async"),
        (
            "class Watch:\n    async def on(self, event, data): ...",
            "watch = Watch()\ncoordinator.hooks.register('e', watch.on, priority=5)",
            "watch.on",
            None,
        ),
        (
            "class Watch:\n    def on(self, event, data): ...",
            "watch = Watch()\ncoordinator.hooks.register('e', watch.on)",
            "watch.on",
            "async",
        ),
    ],
)
def test_handlers_that_can_be_seen_are_checked(
    author: Any, top: str, body: str, shown: str, problem: str | None
) -> None:
    """Functions, inner functions, lambdas and methods of what is made in ``mount``."""
    [(name, passed, message)] = told(author, mounting(body, top), "hook")
    assert (name, passed) == ("hook_call", problem is None)
    assert message.startswith(f"Handler {shown}: ")
    assert problem is None or problem in message


@pytest.mark.parametrize(
    "handler",
    ["elsewhere", "gone", "make()", "decorated", "thing.method", "other.gone", "other.x.y", "Watch", "made.gone"],
)
def test_handlers_that_cannot_be_seen_are_open(author: Any, handler: str) -> None:
    """They are not held against the module."""
    top = "from lib import elsewhere, Thing\n@wrap\ndef decorated(): ...\nclass Watch: ...\n"
    body = f"thing = Thing()\nmade = Watch()\ncoordinator.hooks.register('e', {handler})"
    assert told(author, mounting(body, top), "hook") == [
        ("protocol_compliance", True, f"What is registered as a hook ({handler}) cannot be told{OPEN}")
    ]


@pytest.mark.parametrize(
    "call", ["coordinator.hooks.register('e')", "registry.register('e', f)", "coordinator.hooks.emit('e', f)"]
)
def test_other_calls_register_nothing(author: Any, call: str) -> None:
    """Only what is visibly a registration counts."""
    assert [message for _, _, message in told(author, mounting(call), "hook")] == [
        f"It cannot be seen in mount() that it installs a hook{OPEN}"
    ]


def test_an_expression_is_shown_in_short(author: Any) -> None:
    """And one that cannot be shown at all does no harm."""
    long = "+".join(["x"] * 300)
    [(_, _, message)] = told(author, mounting(f"coordinator.mount('tools', {long})"), "tool")
    assert len(message) < 200

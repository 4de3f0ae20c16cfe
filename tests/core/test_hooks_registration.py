"""Registering hook handlers: order, names, removal, and what a registry tells about itself."""

from __future__ import annotations

import gc
import logging
import re
import weakref
from functools import partial
from typing import Any

import pytest

from amplifier_core import events, hooks
from amplifier_core._handlers import Registration
from amplifier_core.hooks import HookRegistry, HookResult

UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


async def ignore(event: str, data: dict[str, Any]) -> None:
    """A handler without effect."""


def recorder(calls: list[str], name: str) -> Any:
    """A handler that writes its name down."""

    async def handler(event: str, data: dict[str, Any]) -> HookResult:
        calls.append(name)
        return HookResult()

    return handler


def test_the_module_exports_the_registry_and_what_handlers_answer_with() -> None:
    """``hooks.__all__`` names three classes, the two models being those of ``models``."""
    from amplifier_core import models

    assert set(hooks.__all__) == {"HookRegistry", "HookResult", "ContextInjection"}
    assert hooks.HookResult is models.HookResult
    assert hooks.ContextInjection is models.ContextInjection


def test_the_class_names_eight_events() -> None:
    """Upper-case attributes of the class are exactly the eight event names that handlers use most."""
    named = {key: value for key, value in vars(HookRegistry).items() if key.isupper()}
    assert named == {
        "SESSION_START": events.SESSION_START,
        "SESSION_END": events.SESSION_END,
        "PROMPT_SUBMIT": events.PROMPT_SUBMIT,
        "TOOL_PRE": events.TOOL_PRE,
        "TOOL_POST": events.TOOL_POST,
        "CONTEXT_PRE_COMPACT": events.CONTEXT_PRE_COMPACT,
        "ORCHESTRATOR_COMPLETE": events.ORCHESTRATOR_COMPLETE,
        "USER_NOTIFICATION": events.USER_NOTIFICATION,
    }


async def test_lower_priorities_run_first_and_equal_ones_in_order_of_registration() -> None:
    """Order is by priority, then by registration."""
    registry, calls = HookRegistry(), list[str]()
    for name, priority in [("b1", 10), ("a", -5), ("b2", 10), ("zero", 0), ("b3", 10)]:
        registry.register("e", recorder(calls, name), priority, name)
    await registry.emit("e", {})
    assert calls == ["a", "zero", "b1", "b2", "b3"]
    assert registry.list_handlers("e") == {"e": ["a", "zero", "b1", "b2", "b3"]}


async def test_registration_works_by_keyword_and_under_the_name_on() -> None:
    """The keywords of the contract are accepted; ``on`` is the same method."""
    registry, calls = HookRegistry(), list[str]()
    undo = registry.register(event="tool:post", handler=recorder(calls, "one"), priority=10, name="one")
    registry.on("tool:post", recorder(calls, "two"), 5, "two")
    await registry.emit("tool:post", {})
    undo()
    await registry.emit("tool:post", {})
    assert calls == ["two", "one", "two"]
    assert HookRegistry.on is HookRegistry.register


async def test_a_star_is_an_event_like_any_other() -> None:
    """There are no wildcards: a handler of ``*`` hears only ``*``."""
    registry, calls = HookRegistry(), list[str]()
    registry.register("*", recorder(calls, "star"))
    await registry.emit("tool:pre", {})
    assert calls == []
    await registry.emit("*", {})
    assert calls == ["star"]


@pytest.mark.parametrize("priority", [1.0, "1", None])
def test_a_priority_that_is_no_int_is_a_type_error(priority: Any) -> None:
    """The error names event and type, and nothing is registered."""
    registry = HookRegistry()
    message = f"Priority of a handler for 'tool:pre' must be an int, got {type(priority).__name__}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        registry.register("tool:pre", ignore, priority)
    assert registry.list_handlers() == {}


def test_an_unknown_failure_policy_is_a_value_error() -> None:
    """There are two policies only."""
    registry = HookRegistry()
    message = "on_error of a handler for 'e' must be 'continue' or 'deny', got 'ask'"
    with pytest.raises(ValueError, match=f"^{message}$"):
        registry.register("e", ignore, on_error="ask")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", [1]])
def test_a_time_limit_that_is_no_positive_number_is_a_value_error(timeout: Any) -> None:
    """The error says what was expected and what came."""
    message = f"timeout of a handler for 'e' must be a positive number of seconds or None, got {timeout!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        HookRegistry().register("e", ignore, timeout=timeout)


def test_a_time_limit_on_a_sync_handler_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """It cannot interrupt a handler that never awaits, and registration says so."""

    def block(event: str, data: dict[str, Any]) -> None: ...

    HookRegistry().register("tool:pre", block, timeout=2.5)
    assert caplog.record_tuples == [
        (
            "amplifier_core.hooks",
            logging.WARNING,
            f"Handler {block!r} for 'tool:pre' is not async: its time limit of 2.5 s cannot interrupt it",
        )
    ]


def test_a_time_limit_on_an_async_handler_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """Functions, methods, callable objects and partials count as async when what they call is."""

    class Guard:
        async def __call__(self, event: str, data: dict[str, Any]) -> None: ...

        async def method(self, event: str, data: dict[str, Any]) -> None: ...

    async def with_extra(extra: int, event: str, data: dict[str, Any]) -> None: ...

    registry = HookRegistry()
    for handler in (ignore, Guard(), Guard().method, partial(with_extra, 1)):
        registry.register("e", handler, timeout=1)
    assert caplog.records == []


async def test_the_returned_callable_removes_its_own_registration_and_may_be_called_twice() -> None:
    """The same handler registered twice is two registrations."""
    registry, calls = HookRegistry(), list[str]()
    handler = recorder(calls, "same")
    first = registry.register("e", handler, name="first")
    second = registry.register("e", handler, name="second")
    assert first() is None
    first()
    assert registry.list_handlers("e") == {"e": ["second"]}
    await registry.emit("e", {})
    assert calls == ["same"]
    second()
    assert registry.list_handlers() == {"e": []}


def test_the_returned_callable_shows_the_name() -> None:
    """``repr`` tells what calling it does."""
    assert repr(HookRegistry().register("e", ignore, name="lint")) == "<unregister 'lint'>"


def test_a_handler_without_a_name_gets_one_of_event_and_uuid() -> None:
    """Made-up names are ``_auto_<event>_<uuid4>`` and differ."""
    registry = HookRegistry()
    registry.register("tool:pre", ignore)
    registry.register("tool:pre", ignore)
    one, two = registry.list_handlers("tool:pre")["tool:pre"]
    assert one != two
    assert re.fullmatch(f"_auto_tool:pre_{UUID4}", one)
    assert re.fullmatch(f"_auto_tool:pre_{UUID4}", two)


def test_names_are_made_up_only_when_somebody_asks() -> None:
    """Ids come from ``new_id``, on first use, and stay."""
    ids = iter(["one", "two"])
    registry = HookRegistry(new_id=lambda: next(ids))
    early, late = registry.register("e", ignore), registry.register("e", ignore)
    assert repr(late) == "<unregister '_auto_e_one'>"
    assert repr(late) == "<unregister '_auto_e_one'>"
    assert registry.list_handlers("e") == {"e": ["_auto_e_two", "_auto_e_one"]}
    assert repr(early) == "<unregister '_auto_e_two'>"


def test_a_made_up_name_can_be_unregistered() -> None:
    """What ``list_handlers`` shows can be handed to ``unregister``."""
    registry = HookRegistry()
    registry.register("e", ignore)
    (name,) = registry.list_handlers("e")["e"]
    registry.unregister(name)
    assert registry.list_handlers("e") == {"e": []}


def test_unregistering_an_unknown_name_is_fine() -> None:
    """Nothing happens."""
    registry = HookRegistry()
    registry.register("e", ignore, name="a")
    assert registry.unregister("b") is None
    assert registry.list_handlers() == {"e": ["a"]}


def test_unregister_takes_the_latest_of_equal_names_one_per_call() -> None:
    """Equal names form a stack across all events."""
    registry = HookRegistry()
    for event in ("a", "b", "a"):
        registry.register(event, ignore, name="twin")
    registry.unregister("twin")
    assert registry.list_handlers() == {"a": ["twin"], "b": ["twin"]}
    registry.unregister("twin")
    assert registry.list_handlers() == {"a": ["twin"], "b": []}
    registry.unregister("twin")
    registry.unregister("twin")
    assert registry.list_handlers() == {"a": [], "b": []}


def test_registrations_removed_by_their_callables_are_skipped_by_name() -> None:
    """After the two middle ones of four are gone, ``unregister`` takes the top one and then the bottom one."""
    registry = HookRegistry()
    undo = [registry.register(event, ignore, name="twin") for event in ("a", "b", "c", "d")]
    undo[2]()
    undo[1]()
    registry.unregister("twin")
    assert registry.list_handlers() == {"a": ["twin"], "b": [], "c": [], "d": []}
    registry.unregister("twin")
    assert registry.list_handlers() == {"a": [], "b": [], "c": [], "d": []}


def test_a_name_can_be_used_again_after_its_removal() -> None:
    """The stack of a name begins anew."""
    registry = HookRegistry()
    registry.register("a", ignore, name="x")()
    registry.register("b", ignore, name="x")
    registry.unregister("x")
    assert registry.list_handlers() == {"a": [], "b": []}


def test_handlers_replaced_over_and_over_under_one_name_do_not_pile_up() -> None:
    """Registering the new before removing the old keeps no removed handler alive."""

    class Handler:
        def __call__(self, event: str, data: dict[str, Any]) -> None: ...

    registry = HookRegistry()
    alive: weakref.WeakSet[Handler] = weakref.WeakSet()
    current = registry.register("e", ignore, name="hot")

    def replaced(before: Registration) -> Registration:
        handler = Handler()
        alive.add(handler)
        after = registry.register("e", handler, name="hot")
        before()
        return after

    for _ in range(50):
        current = replaced(current)
    gc.collect()
    assert len(alive) <= 2


def test_asking_a_removed_handler_for_its_name_does_not_keep_it_alive() -> None:
    """A name that is made up after removal is remembered by nobody but its registration."""

    class Handler:
        def __call__(self, event: str, data: dict[str, Any]) -> None: ...

    registry = HookRegistry(new_id=lambda: "id")
    handler = Handler()
    undo = registry.register("e", handler)
    undo()
    assert repr(undo) == "<unregister '_auto_e_id'>"
    gone = weakref.ref(handler)
    del undo, handler
    gc.collect()
    assert gone() is None


def test_list_handlers_tells_every_event_that_ever_had_a_handler() -> None:
    """A fresh registry lists nothing, an unknown event an empty list, an emptied event stays."""
    registry = HookRegistry()
    assert registry.list_handlers() == {}
    assert registry.list_handlers("nope") == {"nope": []}
    assert registry.list_handlers() == {}
    undo = registry.register("a", ignore, name="x")
    registry.register("b", ignore, name="y")
    undo()
    assert registry.list_handlers() == {"a": [], "b": ["y"]}
    assert registry.list_handlers("b") == {"b": ["y"]}


def test_has_listeners_tells_whether_anybody_would_notice() -> None:
    """Handlers count while they are registered, taps for every event."""

    async def tap(event: str, data: dict[str, Any]) -> None: ...

    registry = HookRegistry()
    assert not registry.has_listeners("e")
    undo = registry.register("e", ignore)
    assert registry.has_listeners("e")
    assert not registry.has_listeners("f")
    undo()
    assert not registry.has_listeners("e")
    untap = registry.tap(tap)
    assert registry.has_listeners("f")
    untap()
    assert not registry.has_listeners("f")


def test_registrations_since_a_mark_are_those_still_in_place() -> None:
    """What was registered before the mark, or is removed again, is left out."""
    registry = HookRegistry()
    registry.register("a", ignore, name="before")
    mark = registry.registered_so_far
    assert mark == 1
    kept = [registry.register("a", ignore, name="one"), registry.register("b", ignore, name="two")]
    registry.register("a", ignore, name="gone")()
    assert registry.registered_so_far == 4
    assert registry.registered_since(mark) == kept
    assert registry.registered_since(registry.registered_so_far) == []

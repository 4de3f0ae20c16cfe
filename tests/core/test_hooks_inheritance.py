"""Guards of a parent registry guard its children: a child may tighten the rules, never loosen them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from amplifier_core.hooks import HookRegistry, HookResult


def denies(reason: str) -> Any:
    """A handler that denies."""
    return lambda event, data: HookResult(action="deny", reason=reason)


async def reason(registry: HookRegistry, event: str = "e") -> str | None:
    """Why ``registry`` denies an event, or ``None``."""
    return (await registry.emit(event, {})).reason


async def test_a_child_inherits_guards_and_nothing_else() -> None:
    """Handlers whose failure does not matter stay with their registry."""
    parent, child = HookRegistry(), HookRegistry()
    parent.register("e", denies("plain"), name="plain")
    parent.register("f", denies("guard"), name="guard", on_error="deny")
    child.inherit_guards_from(parent)
    assert child.list_handlers() == {"f": ["guard"]}
    assert await reason(child, "e") is None
    assert await reason(child, "f") == "guard"
    assert child.has_listeners("f")


async def test_guards_registered_later_in_the_parent_reach_the_child() -> None:
    """An emit of the child in between does not matter, nor do handlers of its own."""
    parent, child = HookRegistry(), HookRegistry()
    child.register("e", lambda event, data: None, name="own")
    child.inherit_guards_from(parent)
    assert await reason(child) is None
    parent.register("e", denies("late"), name="late", on_error="deny")
    parent.register("e", denies("plain"), name="plain")
    assert await reason(child) == "late"
    assert child.list_handlers() == {"e": ["late", "own"]}


async def test_guards_reach_grandchildren() -> None:
    """Those the child has inherited, its own, and those that come later anywhere above."""
    parent, child, grandchild = HookRegistry(), HookRegistry(), HookRegistry()
    parent.register("early", denies("parent"), on_error="deny")
    child.inherit_guards_from(parent)
    child.register("own", denies("child"), on_error="deny")
    grandchild.inherit_guards_from(child)
    parent.register("late", denies("parent later"), on_error="deny")
    child.register("late own", denies("child later"), on_error="deny")
    found = {event: await reason(grandchild, event) for event in ("early", "own", "late", "late own")}
    assert found == {"early": "parent", "own": "child", "late": "parent later", "late own": "child later"}
    assert await reason(parent, "own") is None


async def test_a_child_cannot_remove_an_inherited_guard() -> None:
    """Neither by its name nor with the parent's registration."""
    parent, child = HookRegistry(), HookRegistry()
    registration = parent.register("e", denies("no"), name="guard", on_error="deny")
    child.inherit_guards_from(parent)
    child.unregister("guard")
    child.remove(registration)
    assert await reason(child) == "no"
    assert await reason(parent) == "no"


async def test_removal_in_the_parent_does_not_loosen_the_child() -> None:
    """The parent's clean-up takes the guard from the parent only."""
    parent, child, grandchild = HookRegistry(), HookRegistry(), HookRegistry()
    child.inherit_guards_from(parent)
    grandchild.inherit_guards_from(child)
    undo = parent.register("e", denies("one"), name="one", on_error="deny")
    undo()
    parent.register("f", denies("two"), name="two", on_error="deny")
    parent.unregister("two")
    assert parent.list_handlers() == {"e": [], "f": []}
    assert [await reason(each, "e") for each in (parent, child, grandchild)] == [None, "one", "one"]
    assert [await reason(each, "f") for each in (parent, child, grandchild)] == [None, "two", "two"]


async def test_inherited_guards_keep_their_priority_and_come_before_equal_ones() -> None:
    """Both registries' handlers run in one order; a child's handler of an equal name is its own."""
    parent, child = HookRegistry(), HookRegistry()
    child.register("e", denies("child"), 5, "same")
    parent.register("e", denies("parent"), 5, "same", on_error="deny")
    child.inherit_guards_from(parent)
    child.register("e", lambda event, data: None, 1, "first")
    assert child.list_handlers("e") == {"e": ["first", "same", "same"]}
    assert await reason(child) == "parent"
    child.unregister("same")
    assert child.list_handlers("e") == {"e": ["first", "same"]}
    assert await reason(child) == "parent"


async def test_an_inherited_guard_judges_what_the_child_s_handlers_made_of_the_data() -> None:
    """It fails closed in the child, and sees the final data of the child's event."""
    parent, child = HookRegistry(), HookRegistry()

    def guard(event: str, data: dict[str, Any]) -> HookResult:
        if data["path"] == "/etc":
            raise PermissionError("outside")
        return HookResult()

    parent.register("e", guard, name="paths", on_error="deny")
    child.inherit_guards_from(parent)
    child.register("e", lambda event, data: HookResult(action="modify", data={"path": "/etc"}))
    result = await child.emit("e", {"path": "/tmp"})
    assert result == HookResult(action="deny", reason="Guard 'paths' failed on 'e': PermissionError: outside")


async def test_inheriting_twice_asks_a_guard_once() -> None:
    """A guard is the same by whichever way it comes."""
    parent, child, calls = HookRegistry(), HookRegistry(), list[str]()
    child.inherit_guards_from(parent)
    parent.register("e", lambda event, data: calls.append("asked"), on_error="deny")
    child.inherit_guards_from(parent)
    await child.emit("e", {})
    assert calls == ["asked"]


def test_inherited_guards_are_nobody_s_own_registrations() -> None:
    """A child's clean-up finds its own only."""
    parent, child = HookRegistry(), HookRegistry()
    parent.register("e", denies("no"), on_error="deny")
    child.inherit_guards_from(parent)
    assert (child.registered_so_far, child.registered_since(0)) == (0, [])


def test_a_parent_does_not_keep_its_children_alive() -> None:
    """A child that nobody uses any more goes, and later guards do not miss it."""
    parent, child = HookRegistry(), HookRegistry()
    child.inherit_guards_from(parent)
    gone = weakref.ref(child)
    del child
    gc.collect()
    assert gone() is None
    parent.register("e", denies("no"), on_error="deny")


async def test_registries_that_inherit_from_each_other_share_their_guards() -> None:
    """A circle of heirs is no endless loop: each guard arrives once."""
    one, two = HookRegistry(), HookRegistry()
    one.inherit_guards_from(two)
    two.inherit_guards_from(one)
    one.register("tool:pre", lambda event, data: None, name="guard", on_error="deny")
    assert two.list_handlers("tool:pre") == {"tool:pre": ["guard"]}
    assert one.list_handlers("tool:pre")["tool:pre"].count("guard") >= 1

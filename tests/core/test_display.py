"""The display protocol between kernel and application."""

from __future__ import annotations

import inspect

from amplifier_core.display import DisplaySystem


def test_show_message_is_sync_with_a_default_source() -> None:
    """A message has a level and a source, which is a hook unless said otherwise."""
    parameters = inspect.signature(DisplaySystem.show_message).parameters
    assert not inspect.iscoroutinefunction(DisplaySystem.show_message)
    assert list(parameters) == ["self", "message", "level", "source"]
    assert parameters["source"].default == "hook"


def test_any_object_of_that_shape_is_a_display() -> None:
    """A class needs no base to serve as display."""
    shown: list[tuple[str, str, str]] = []

    class Screen:
        def show_message(self, message: str, level: str, source: str = "hook") -> None:
            shown.append((message, level, source))

    display: DisplaySystem = Screen()
    display.show_message("hi", "info")
    display.show_message("no", "error", "policy")
    assert shown == [("hi", "info", "hook"), ("no", "error", "policy")]

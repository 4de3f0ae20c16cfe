"""Behavioral tests, inherited from amplifier-core."""

from amplifier_core.validation.behavioral import ToolBehaviorTests


class TestDiceToolBehavior(ToolBehaviorTests):
    """Runs all standard tool behavioral tests."""

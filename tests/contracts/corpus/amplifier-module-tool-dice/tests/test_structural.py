"""Structural tests, inherited from amplifier-core."""

from amplifier_core.validation.structural import ToolStructuralTests


class TestDiceToolStructural(ToolStructuralTests):
    """Runs all standard tool structural tests."""

"""The structure of a tool."""

from __future__ import annotations

from amplifier_core.validation.structural._suite import StructuralTests
from amplifier_core.validation.tool import ToolValidator


class ToolStructuralTests(StructuralTests):
    """What every tool is made of; to be inherited by its author's tests."""

    validator = ToolValidator

"""The structure of a context manager."""

from __future__ import annotations

from amplifier_core.validation.context import ContextValidator
from amplifier_core.validation.structural._suite import StructuralTests


class ContextStructuralTests(StructuralTests):
    """What every context manager is made of; to be inherited by its author's tests."""

    validator = ContextValidator

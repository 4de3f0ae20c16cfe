"""The structure of a hook module."""

from __future__ import annotations

from amplifier_core.validation.hook import HookValidator
from amplifier_core.validation.structural._suite import StructuralTests


class HookStructuralTests(StructuralTests):
    """What every hook module is made of; to be inherited by its author's tests."""

    validator = HookValidator

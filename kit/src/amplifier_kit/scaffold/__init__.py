"""Scaffolds: begins the repository of a new module, complete with tests that pass.

There is one template folder per kind under ``templates``, and one for what all kinds have.
"""

from amplifier_kit.scaffold._names import KINDS, ScaffoldError
from amplifier_kit.scaffold._repository import create

__all__ = ["KINDS", "ScaffoldError", "create"]

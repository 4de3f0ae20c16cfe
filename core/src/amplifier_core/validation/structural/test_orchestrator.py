"""The structure of a orchestrator."""

from __future__ import annotations

from amplifier_core.validation.orchestrator import OrchestratorValidator
from amplifier_core.validation.structural._suite import StructuralTests


class OrchestratorStructuralTests(StructuralTests):
    """What every orchestrator is made of; to be inherited by its author's tests."""

    validator = OrchestratorValidator

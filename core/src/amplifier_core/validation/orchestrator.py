"""What makes an orchestrator module valid."""

from __future__ import annotations

from amplifier_core.validation._checks import AsyncMethod, Kind
from amplifier_core.validation._validator import ModuleValidator

_ARGUMENTS = ("prompt", "context", "providers", "tools", "hooks")

ORCHESTRATOR = Kind(
    "orchestrator",
    "Orchestrator",
    "Orchestrator",
    (AsyncMethod("orchestrator_execute", "execute", _ARGUMENTS, by_name=True),),
)


class OrchestratorValidator(ModuleValidator):
    """Validates orchestrator modules."""

    kind = ORCHESTRATOR

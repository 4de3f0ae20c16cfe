"""Validation: of modules, by mounting them on a throw-away coordinator or by their source alone, and of mount plans.

Names are loaded when they are first used: the loader needs a few checks only, and sessions must start quickly.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers know the name; importing it from typing would cost more than all the rest of this file.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from amplifier_core.validation.base import ValidationCheck, ValidationResult
    from amplifier_core.validation.context import ContextValidator
    from amplifier_core.validation.hook import HookValidator
    from amplifier_core.validation.kinds import VALIDATORS
    from amplifier_core.validation.mount_plan import MountPlanValidationResult, MountPlanValidator
    from amplifier_core.validation.orchestrator import OrchestratorValidator
    from amplifier_core.validation.provider import ProviderValidator
    from amplifier_core.validation.static import detect_kind, validate_static
    from amplifier_core.validation.tool import ToolValidator

__all__ = [
    "VALIDATORS",
    "ContextValidator",
    "HookValidator",
    "MountPlanValidationResult",
    "MountPlanValidator",
    "OrchestratorValidator",
    "ProviderValidator",
    "ToolValidator",
    "ValidationCheck",
    "ValidationResult",
    "detect_kind",
    "validate_static",
]

_HOMES = {
    "VALIDATORS": "kinds",
    "ContextValidator": "context",
    "HookValidator": "hook",
    "MountPlanValidationResult": "mount_plan",
    "MountPlanValidator": "mount_plan",
    "OrchestratorValidator": "orchestrator",
    "ProviderValidator": "provider",
    "ToolValidator": "tool",
    "ValidationCheck": "base",
    "ValidationResult": "base",
    "detect_kind": "static",
    "validate_static": "static",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

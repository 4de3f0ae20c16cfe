"""Validation of modules and mount plans, without mounting anything."""

from amplifier_core.validation.base import ValidationCheck, ValidationResult
from amplifier_core.validation.mount_plan import MountPlanValidationResult, MountPlanValidator

__all__ = [
    "MountPlanValidationResult",
    "MountPlanValidator",
    "ValidationCheck",
    "ValidationResult",
]

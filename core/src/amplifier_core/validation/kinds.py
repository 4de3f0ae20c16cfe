"""The five kinds of modules that can be validated, with their validators."""

from __future__ import annotations

from amplifier_core.validation._validator import ModuleValidator
from amplifier_core.validation.context import ContextValidator
from amplifier_core.validation.hook import HookValidator
from amplifier_core.validation.orchestrator import OrchestratorValidator
from amplifier_core.validation.provider import ProviderValidator
from amplifier_core.validation.tool import ToolValidator

VALIDATORS: dict[str, type[ModuleValidator]] = {
    "provider": ProviderValidator,
    "tool": ToolValidator,
    "hook": HookValidator,
    "orchestrator": OrchestratorValidator,
    "context": ContextValidator,
}
